"""Runs all tests of a sweep once, for terminal, page, tables, README and findings.

Every branch is compared with the baseline. If the sweep has the fork with upstream's counters (the
plain fork), every other branch of the fork is also compared with the plain fork. This second comparison
separates gains of the fork's scheduler from gains of the counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sweep_analysis.read.frames import COMPARISONS, FAILURES, cast_to
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PANEL, PARALLEL, PLACE, TWIN_SUFFIX, WORDS
from sweep_analysis.stats.compare import QUANTITIES, TESTED, decide
from sweep_analysis.stats.speedup import trial_times, with_time_outs


@dataclass(frozen=True)
class Decisions:
    """The comparisons and failures of one sweep.

    Attributes:
        sweep: the sweep.
        baseline: the branch that other branches are compared with; None if the sweep names no baseline.
        comparisons: rows of `frames.COMPARISONS`, corrected together, including rows of the A/A control.
        failures: rows of `frames.FAILURES`.
        zeros: `quantity` and `schema.PLACE` where a branch has no ratio, because one of its trials has a zero.
    """

    sweep: Sweep
    baseline: str | None
    comparisons: pl.DataFrame
    failures: pl.DataFrame
    zeros: pl.DataFrame

    def of(self, quantity: str) -> pl.DataFrame:
        """The comparisons with the baseline in one of `compare.TESTED`, including those of the A/A control."""
        return self.comparisons.filter(quantity=quantity, baseline=self.baseline)

    @property
    def twin(self) -> str:
        """Name of the A/A control, whether or not the control ran."""
        return f"{self.baseline}{TWIN_SUFFIX}"

    @property
    def has_twin(self) -> bool:
        """Whether some branch ran twice, so that the noise floor is known."""
        return bool(self.comparisons["branch"].str.ends_with(TWIN_SUFFIX).any())

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The comparisons with the baseline without the A/A control, with `panel`, which is null in the level `overall`."""
        # Without a baseline the literal is null, and there are no comparisons.
        rows = self.comparisons.filter(pl.col("baseline") == pl.lit(self.baseline, pl.String))
        return with_panel(rows.filter(pl.col("branch") != self.twin))

    @cached_property
    def plain(self) -> str | None:
        """The branch with the fork's scheduler and upstream's counters, see `plain_fork`."""
        return plain_fork(self.sweep, self.baseline)

    @cached_property
    def over_plain(self) -> pl.DataFrame:
        """The comparisons of branches of the fork with the plain fork, with `panel`."""
        return with_panel(self.comparisons.filter(pl.col("baseline") == (self.plain or "")))


def decisions_of(
    sweep: Sweep, times: pl.DataFrame | None = None, baseline: str | None = None
) -> Decisions:
    """Test all branches of a sweep.

    In: the sweep's rows of `frames.TIMES`, if known already; `baseline` replaces the sweep's own baseline.
    """
    good = trial_times(sweep).collect() if times is None else times
    base = baseline or sweep.baseline
    failures = _failures(sweep, base)
    if base is None:
        return Decisions(sweep, None, pl.DataFrame(schema=COMPARISONS), failures, _zeros(good))
    plain = plain_fork(sweep, base)
    forks = [name for name in of_the_fork(sweep) if name not in (plain, base)]
    also = {plain: forks} if plain is not None and forks else None
    tested = decide(
        with_time_outs(sweep, good).lazy(), base, also=also, simulated=sweep.machine is not None
    )
    return Decisions(sweep, base, tested, failures, _zeros(good))


def _zeros(times: pl.DataFrame) -> pl.DataFrame:
    """The rows of `Decisions.zeros`. In: rows of `frames.TIMES`."""
    columns = [QUANTITIES[quantity] for quantity in TESTED]
    own = times.select("program", *PLACE, *columns).filter(pl.col("program") == PARALLEL)
    found = [
        own.filter(pl.col(QUANTITIES[quantity]) <= 0).select(
            pl.lit(quantity).alias("quantity"), *PLACE
        )
        for quantity in TESTED
    ]
    return pl.concat(found).unique().with_columns(WORDS)


def _failures(sweep: Sweep, baseline: str | None) -> pl.DataFrame:
    """Rows of `frames.FAILURES`, for panels in which trials of the pool's program failed."""
    failed, kinds = pl.col("outcome") != "ok", pl.col("outcome").cast(pl.String)
    counted = (
        sweep.trials.filter(pl.col("program") == PARALLEL)
        .with_columns(pl.col("input").fill_null(""))
        .group_by([*PANEL, "branch"])
        .agg(
            failed.sum().alias("failed"),
            pl.len().alias("trials"),
            kinds.filter(failed).unique().sort(),
        )
        .collect()
    )
    own = pl.col("branch").is_in([baseline or "", f"{baseline}{TWIN_SUFFIX}"])
    base = (
        counted.filter(own)
        .group_by(PANEL)
        .agg((pl.col("failed") / pl.col("trials")).max().alias("baseline_share"))
    )
    beyond = pl.col("failed") / pl.col("trials") > pl.col("baseline_share").fill_null(0.0)
    return (
        counted.filter((pl.col("failed") > 0) & ~own)
        .join(base, on=PANEL, how="left", nulls_equal=True)
        .with_columns(
            pl.col("outcome").list.join(", ").alias("outcomes"), beyond.alias("is_beyond_baseline")
        )
        .sort("branch", *PANEL)
        .select(cast_to(FAILURES))
    )


def plain_fork(sweep: Sweep, baseline: str | None) -> str | None:
    """The plain fork, which has upstream's counters; None if it was not measured or is the baseline."""
    plain = [name for name, features in _forks(sweep) if features <= {"packed"}]
    return plain[0] if plain and plain[0] in sweep.branches and baseline not in plain else None


def of_the_fork(sweep: Sweep) -> list[str]:
    """The branches of the fork, with any counters."""
    return [name for name, _ in _forks(sweep)]


def _forks(sweep: Sweep) -> list[tuple[str, set[str]]]:
    sources = [
        (branch["name"], branch.get("source", {})) for branch in sweep.manifest.get("branches", [])
    ]
    return [
        (name, set(source["features"])) for name, source in sources if source.get("kind") == "fork"
    ]
