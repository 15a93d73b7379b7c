"""Labels trials that lie far from the others of their cell.

A label drops nothing: medians stand what few trials do.

Two rules, side by side, because they err differently: Tukey's fences [1977] and the modified
z-score from the median absolute deviation [Iglewicz and Hoaglin 1993]. Both look at logs, so that
twice as slow is as far as twice as fast.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import special

from sweep_analysis.read.frames import OUTLIER_SHARES, OUTLIERS
from sweep_analysis.read.schema import CELL, PARALLEL, WORDS
from sweep_analysis.stats.deviations import beside_cell
from sweep_analysis.stats.location import CONFIDENCE

FENCE = 1.5
"""Interquartile ranges beyond a quartile at which Tukey's fence stands."""
FAR = 3.5
"""Modified z-score from which on a value is an outlier."""
NORMAL_MAD = 0.6745
"""Median absolute deviation of a standard normal distribution: the scale of the modified z-score."""
FEWEST_TRIALS = 5
"""With fewer trials quartiles say nothing; such cells have no labels."""


def outliers(times: pl.LazyFrame) -> pl.LazyFrame:
    """The trials that one of the rules labels.

    In:  rows of `frames.TIMES`.
    Out: rows of `frames.OUTLIERS`, sorted by cell and block; empty if none is labelled.
    """
    deviation = pl.col("deviation")
    lower, upper = (deviation.quantile(share, "linear").over(CELL) for share in (0.25, 0.75))
    scale = deviation.abs().median().over(CELL) / NORMAL_MAD
    return (
        times.with_columns(
            beside_cell("ns_per_unit").alias("deviation"), pl.len().over(CELL).alias("trials")
        )
        .filter(pl.col("trials") >= FEWEST_TRIALS)
        .with_columns(
            deviation.exp().alias("time_ratio"),
            (
                (deviation < lower - FENCE * (upper - lower))
                | (deviation > upper + FENCE * (upper - lower))
            ).alias("is_beyond_fences"),
            pl.when(scale > 0).then(deviation / scale).alias("modified_z"),
        )
        .with_columns((pl.col("modified_z").abs() > FAR).fill_null(value=False).alias("is_far"))
        .filter(pl.col("is_beyond_fences") | pl.col("is_far"))
        .select(pl.col(name).cast(kind) for name, kind in OUTLIERS.items())
        .sort([*CELL, "block"])
    )


def shares(labelled: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """How many trials of each branch are labelled.

    A branch with far more than the others has a tail of its own.

    In:  rows of `frames.OUTLIERS`, and of `frames.TIMES` that they are from; the pool's program
    alone counts. Out: rows of `frames.OUTLIER_SHARES`, in the order of `times`. Labels of one cell
    depend on each other a little, so
         the interval is about right, not exact.
    """
    pool = pl.col("program") == PARALLEL
    asked = times.filter(pool).filter(pl.len().over(CELL) >= FEWEST_TRIALS)
    found = (
        labelled.filter(pool)
        .group_by("branch")
        .agg(pl.len().alias("labelled"), (pl.col("time_ratio") > 1).sum().alias("slow"))
    )
    counted = (
        asked.group_by("branch", maintain_order=True)
        .agg(pl.len().alias("trials"))
        .with_columns(WORDS)
        .join(found, on="branch", how="left", maintain_order="left")
        .with_columns(pl.col("labelled", "slow").fill_null(0))
    )
    number, of = counted["labelled"].to_numpy(), counted["trials"].to_numpy()
    tail = (1 - CONFIDENCE) / 2
    low = np.where(
        number > 0, special.betaincinv(np.maximum(number, 1), of - number + 1, tail), 0.0
    )
    high = np.where(
        number < of, special.betaincinv(number + 1, np.maximum(of - number, 1), 1 - tail), 1.0
    )
    return counted.with_columns(
        (pl.col("labelled") / pl.col("trials")).alias("share"),
        pl.Series("share_low", low),
        pl.Series("share_high", high),
    ).select(pl.col(name).cast(kind) for name, kind in OUTLIER_SHARES.items())
