"""Recommends the branch to merge, with the evidence, and with the places where it would hurt.

The recommendation follows from the decisions alone.

A branch is worth merging if it is faster somewhere and non-inferior everywhere.

* Faster: significantly, in wall time, CPU time or latency, over all workloads or on one of them.
* Non-inferior: no result is slower, and no trial fails on a workload where the baseline succeeds. For
  every workload, thread count and quantity of the sweep, the interval ends below the margin. The
  margin is `claims.MARGIN` for workloads and thread counts, and `claims.CELL_MARGIN` for one
  workload at one thread count. A row that is not tested rules out no loss.

If a branch gains, but a loss is not ruled out, the answer names the largest possible loss and
recommends no branch. If no branch is faster, the recommendation is to keep the baseline.

All branches of the fork share a scheduler, so a gain of this scheduler over the baseline does not
come from their counters. If the sweep has the fork with the baseline's counters, a branch of the
fork must be faster than both.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, capital, count, percent, with_panel
from sweep_analysis.read.schema import PANEL, PARALLEL, PLACE, WORDS
from sweep_analysis.say.averages import beside_the_mean
from sweep_analysis.say.comparison import in_words
from sweep_analysis.say.headline import SHOWN, claim, headline, why_untested
from sweep_analysis.stats.claims import CELL_MARGIN, MARGIN
from sweep_analysis.stats.compare import FASTER, LEAST_SIMULATED, SLOWER, TESTED, UNTESTED
from sweep_analysis.stats.decisions import Decisions, of_the_fork


@dataclass(frozen=True)
class Recommendation:
    """The recommendation to a maintainer, and its reasons.

    Attributes:
        merge: the branch to merge; None to keep the baseline, or if the sweep cannot decide.
        answer: the recommendation as a sentence or two.
        evidence: the results that support the answer, a sentence each.
        hurts: the places where branches lose or may lose, a sentence each.
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
    over_baseline = rows.filter(
        pl.col("level").is_in(["overall", "workload"]) & (pl.col("verdict") == FASTER)
    )
    gains = _own_gains(decisions, over_baseline)
    clean = gains.filter(~pl.col("branch").is_in(sorted(losers)))
    open_losses = {
        branch: _not_ruled_out(decisions, branch)
        for branch in clean["branch"].unique(maintain_order=True)
    }
    sure = clean.filter(
        pl.col("branch").is_in([name for name, worst in open_losses.items() if worst is None])
    )
    best = (sure if sure.height else clean).sort(pl.col("level") == "workload", "time_ratio")
    if sure.height:
        merge = str(best["branch"][0])
        gain = f"{merge}: takes less {_where(gains, merge, baseline)}"
        answer = (
            f"{gain}. A loss of more than {_loss(MARGIN)} on any workload, or of more than {_loss(CELL_MARGIN)} on "
            f"one at some thread count, is ruled out.{_beside(sure, merge)}"
        )
        recommended: str | None = merge
        if decisions.sweep.machine is not None:
            recommended = None
            answer = f"None on simulation alone. {gain}; measure this branch on a host."
        return Recommendation(
            recommended, answer, _evidence(decisions, merge), _hurts(decisions, [merge], failing)
        )
    if clean.height:
        nearest = str(best["branch"][0])
        worst = open_losses[nearest]
        assert worst is not None  # noqa: S101 - otherwise the branch would be in `sure`
        answer = (
            f"None yet: {nearest} takes less {_where(gains, nearest, baseline)}, but {worst}. "
            f"More {decisions.sweep.replicates.unit}s and trials may rule this out."
        )
        return Recommendation(
            None, answer, _evidence(decisions, nearest), _hurts(decisions, [nearest], failing)
        )
    if gains.height:
        names = gains["branch"].unique(maintain_order=True).to_list()
        verbs = ("gains", "loses") if len(names) == 1 else ("gain", "lose")
        answer = (
            f"None: {_names(names)} {verbs[0]} on some workloads and {verbs[1]} on others, "
            f"so no branch is non-inferior to {baseline}."
        )
        return Recommendation(
            None, answer, _claims(decisions, gains), _hurts(decisions, names, failing)
        )
    if over_baseline.height:
        names = over_baseline["branch"].unique(maintain_order=True).to_list()
        plain = decisions.plain
        others = [name for name in names if name != plain]
        answer = f"None: keep {baseline}'s counters. " + (
            f"{_names(others)} {'is' if len(others) == 1 else 'are'} faster, but not significantly faster "
            f"than {plain}, which has these counters in the fork's scheduler."
            if others
            else f"{plain} is faster, and has the same counters in the fork's scheduler."
        )
        return Recommendation(
            None, answer, _claims(decisions, over_baseline), _hurts(decisions, names, failing)
        )
    answer = f"None: keep {baseline}. " + (
        _losses(decisions, failing) if losers else headline(decisions)
    )
    slower = rows.filter(verdict=SLOWER).sort("time_ratio", descending=True)
    worst_of = (
        _evidence(decisions, str(slower["branch"][0]), with_floor=False) if slower.height else []
    )
    overall = rows.filter((pl.col("level") == "overall") & (pl.col("quantity") == "time"))
    nearest = str((overall if overall.height else rows).sort("time_ratio")["branch"][0])
    return Recommendation(
        None,
        answer,
        [*worst_of, *_evidence(decisions, nearest, "Nearest to a gain is ")],
        _hurts(decisions, None, failing),
    )


def _losses(decisions: Decisions, failing: list[tuple[str, str]]) -> str:
    """The branches that are slower or fail, in a sweep without a faster branch."""
    lost = decisions.rows.filter(verdict=SLOWER)
    slower = sorted(set(lost["branch"]))
    failed = sorted({branch for branch, _ in failing})
    told = [f"{name} takes more {_places(lost.filter(branch=name))}" for name in slower[:SHOWN]]
    told += [f"so do {len(slower) - SHOWN} more branches"] if len(slower) > SHOWN else []
    told += (
        [
            f"{_names(failed)} {'has' if len(failed) == 1 else 'have'} no good trial where {decisions.baseline} has one"
        ]
        if failed
        else []
    )
    return f"No branch is faster over a workload; {'; '.join(told)}."


def _failing(decisions: Decisions) -> list[tuple[str, str]]:
    """Branches that cannot be recommended because trials of theirs failed: each with a sentence."""
    failed = with_panel(decisions.failures.filter("is_beyond_baseline"))
    found = []
    for row in failed.rows(named=True):
        number = f"{row['failed']} of {count(row['trials'], 'trial')} ({row['outcomes']})"
        said = (
            f"{row['branch']} fails on {row['panel']}: {number}, more than of {decisions.baseline}."
        )
        found.append((str(row["branch"]), said))
    cells = decisions.rows.filter((pl.col("level") == "cell") & (pl.col("quantity") == "time"))
    every = cells.select(PLACE).n_unique()
    known = {branch for branch, _ in found}
    missing = {
        branch: every - part.height
        for (branch,), part in cells.group_by("branch", maintain_order=True)
    }
    found += [
        (
            branch,
            f"{branch} has no good trial in {count(number, 'configuration')} of {every} that others have.",
        )
        for branch, number in missing.items()
        if number and branch not in known
    ]
    return found


def _not_ruled_out(decisions: Decisions, branch: str) -> str | None:
    """A clause on the loss that is not ruled out and is furthest beyond its margin.

    None if all losses are ruled out.
    """
    rows = decisions.rows.filter(branch=branch)
    place = PLACE
    # If any branch has a latency on a workload, this branch needs a tested row of that latency, too.
    places = decisions.rows.select("quantity", *place).drop_nulls("threads").drop_nulls("workload")
    ran = decisions.sweep.trials.filter(pl.col("program") == PARALLEL).with_columns(
        pl.col("input").fill_null("")
    )
    timed = (
        ran.select(pl.lit("time").alias("quantity"), *place).unique().with_columns(WORDS).collect()
    )
    planned = pl.concat([timed, places, decisions.zeros]).unique()
    tested = rows.filter(pl.col("ratio_high").is_not_null(), pl.col("band").is_not_null())
    missing = planned.join(tested, on=["quantity", *place], how="anti", nulls_equal=True).sort(
        pl.col("quantity").cast(pl.Enum(TESTED)), *place
    )
    if missing.height:
        row = with_panel(missing).row(0, named=True)
        threads, quantity = count(row["threads"], "thread"), QUANTITY_NAMES[row["quantity"]]
        rest = count(missing.height - 1, "other configuration")
        others = f", and {rest}" if missing.height > 1 else ""
        return f"losses of any size are not ruled out (not tested: {quantity} on {row['panel']}, {threads}{others})"
    margin = pl.when(pl.col("level") == "cell").then(CELL_MARGIN).otherwise(MARGIN)
    beyond = tested.with_columns(beyond=pl.col("ratio_high") / margin).filter(pl.col("beyond") >= 1)
    if beyond.is_empty():
        return None
    worst = beyond.sort("beyond", descending=True).row(0, named=True)
    threads = f", {count(worst['threads'], 'thread')}" if worst["threads"] is not None else ""
    where = f"{worst['panel'] or 'all programs'}{threads}"
    quantity = QUANTITY_NAMES[worst["quantity"]]
    return f"losses up to {_loss(worst['ratio_high'])} of {quantity} are not ruled out (on {where})"


def _own_gains(decisions: Decisions, gains: pl.DataFrame) -> pl.DataFrame:
    """The gains that the fork's scheduler does not explain.

    A branch of the fork must also gain over the plain fork, if the sweep has it.
    """
    if decisions.plain is None or gains.is_empty():
        return gains
    over_plain = decisions.over_plain.filter(verdict=FASTER)
    place = ["branch", "quantity", "level", *PANEL]
    others = gains.filter(~pl.col("branch").is_in(of_the_fork(decisions.sweep)))
    confirmed = gains.join(over_plain, on=place, how="semi", nulls_equal=True)
    return pl.concat([confirmed, others])


def _claims(decisions: Decisions, gains: pl.DataFrame) -> list[str]:
    """The gains as sentences, the most general and the largest first."""
    shown = gains.sort(pl.col("level") == "workload", "time_ratio").head(SHOWN)
    told = [f"{claim(decisions, row)}." for row in shown.rows(named=True)]
    if gains.height > SHOWN:
        told.append(f"The tables of results have {gains.height - SHOWN} more significant gains.")
    return told


def _places(lost: pl.DataFrame) -> str:
    """The quantity and place of a branch's largest loss, and the number of its other losses."""
    worst = lost.sort("time_ratio", descending=True).row(0, named=True)
    threads = f", {count(worst['threads'], 'thread')}" if worst["threads"] is not None else ""
    more = f" (and in {count(lost.height - 1, 'other comparison')})" if lost.height > 1 else ""
    return (
        f"{QUANTITY_NAMES[worst['quantity']]} on {worst['panel'] or 'all workloads'}{threads}{more}"
    )


def _evidence(
    decisions: Decisions, branch: str, words: str = "", *, with_floor: bool = True
) -> list[str]:
    """Sentences on `branch` over all workloads, and on the detectable change.

    Each sentence names its branch, because the next sentence may be about another branch.
    """
    overall = decisions.rows.filter(level="overall")
    own = overall.filter(branch=branch).sort("quantity", descending=True)
    found = []
    if own.height:
        row = own.row(0, named=True)
        changes = " and ".join(in_words(each) for each in own.rows(named=True))
        units = count(row["units"], "seed" if decisions.sweep.machine else "build")
        over = (
            f"over {count(row['cells'], 'configuration')}, {count(row['pairs'], 'pair')} of trials "
            f"in {units}"
        )
        found.append(f"{words}{branch}: {changes} {over}.")
        hidden = beside_the_mean(decisions.comparisons, row)
        about = f"{branch}, {QUANTITY_NAMES[row['quantity']]}"
        found += [f"{about}: {'; '.join(hidden)}."] if hidden else []
        if row["band"] and with_floor:
            equal = decisions.sweep.replicates.equal
            band = f"{(row['band'] - 1) * 100:.1f} % (the noise floor"
            least = (
                f"; on a simulated machine it is never below {LEAST_SIMULATED * 100:.0f} %"
                if decisions.sweep.machine
                else ""
            )
            found.append(f"{capital(equal)} differ there by up to {band}{least}).")
    detectable = overall.filter(quantity="time")["detectable"].median()
    if isinstance(detectable, float) and with_floor:
        found.append(
            f"A sweep like this finds a true change of {(detectable - 1) * 100:.1f} % of time over all programs with "
            "a probability of about 80 %; a smaller change may be missed."
        )
    return found


def _hurts(
    decisions: Decisions, branches: list[str] | None, failing: list[tuple[str, str]]
) -> list[str]:
    """Where `branches` (None: all) fail or lose, and the largest losses that are not ruled out."""
    rows = decisions.rows
    asked = rows if branches is None else rows.filter(pl.col("branch").is_in(branches))
    found = [sentence for branch, sentence in failing if branches is None or branch in branches]
    lost = asked.filter(verdict=SLOWER).sort(pl.col("level") == "cell", -pl.col("time_ratio"))
    found += [f"{claim(decisions, row)}." for row in lost.head(SHOWN).rows(named=True)]
    if lost.height > SHOWN:
        found.append(f"The tables of results have {lost.height - SHOWN} more significant losses.")
    if not found:
        found.append(f"No significant loss against {decisions.baseline}.")
    rest = asked.filter((pl.col("level") == "workload") & (pl.col("verdict") != SLOWER))
    for quantity, name in QUANTITY_NAMES.items():
        widest = (
            rest.filter(quantity=quantity)
            .drop_nulls("ratio_high")
            .sort("ratio_high", descending=True)
        )
        found += [
            f"Not ruled out: {row['branch']} on {row['panel']} with up to {percent(row['ratio_high'])} {name}."
            for row in widest.head(1).rows(named=True)
        ]
    return found


def _where(gains: pl.DataFrame, branch: str, baseline: str | None) -> str:
    """The quantities and workloads in which a branch gains; over all workloads, if it gains there."""
    won = gains.filter(branch=branch)
    overall = won.filter(pl.col("level") == "overall")
    shown = overall if overall.height else won
    quantities = " and ".join(
        QUANTITY_NAMES[name] for name in shown["quantity"].unique(maintain_order=True)
    )
    places = _names(
        shown.sort("time_ratio")["panel"].drop_nulls().unique(maintain_order=True).to_list()
    )
    return f"{quantities} than {baseline} {'over all programs together' if overall.height else 'on ' + places}"


def _beside(sure: pl.DataFrame, merge: str) -> str:
    """A sentence on the other branches that meet the rule."""
    equals = sorted(set(sure.filter(level="overall")["branch"]) - {merge})
    verb = "meets" if len(equals) == 1 else "meet"
    return f" {_names(equals)} also {verb} this rule." if equals else ""


def _loss(ratio: float) -> str:
    return "any size" if ratio == float("inf") else f"{(ratio - 1) * 100:.1f} %"


def _names(names: list[str]) -> str:
    """Names in a sentence; if there are many, the first names and the number of the others."""
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
