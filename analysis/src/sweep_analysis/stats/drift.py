"""Tests whether times drift over a sweep.

Blocks are the replicates: trials of one block ran one after another at about the same time, and so are not
independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from sweep_analysis.read.frames import RESIDUALS, cast_to
from sweep_analysis.read.schema import CELL_SET
from sweep_analysis.stats.units import beside_cell

DRIFT_ALPHA = 0.01
"""P-value below which times, or a ratio (`compare`), have a trend over the sweep."""
FEWEST_BLOCKS = 10
"""With fewer blocks there is no test for a trend."""


@dataclass(frozen=True)
class Drift:
    """Trend of times over a sweep.

    Attributes:
        ratio: time at the end of the sweep over time at its beginning, for equal work.
        p_value: of the test that there is no trend.
    """

    ratio: float
    p_value: float


def residuals(times: pl.LazyFrame) -> pl.DataFrame:
    """Compute the deviation of each block's time from the mean of all blocks of the same configurations.

    In: rows of `frames.TIMES`. Out: rows of `frames.RESIDUALS`. Configurations of only one block are left out.
    """
    # Rounded, because Polars sums in parallel, so that the last digits of a mean vary from run to run.
    beside = (pl.col("residual") - pl.col("residual").mean().over(CELL_SET)).round(9)
    return (
        times.with_columns(beside_cell("ns_per_unit").alias("residual"))
        .group_by([*CELL_SET, "block"])
        .agg(pl.col("residual").median())
        .sort(*CELL_SET, "block")
        .filter(pl.len().over(CELL_SET) > 1)
        .with_columns(beside)
        .select(cast_to(RESIDUALS))
        .collect()
    )


def drift(blocks: pl.DataFrame) -> Drift | None:
    """Compute the trend of the blocks' times; None with too few blocks, or if all times are equal. In: rows of `residuals`."""
    when = blocks.select(pl.col("block") - pl.col("block").mean().over(CELL_SET))[
        "block"
    ].to_numpy()
    residual = blocks["residual"].to_numpy()
    if blocks.height < FEWEST_BLOCKS or np.ptp(when) == 0 or np.ptp(residual) == 0:
        return None
    slope = float(when @ residual / (when @ when))
    whole: int = np.ptp(blocks["block"].to_numpy())
    # Spearman's test of deviations: the mean of each set of configurations takes a degree of freedom.
    free = when.size - blocks.select(CELL_SET).n_unique() - 1
    ranks = [pl.Series(values).rank().to_numpy() for values in (when, residual)]
    rho = float(np.clip(np.corrcoef(ranks)[0, 1], -1 + 1e-12, 1 - 1e-12))
    p_value = 2 * special.stdtr(free, -abs(rho) * np.sqrt(free / (1 - rho**2))) if free > 0 else 1.0
    return Drift(float(np.exp(slope * whole)), float(p_value))
