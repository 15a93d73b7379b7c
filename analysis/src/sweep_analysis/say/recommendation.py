"""Recommends the branch to merge, with the evidence, and with the places where it would hurt.

The recommendation follows from the decisions alone. A branch is worth merging if it is faster
somewhere and non-inferior everywhere.

* Faster: significantly, in wall time, CPU time or latency, over all workloads or on one workload.
* Non-inferior: no result is slower. No workload has a larger share of failed trials than with the
  baseline, and the branch has a good trial of each configuration that others have. For every workload, thread count and quantity of the sweep, the interval ends below the margin. The
  margin is `claims.MARGIN` for workloads and thread counts, and `claims.CELL_MARGIN` for a
  workload at a single thread count. A row that is not tested rules out no loss.

All branches of the fork share a scheduler, so a gain of this scheduler over the baseline does not
come from a branch's counters. If the sweep has the fork with upstream's counters, a branch of the
fork must be faster than the baseline and than that fork.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, count, percent, with_panel
from sweep_analysis.read.schema import PANEL, PARALLEL, PLACE, WORDS
from sweep_analysis.say.averages import beside_the_mean
from sweep_analysis.say.comparison import in_words
from sweep_analysis.say.headline import SHOWN, claim, headline, why_untested
from sweep_analysis.stats.claims import CELL_MARGIN, MARGIN
from sweep_analysis.stats.compare import FASTER, SLOWER, TESTED, UNTESTED
from sweep_analysis.stats.decisions import Decisions, of_the_fork


@dataclass(frozen=True)
class Recommendation:
    """The recommendation to a maintainer, and its reasons.

    Attributes:
        merge: the branch to merge; None to keep the baseline, or if the sweep cannot decide.
        answer: the recommendation as a sentence or two.
        evidence: sentences with the results of the branch that the answer is about.
        hurts: sentences on the places where branches fail, lose or may lose.
    """

    merge: str | None
    answer: str
    evidence: list[str]
    hurts: list[str]


def recommendation(decisions: Decisions) -> Recommendation:
    """The recommendation that a sweep supports."""
    rows, baseline = decisions.rows, decisions.baseline
    failing = _failing(decisions)
    if rows.is_empty() or (rows["verdict"] == UNTESTED).all():
        answer = f"This sweep cannot decide: {why_untested(decisions)}."
        return Recommendation(None, answer, [], [sentence for _, sentence in failing])
    losers = {*rows.filter(verdict=SLOWER)["branch"], *(branch for branch, _ in failing)}
    over_baseline = rows.filter(pl.col("level").is_in(["overall", "workload"]), verdict=FASTER)
    gains = _own_gains(decisions, over_baseline)
    clean = gains.filter(~pl.col("branch").is_in(sorted(losers)))
    open_losses = {branch: _not_ruled_out(decisions, branch) for branch in _branches(clean)}
    sure = [branch for branch, loss in open_losses.items() if not loss]
    candidates = clean.filter(pl.col("branch").is_in(sure)) if sure else clean
    best = candidates.sort(pl.col("level") == "workload", "time_ratio")["branch"].head(1).to_list()
    merge, about = None, best
    if sure:
        gain = f"{best[0]}: takes less {_where(gains, best[0], baseline)}"
        merge = best[0] if decisions.sweep.machine is None else None
        answer = (
            f"{gain}. Losses above {_loss(MARGIN)} on any workload are ruled out, and above {_loss(CELL_MARGIN)} on "
            "any workload at one thread count."
            if merge
            else f"None on simulation alone. {gain}; measure this branch on a host."
        )
    elif best:
        answer = (
            f"None yet: {best[0]} takes less {_where(gains, best[0], baseline)}, but {open_losses[best[0]]}. "
            f"More {decisions.sweep.replicates.unit}s and trials may rule this out."
        )
    elif gains.height:
        about = _branches(gains)
        answer = (
            f"None: each branch that gains also loses somewhere ({_names(about)}), so none is "
            f"non-inferior to {baseline}."
        )
    elif over_baseline.height:
        about = _branches(over_baseline)
        answer = (
            f"None: keep {baseline}'s counters. The fork's scheduler explains the gains: no branch is significantly "
            f"faster than {decisions.plain}, which has these counters in the same scheduler."
        )
    else:
        about = []
        answer = f"None: keep {baseline}. {headline(decisions)}"
    slower = rows.filter(verdict=SLOWER).sort("time_ratio", descending=True)
    overall = rows.filter(level="overall", quantity="time").sort("time_ratio")
    shown = about or [*slower["branch"], *overall["branch"], *rows["branch"]]
    return Recommendation(
        merge, answer, _evidence(decisions, shown[0]), _hurts(decisions, about, failing)
    )


def _branches(rows: pl.DataFrame) -> list[str]:
    names: list[str] = rows["branch"].unique(maintain_order=True).to_list()
    return names


def _failing(decisions: Decisions) -> list[tuple[str, str]]:
    """List the branches that cannot be recommended because some of their trials failed, each with a sentence."""
    failed = with_panel(decisions.failures.filter("is_beyond_baseline"))
    found = []
    for row in failed.rows(named=True):
        trials = f"{row['failed']} of {count(row['trials'], 'trial')} ({row['outcomes']})"
        where = f"{row['branch']} fails on {row['panel']}"
        found.append((str(row["branch"]), f"{where}: {trials}, more than of {decisions.baseline}."))
    cells = decisions.rows.filter(level="cell", quantity="time")
    every = cells.select(PLACE).n_unique()
    for (branch,), part in cells.group_by("branch", maintain_order=True):
        missing = every - part.height
        if missing and branch not in {name for name, _ in found}:
            places = f"{count(missing, 'configuration')} of {every}"
            found.append((str(branch), f"{branch} has no good trial in {places} that others have."))
    return found


def _not_ruled_out(decisions: Decisions, branch: str) -> str:
    """A clause on the loss that is furthest beyond its margin; empty if all losses are ruled out."""
    rows = decisions.rows.filter(branch=branch)
    # If any branch reports a latency on a workload, `branch` also needs a tested row of that
    # latency.
    places = decisions.rows.select("quantity", *PLACE).drop_nulls("threads").drop_nulls("workload")
    ran = decisions.sweep.trials.filter(pl.col("program") == PARALLEL).with_columns(
        pl.col("input").fill_null("")
    )
    timed = (
        ran.select(pl.lit("time").alias("quantity"), *PLACE).unique().with_columns(WORDS).collect()
    )
    planned = pl.concat([timed, places, decisions.zeros]).unique()
    tested = rows.filter(pl.col("ratio_high").is_not_null(), pl.col("band").is_not_null())
    missing = planned.join(tested, on=["quantity", *PLACE], how="anti", nulls_equal=True).sort(
        pl.col("quantity").cast(pl.Enum(TESTED)), *PLACE
    )
    if missing.height:
        row = with_panel(missing).row(0, named=True)
        where = f"{row['panel']}, {count(row['threads'], 'thread')}"
        others = f", and {missing.height - 1} more" if missing.height > 1 else ""
        return f"losses of any size are not ruled out (not tested: {QUANTITY_NAMES[row['quantity']]} on {where}{others})"
    margin = pl.when(pl.col("level") == "cell").then(CELL_MARGIN).otherwise(MARGIN)
    beyond = tested.with_columns(beyond=pl.col("ratio_high") / margin).filter(pl.col("beyond") >= 1)
    for worst in beyond.sort("beyond", descending=True).head(1).rows(named=True):
        threads = f", {count(worst['threads'], 'thread')}" if worst["threads"] is not None else ""
        loss = f"{_loss(worst['ratio_high'])} of {QUANTITY_NAMES[worst['quantity']]}"
        return f"losses up to {loss} are not ruled out (on {worst['panel'] or 'all programs'}{threads})"
    return ""


def _own_gains(decisions: Decisions, gains: pl.DataFrame) -> pl.DataFrame:
    """The gains that the fork's scheduler does not explain."""
    if decisions.plain is None or gains.is_empty():
        return gains
    over_plain = decisions.over_plain.filter(verdict=FASTER)
    place = ["branch", "quantity", "level", *PANEL]
    others = gains.filter(~pl.col("branch").is_in(of_the_fork(decisions.sweep)))
    confirmed = gains.join(over_plain, on=place, how="semi", nulls_equal=True)
    return pl.concat([confirmed, others])


def _evidence(decisions: Decisions, branch: str) -> list[str]:
    overall = decisions.rows.filter(level="overall")
    found = []
    own = overall.filter(pl.col("quantity").is_in(["time", "cpu"]), branch=branch)
    for row in own.sort("quantity", descending=True).rows(named=True):
        hidden = "; ".join(beside_the_mean(decisions.comparisons, row))
        found.append(f"{branch}: {in_words(row)}{f'; {hidden}' if hidden else ''}.")
    detectable = overall.filter(quantity="time")["detectable"].median()
    if isinstance(detectable, float):
        found.append(
            f"A sweep like this finds a true change of {(detectable - 1) * 100:.1f} % of time over all programs with "
            "a probability of about 80 %."
        )
    return found


def _hurts(decisions: Decisions, branches: list[str], failing: list[tuple[str, str]]) -> list[str]:
    """The places where `branches` (empty: all) fail or lose, and the largest loss in each quantity that is not ruled out."""
    rows = decisions.rows
    asked = rows.filter(pl.col("branch").is_in(branches)) if branches else rows
    found = [sentence for branch, sentence in failing if not branches or branch in branches]
    lost = asked.filter(verdict=SLOWER).sort(pl.col("level") == "cell", -pl.col("time_ratio"))
    found += [f"{claim(decisions, row)}." for row in lost.head(SHOWN).rows(named=True)]
    if lost.height > SHOWN:
        found.append(f"The tables of results have {lost.height - SHOWN} more significant losses.")
    if not found:
        found.append(f"No significant loss against {decisions.baseline}.")
    rest = asked.filter(pl.col("level") == "workload", pl.col("verdict") != SLOWER)
    for quantity, name in QUANTITY_NAMES.items():
        widest = rest.filter(quantity=quantity).drop_nulls("ratio_high")
        found += [
            f"Not ruled out: {row['branch']} on {row['panel']} with up to {percent(row['ratio_high'])} {name}."
            for row in widest.sort("ratio_high", descending=True).head(1).rows(named=True)
        ]
    return found


def _where(gains: pl.DataFrame, branch: str, baseline: str | None) -> str:
    """The quantities and workloads in which a branch gains; only `all programs` if the branch gains over all workloads."""
    won = gains.filter(branch=branch)
    overall = won.filter(level="overall")
    shown = overall if overall.height else won.sort("time_ratio")
    quantities = " and ".join(
        QUANTITY_NAMES[name] for name in shown["quantity"].unique(maintain_order=True)
    )
    places = _names(shown["panel"].drop_nulls().unique(maintain_order=True).to_list())
    return f"{quantities} than {baseline} {'over all programs together' if overall.height else 'on ' + places}"


def _loss(ratio: float) -> str:
    return "any size" if ratio == float("inf") else f"{(ratio - 1) * 100:.1f} %"


def _names(names: list[str]) -> str:
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
