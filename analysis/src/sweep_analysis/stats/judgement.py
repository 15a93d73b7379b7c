"""All that is judged of a sweep, once: terminal, page, tables, README and findings are drawn from this one result.

Every branch is compared with the baseline and, where the fork with the baseline's counters was measured too, every
other branch of the fork with that one: what the fork's scheduler gains is no merit of how a branch counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from sweep_analysis.read.frames import COMPARISONS, FAILURES
from sweep_analysis.read.labels import count, percent, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PANEL, PARALLEL, TWIN_SUFFIX
from sweep_analysis.stats.compare import UNCLEAR, UNJUDGED, judge
from sweep_analysis.stats.location import FEWEST_UNITS
from sweep_analysis.stats.speedup import trial_times, with_time_outs

FIGURE_NAMES = {"time": "time", "cpu": "CPU time", "cycles": "cycles"}
"""Keys of `compare.FIGURES` in sentences."""
SHOWN = 4
"""Most claims of a kind that are told in a sentence or a list; the others are counted."""


@dataclass(frozen=True)
class Judgement:
    """What is judged of one sweep.

    Attributes:
        sweep: what was read.
        baseline: what branches are compared with; None if the sweep names nothing.
        comparisons: rows of `frames.COMPARISONS`, corrected together, the A/A twin among them.
        failures: rows of `frames.FAILURES`.
    """

    sweep: Sweep
    baseline: str | None
    comparisons: pl.DataFrame
    failures: pl.DataFrame

    def of(self, figure: str) -> pl.DataFrame:
        """The comparisons with the baseline in one of `compare.JUDGED`, the twin's among them."""
        return self.comparisons.filter(figure=figure, baseline=self.baseline)

    @property
    def twin(self) -> str:
        """Name of the A/A twin, whether or not it was run."""
        return f"{self.baseline}{TWIN_SUFFIX}"

    @property
    def has_twin(self) -> bool:
        """Whether some branch was run twice, so that the noise is known."""
        return bool(self.comparisons["branch"].str.ends_with(TWIN_SUFFIX).any())

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The comparisons with the baseline without the twin's, with `panel`, which is null overall."""
        rows = self.comparisons.filter(baseline=self.baseline)
        return with_panel(rows.filter(pl.col("branch") != self.twin))

    @cached_property
    def plain(self) -> str | None:
        """The branch that is our scheduler with upstream's counters, see `plain_fork`."""
        return plain_fork(self.sweep, self.baseline)

    @cached_property
    def over_plain(self) -> pl.DataFrame:
        """The comparisons of branches of the fork with the plain one, with `panel`."""
        return with_panel(self.comparisons.filter(pl.col("baseline") == (self.plain or "")))


def judged_of(sweep: Sweep, times: pl.DataFrame | None = None, baseline: str | None = None) -> Judgement:
    """Judge a sweep. In: its rows of `frames.TIMES`, if they are there; `baseline` replaces the sweep's own."""
    good = trial_times(sweep).collect() if times is None else times
    base = baseline or sweep.baseline
    failures = _failures(sweep, base)
    if base is None:
        return Judgement(sweep, None, pl.DataFrame(schema=COMPARISONS), failures)
    plain = plain_fork(sweep, base)
    forks = [name for name in of_the_fork(sweep) if name not in (plain, base)]
    also = {plain: forks} if plain is not None and forks else None
    return Judgement(sweep, base, judge(with_time_outs(sweep, good).lazy(), base, also=also), failures)


def _failures(sweep: Sweep, baseline: str | None) -> pl.DataFrame:
    """Rows of `frames.FAILURES`: where trials of the pool's program failed, the baseline's own beside them."""
    failed = pl.col("outcome") != "ok"
    counted = (
        sweep.trials.filter(pl.col("program") == PARALLEL)
        .with_columns(pl.col("input").fill_null(""))
        .group_by([*PANEL, "branch"])
        .agg(failed.sum().alias("failed"), pl.len().alias("trials"), pl.col("outcome").filter(failed).unique().sort())
        .collect()
    )
    own = pl.col("branch").is_in([baseline or "", f"{baseline}{TWIN_SUFFIX}"])
    base = counted.filter(own).group_by(PANEL).agg((pl.col("failed") / pl.col("trials")).max().alias("baseline_share"))
    beyond = pl.col("failed") / pl.col("trials") > pl.col("baseline_share").fill_null(0.0)
    return (
        counted.filter((pl.col("failed") > 0) & ~own)
        .join(base, on=PANEL, how="left", nulls_equal=True)
        .with_columns(pl.col("outcome").list.join(", ").alias("outcomes"), beyond.alias("is_beyond_baseline"))
        .sort("branch", *PANEL)
        .select(pl.col(name).cast(kind) for name, kind in FAILURES.items())
    )


def plain_fork(sweep: Sweep, baseline: str | None) -> str | None:
    """The branch that is our scheduler with upstream's counters; None if it was not measured or is the baseline."""
    plain = [name for name, features in _forks(sweep) if features <= {"packed"}]
    return plain[0] if plain and plain[0] in sweep.branches and baseline not in plain else None


def of_the_fork(sweep: Sweep) -> list[str]:
    """The branches that are the fork, by whatever counters."""
    return [name for name, _ in _forks(sweep)]


def _forks(sweep: Sweep) -> list[tuple[str, set[str]]]:
    """Name and features of every branch that is the fork."""
    sources = [(branch["name"], branch.get("source", {})) for branch in sweep.manifest.get("branches", [])]
    return [(name, set(source["features"])) for name, source in sources if source.get("kind") == "fork"]


def headline(judgement: Judgement) -> str:
    """What is claimed of the branches, all of it: overall, on workloads and in cells, by wall and by CPU time."""
    rows = judgement.rows
    tested = rows.filter(pl.col("verdict") != UNJUDGED)
    if tested.is_empty():
        return f"No branch is judged: {why_unjudged(judgement)}."
    baseline = judgement.baseline
    claims = tested.filter(pl.col("verdict") != UNCLEAR)
    unjudged = rows.height - tested.height
    rest = f" {unjudged} of {rows.height} comparisons are not judged." if unjudged else ""
    asked = f"{count(tested.height, 'comparison')}, corrected together"
    if claims.is_empty():
        return (
            f"No branch can be told from {baseline}: not over all workloads, not on one of them and in no cell, "
            f"neither by wall time nor by CPU time ({asked}).{rest}"
        )
    told = []
    for level, where in (("overall", "Over all workloads together"), ("workload", "On single workloads"),
                         ("cell", "At single thread counts")):  # fmt: skip
        mine = claims.filter(level=level).sort("time_ratio")
        if mine.height:
            shown = "; ".join(change(row, baseline) for row in mine.head(SHOWN).rows(named=True))
            more = f"; and {mine.height - SHOWN} more" if mine.height > SHOWN else ""
            told.append(f"{where}: {shown}{more}.")
    unclear = tested.height - claims.height
    others = f" In the other {unclear} of {asked}, nothing can be told from {baseline}." if unclear else ""
    return f"{' '.join(told)}{others}{rest}"


def change(row: dict[str, Any], baseline: str | None) -> str:
    """A claim in words. In: a row of `judged` that is faster or slower."""
    ratio, low, high = (percent(row[name]) for name in ("time_ratio", "ratio_low", "ratio_high"))
    what = FIGURE_NAMES[row["figure"]]
    threads = f", {count(row['threads'], 'thread')}" if row["threads"] is not None else ""
    where = f" on {row['panel']}{threads}" if row["panel"] else ""
    return f"{row['branch']} takes {ratio} {what} ({low} to {high}) against {baseline}{where}"


def why_unjudged(judgement: Judgement) -> str:
    """Why no branch of this sweep is judged, as the end of a sentence."""
    rows = judgement.rows
    if judgement.baseline is None or rows.is_empty():
        return "no baseline was measured beside another branch"
    if not judgement.has_twin:
        return "the baseline did not run a second time (no A/A twin), so the noise is unknown"
    most = int(rows.select(pl.col("units").max()).item())
    if most < FEWEST_UNITS:
        return (
            f"each branch was measured in {count(most, 'build')}, and what one build owes to where its code lies in "
            f"memory is known from {FEWEST_UNITS} on (`--layouts 7 --trials 7`)"
        )
    return "ratios drifted over the sweep by more than they show"


def changes(rows: pl.DataFrame) -> str:
    """Each branch with its change and the interval, the fastest first."""
    names = ("branch", "figure", "time_ratio", "ratio_low", "ratio_high")
    return ", ".join(
        f"{branch} {percent(ratio)} {FIGURE_NAMES[figure]} ({percent(low)} to {percent(high)})"
        for branch, figure, ratio, low, high in rows.sort("time_ratio").select(names).rows()
    )
