"""Which branch should one merge, on what evidence, and where would it hurt: answers made from verdicts alone.

A branch is worth merging if something is claimed to be faster, in wall time or in CPU time, and nothing slower. All
workloads together weigh more than one of them. Where nothing is claimed, the answer is to keep what there is.

All branches of the fork share a scheduler, and what that gains over the baseline is no merit of how they count. So
where the fork with the baseline's counters was measured too, a branch of the fork must be faster than both.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from sweep_analysis.compare import FASTER, SLOWER, UNJUDGED, compare
from sweep_analysis.findings import Analysis, of_the_fork, plain_fork
from sweep_analysis.labels import count, percent, with_panel
from sweep_analysis.schema import PANEL

WALL, CPU = "time", "CPU time"
SHOWN = 4
"""Most losses, gains or names that are told; the others are counted."""


@dataclass(frozen=True)
class Advice:
    """What a maintainer wants to know first.

    Attributes:
        merge: the branch to merge; None to keep the baseline, or if nothing can be said.
        answer: the same as a sentence.
        evidence: what the answer rests on, a sentence each.
        hurts: where branches lose or might, a sentence each.
    """

    merge: str | None
    answer: str
    evidence: list[str]
    hurts: list[str]


def advice(analysis: Analysis) -> Advice:
    """The advice that a sweep supports."""
    rows = judged(analysis)
    baseline = analysis.sweep.baseline
    if rows.is_empty() or (rows["verdict"] == UNJUDGED).all():
        reason = "no baseline was measured" if rows.is_empty() else "the baseline did not run a second time"
        if rows.height and not rows["band"].is_null().all():
            reason = "there are too few pairs of trials"
        return Advice(None, f"This sweep cannot say: {reason}, so no branch is judged.", [], [])
    pooled = rows.filter(pl.col("level") != "cell")
    losers = set(pooled.filter(pl.col("verdict") == SLOWER)["branch"])
    over_baseline = pooled.filter(pl.col("verdict") == FASTER)
    gains = _own_gains(analysis, over_baseline)
    clean = gains.filter(~pl.col("branch").is_in(list(losers)))
    overall = clean.filter(pl.col("level") == "overall")
    best = (overall if overall.height else clean).sort("time_ratio")
    if best.height:
        merge = str(best["branch"][0])
        won = gains.filter(pl.col("branch") == merge)
        equals = sorted(set(overall["branch"]) - {merge})
        beside = f" {_names(equals)} would do, too." if equals else ""
        answer = f"{merge}: takes less {_where(won, baseline)}, and nothing that could be told is lost.{beside}"
        return Advice(merge, answer, _evidence(pooled, merge), _hurts(rows, [merge], baseline))
    if gains.height:
        names = gains["branch"].unique(maintain_order=True).to_list()
        verbs = "gains here and loses" if len(names) == 1 else "gain here and lose"
        answer = f"None without a price: {_names(names)} {verbs} there."
        return Advice(None, answer, _claims(gains), _hurts(rows, names, baseline))
    if over_baseline.height:
        names = over_baseline["branch"].unique(maintain_order=True).to_list()
        plain = plain_fork(analysis.sweep)
        others = [name for name in names if name != plain]
        answer = f"None: keep {baseline}'s counters. " + (
            f"{_names(others)} {'is' if len(others) == 1 else 'are'} faster, but as far as can be told not faster "
            f"than {plain}, which has these counters in the fork's scheduler."
            if others
            else f"{plain} is faster, which has these counters, too, in the fork's scheduler."
        )
        return Advice(None, answer, _claims(over_baseline), _hurts(rows, names, baseline))
    answer = f"None: keep {baseline}. " + (
        "No branch can be told from it."
        if not losers
        else f"Nothing is faster; {_names(sorted(losers))} {'is' if len(losers) == 1 else 'are'} slower."
    )
    nearest = pooled.filter(pl.col("figure") == WALL).sort(pl.col("level") == "workload", "time_ratio")
    evidence = _evidence(pooled, str(nearest["branch"][0]), "Nearest to a gain is ")
    return Advice(None, answer, evidence, _hurts(rows, None, baseline))


def judged(analysis: Analysis) -> pl.DataFrame:
    """All comparisons but the twin's by wall and by CPU time, with `figure` and `panel`; `panel` is null overall."""
    both = _of_both(analysis.comparisons, analysis.cpu_comparisons)
    return with_panel(both.filter(pl.col("branch") != (analysis.sweep.twin or "")))


def _of_both(by_wall: pl.DataFrame, by_cpu: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([by_wall.with_columns(figure=pl.lit(WALL)), by_cpu.with_columns(figure=pl.lit(CPU))])


def _own_gains(analysis: Analysis, gains: pl.DataFrame) -> pl.DataFrame:
    """The gains that the fork's scheduler does not explain: over the plain fork, too, if that was measured."""
    plain = plain_fork(analysis.sweep)
    if plain is None or gains.is_empty():
        return gains
    times = analysis.times.lazy()
    by_cpu = compare(times, plain, "cpu") if CPU in gains["figure"] else analysis.comparisons.clear()
    over_plain = _of_both(compare(times, plain), by_cpu).filter(pl.col("verdict") == FASTER)
    place = ["branch", "figure", "level", *PANEL]
    others = gains.filter(~pl.col("branch").is_in(of_the_fork(analysis.sweep)))
    confirmed = gains.join(over_plain, on=place, how="semi", nulls_equal=True)
    return pl.concat([confirmed, others])


def _claims(gains: pl.DataFrame) -> list[str]:
    """The gains in words, the most general and the largest first."""
    shown = gains.sort(pl.col("level") == "workload", "time_ratio").head(SHOWN)
    told = [f"{row['branch']}: {_claim(row)}." for row in shown.rows(named=True)]
    if gains.height > SHOWN:
        told.append(f"And {gains.height - SHOWN} more such claims, in the table of verdicts.")
    return told


def _evidence(pooled: pl.DataFrame, branch: str, words: str = "") -> list[str]:
    """What is known of `branch` over everything, and what could have been found."""
    own = pooled.filter((pl.col("branch") == branch) & (pl.col("level") == "overall"))
    found = []
    if own.height:
        row = own.row(0, named=True)
        changes = " and ".join(_change(figure) for figure in own.rows(named=True))
        over = f"over all {count(row['cells'], 'cell')}, {count(row['pairs'], 'pair')} of trials"
        found.append(f"{words}{branch}: {changes} {over}.")
        if row["band"]:
            found.append(f"Equal builds differ there by up to {(row['band'] - 1) * 100:.1f} % (the A/A band).")
    detectable = pooled.filter((pl.col("level") == "overall") & (pl.col("figure") == WALL))["detectable"].median()
    if isinstance(detectable, float):
        found.append(
            f"A true change of {(detectable - 1) * 100:.1f} % of time over all of them would have been found four "
            "times in five; a smaller one may be there."
        )
    return found


def _hurts(rows: pl.DataFrame, branches: list[str] | None, baseline: str | None) -> list[str]:
    """Where `branches` (None: any) lose, or could lose most without it being seen."""
    asked = rows if branches is None else rows.filter(pl.col("branch").is_in(branches))
    lost = asked.filter(pl.col("verdict") == SLOWER).sort(pl.col("level") == "cell", -pl.col("time_ratio"))
    found = [f"{row['branch']}: {_claim(row)}." for row in lost.head(SHOWN).rows(named=True)]
    if lost.height > SHOWN:
        found.append(f"And {lost.height - SHOWN} more such claims, in the table of verdicts.")
    if not found:
        found.append(f"Nowhere that could be told from {baseline}.")
    rest = asked.filter((pl.col("level") == "workload") & (pl.col("verdict") != SLOWER))
    for figure in (WALL, CPU):
        widest = rest.filter(pl.col("figure") == figure).drop_nulls("ratio_high").sort("ratio_high", descending=True)
        found += [
            f"Not excluded: {row['branch']} on {row['panel']} with up to {percent(row['ratio_high'])} {figure}."
            for row in widest.head(1).rows(named=True)
        ]
    return found


def _claim(row: dict[str, object]) -> str:
    """A verdict in words: what changes by how much, and where."""
    return f"{_change(row)} {'on ' if row['panel'] else 'over '}{_place(row)}"


def _change(row: dict[str, object]) -> str:
    ratio, low, high = (percent(float(str(row[name]))) for name in ("time_ratio", "ratio_low", "ratio_high"))
    return f"{ratio} {row['figure']} ({low} to {high})"


def _place(row: dict[str, object]) -> str:
    threads = f", {count(int(str(row['threads'])), 'thread')}" if row["threads"] is not None else ""
    return f"{row['panel'] or 'all workloads together'}{threads}"


def _where(won: pl.DataFrame, baseline: str | None) -> str:
    """What takes less and where, by all workloads together if they are among the gains."""
    overall = won.filter(pl.col("level") == "overall")
    gains = overall if overall.height else won
    figures = " and ".join(gains["figure"].unique(maintain_order=True))
    places = _names(gains.sort("time_ratio")["panel"].drop_nulls().unique(maintain_order=True).to_list())
    return f"{figures} than {baseline} {'over all workloads together' if overall.height else 'on ' + places}"


def _names(names: list[str]) -> str:
    """Names in a sentence; of many the first, and how many more."""
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
