"""Labels trials that lie far from the others of their cell.

A label drops nothing: medians stand what few trials do.

The rule is the modified z-score from the median absolute deviation [Iglewicz and Hoaglin 1993], of
logs, so that twice as slow is as far as twice as fast.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import OUTLIERS
from sweep_analysis.read.schema import CELL
from sweep_analysis.stats.deviations import beside_cell

FAR = 3.5
"""Modified z-score from which on a value is an outlier."""
NORMAL_MAD = 0.6745
"""Median absolute deviation of a standard normal distribution: the scale of the modified z-score."""
FEWEST_TRIALS = 5
"""Cells of fewer trials have no labels."""


def outliers(times: pl.LazyFrame) -> pl.LazyFrame:
    """The trials that the rule labels.

    In:  rows of `frames.TIMES`.
    Out: rows of `frames.OUTLIERS`, sorted by cell and block; empty if none is labelled.
    """
    deviation = beside_cell("ns_per_unit")
    scale = pl.col("deviation").abs().median().over(CELL) / NORMAL_MAD
    return (
        times.with_columns(deviation=deviation, trials=pl.len().over(CELL))
        .filter(pl.col("trials") >= FEWEST_TRIALS)
        .with_columns(
            time_ratio=pl.col("deviation").exp(),
            modified_z=pl.when(scale > 0).then(pl.col("deviation") / scale),
        )
        .filter(pl.col("modified_z").abs() > FAR)
        .select(pl.col(name).cast(kind) for name, kind in OUTLIERS.items())
        .sort([*CELL, "block"])
    )
