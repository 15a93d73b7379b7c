"""Compares what the scheduler did on a simulated machine with what it did on the host.

Counts of instrumented trials.

Jobs, steals, sleeps and wake-ups of all threads, beside the times that `validation` compares.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import VALIDATED_COUNTS
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import POOL_CELL

COUNTED = {
    "jobs_executed": "jobs",
    "steals_won": "steals",
    "sleeps": "sleeps",
    "wakes_sent": "wake-ups",
}
"""The events that are compared, and how they are called."""

FACTOR = 1.5
"""A count is near if predicted over measured is at most this factor from 1, either way."""

FEW = 10
"""An event that happens less often than this in a trial of both sweeps is not judged there. A guess: chance alone moves
so small a count by a third."""


def validated_counts(simulated: Sweep, measured: Sweep) -> pl.DataFrame:
    """Counts of both sweeps, cell by cell.

    Out: rows of `frames.VALIDATED_COUNTS`, one per event of `COUNTED` and cell that both sweeps
         counted; none if one of them was not instrumented.
    """
    predicted, seen = _counts(simulated), _counts(measured)
    shared = predicted.join(seen, on=[*POOL_CELL, "event"], suffix="_measured", nulls_equal=True)
    # A simulated trial may do more work than a measured one: its counts are told for as much work.
    less = pl.col("work_units_measured") / pl.col("work_units")
    both = shared.with_columns(predicted=pl.col("count") * less, measured=pl.col("count_measured"))
    most, least = (
        pl.max_horizontal("predicted", "measured"),
        pl.min_horizontal("predicted", "measured"),
    )
    is_few = most < FEW
    compared = both.with_columns(
        ratio=pl.when(least > 0).then(pl.col("predicted") / pl.col("measured")),
        is_near=pl.when(~is_few).then(most <= FACTOR * least),
    )
    return compared.select(pl.col(name).cast(kind) for name, kind in VALIDATED_COUNTS.items()).sort(
        [*POOL_CELL, "event"]
    )


def by_event(counts: pl.DataFrame) -> pl.DataFrame:
    """How near counts are, over all cells with that number of threads.

    In:  rows of `frames.VALIDATED_COUNTS`. Out: one row per (event, threads): `judged` cells, those
    `near`, cells with too `few` events, and the geometric mean
         `ratio` of predicted over measured among the judged ones that count something in both
         sweeps; null without one.
    """
    ratio = pl.col("ratio").filter(pl.col("is_near").is_not_null())
    return (
        counts.group_by("event", "threads")
        .agg(
            pl.col("is_near").sum().alias("near"),
            pl.col("is_near").count().alias("judged"),
            pl.col("is_near").null_count().alias("few"),
            ratio.log().mean().exp().alias("ratio"),
        )
        .sort(
            pl.col("event").replace_strict({name: place for place, name in enumerate(COUNTED)}),
            "threads",
        )
    )


def _counts(sweep: Sweep) -> pl.DataFrame:
    """Event counts of all threads in a trial of each cell: medians over its trials."""
    totals = sweep.events.group_by("trial", "event", "work_units").agg(pl.col("count").sum())
    counted = sweep.counted.select(*POOL_CELL, "trial").join(totals, on="trial")
    kept = counted.filter(pl.col("event").is_in(list(COUNTED)))
    return (
        kept.group_by([*POOL_CELL, "event"]).agg(pl.col("count", "work_units").median()).collect()
    )
