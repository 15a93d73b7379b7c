"""Attributes the time of a simulated machine to activities of its cores, and to source lines that waited.

Shares are ratios of sums over the trials of a configuration, not averages of trials, so that shares add up to 1.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import LINE_WAIT_RATES, SPENT_SHARES, cast_to
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PANEL, PARALLEL, POOL_CELL

SPENT_ON = {
    "work": "work",
    "jobs": "push and pop",
    "search": "search",
    "lines": "waiting for lines",
    "system": "system",
    "waking": "waking up, and waiting for a core",
    "asleep": "asleep",
}
"""Names of a core's activities, in the order of the chart."""


def spent_shares(sweep: Sweep) -> pl.DataFrame:
    """Compute shares of the cores' time by activity. Out: rows of `frames.SPENT_SHARES`; none if the sweep was measured."""
    if sweep.machine is None:  # Returning here saves a join of all trials with an empty frame.
        return pl.DataFrame(schema=SPENT_SHARES)
    found = (
        _spent(sweep)
        .join(_cells(sweep), on=POOL_CELL, nulls_equal=True)
        .with_columns(
            ns_per_unit=pl.col("spent_ns") / pl.col("units"),
            share=pl.col("spent_ns") / pl.col("spent_ns").sum().over(POOL_CELL),
        )
    )
    order = pl.col("spent_on").cast(pl.Enum(list(SPENT_ON)))
    return found.sort([*POOL_CELL, order]).select(cast_to(SPENT_SHARES)).collect()


def line_wait_rates(sweep: Sweep) -> pl.DataFrame:
    """Find source lines that waited for cache lines, and the source lines that wrote them; the longest waits first.

    Out: rows of `frames.LINE_WAIT_RATES`; none if the sweep was measured. Pairs without a wait are left out.
    """
    if sweep.machine is None:
        return pl.DataFrame(schema=LINE_WAIT_RATES)
    pair = [*POOL_CELL, "at", "written_at"]
    waits = (
        sweep.line_waits.join(_trials(sweep), on="trial")
        .group_by(pair)
        .agg(pl.col("waited_ns", "transfers").sum())
    )
    spent = _spent(sweep).group_by(POOL_CELL).agg(all_ns=pl.col("spent_ns").sum())
    waited, units = pl.col("waited_ns"), pl.col("units")
    found = (
        waits.filter(waited > 0)
        .join(_cells(sweep), on=POOL_CELL, nulls_equal=True)
        .join(spent, on=POOL_CELL, nulls_equal=True)
        .with_columns(
            share=waited / waited.sum().over(POOL_CELL),
            core_share=waited / pl.col("all_ns"),
            ns_per_unit=waited / units,
            transfers_per_unit=pl.col("transfers") / units,
            transfers_per_iteration=pl.col("transfers") / pl.col("iterations"),
        )
    )
    order = [*POOL_CELL, waited.neg(), "at", "written_at"]
    return found.sort(order).select(cast_to(LINE_WAIT_RATES)).collect()


def largest_threads(rates: pl.DataFrame) -> pl.DataFrame:
    """Select the rows with the most threads of their panel. In: rows with `schema.PANEL` and `threads`."""
    return rates.filter(pl.col("threads") == pl.col("threads").max().over(PANEL))


def _spent(sweep: Sweep) -> pl.LazyFrame:
    of_trials = sweep.spent.join(_trials(sweep), on="trial")
    return of_trials.group_by([*POOL_CELL, "spent_on"]).agg(pl.col("spent_ns").sum())


def _trials(sweep: Sweep) -> pl.LazyFrame:
    good = sweep.trials.filter(pl.col("program") == PARALLEL, pl.col("outcome") == "ok")
    return good.with_columns(pl.col("input").fill_null("")).select("trial", "work_unit", *POOL_CELL)


def _cells(sweep: Sweep) -> pl.LazyFrame:
    return (
        sweep.iterations.join(_trials(sweep), on="trial")
        .group_by(POOL_CELL)
        .agg(
            pl.col("work_unit").first(),
            pl.col("trial").n_unique().alias("trials"),
            pl.len().alias("iterations"),
            pl.col("work_units").sum().alias("units"),
        )
    )
