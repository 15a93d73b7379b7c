"""Did the host get slower or faster while the sweep ran? Blocks are the replicates: their trials share the moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from sweep_analysis.frames import RESIDUALS
from sweep_analysis.schema import CELL, CELL_SET

FEWEST_BLOCKS = 10
"""With fewer blocks a trend is not looked for."""


@dataclass(frozen=True)
class Drift:
    """Trend of times over a sweep.

    Attributes:
        ratio: time at the last block over time at the first, all else equal.
        p_value: Spearman's test that blocks' times do not depend on their order.
    """

    ratio: float
    p_value: float


def residuals(times: pl.LazyFrame) -> pl.LazyFrame:
    """How far the time of each block is from that of the other blocks which visited the same cells.

    In:  rows of `frames.TIMES`.
    Out: rows of `frames.RESIDUALS`, one per block, the pool's program and the sequential one. A cell set that only one
         block visited says nothing and is left out.
    """
    return _blocks(times).select(pl.col(name).cast(kind) for name, kind in RESIDUALS.items())


def drift(times: pl.LazyFrame) -> Drift | None:
    """Trend of the blocks' times, each relative to the other blocks of its cells; None with too few blocks.

    In: rows of `frames.TIMES`. A cell set that only one block visited says nothing and is left out.
    """
    blocks = _blocks(times).collect()
    when, residual = blocks["when"].to_numpy(), blocks["residual"].to_numpy()
    if blocks.height < FEWEST_BLOCKS or np.ptp(when) == 0 or np.ptp(residual) == 0:
        return None
    slope = float(when @ residual / (when @ when))
    whole: int = np.ptp(blocks["block"].to_numpy())
    return Drift(float(np.exp(slope * whole)), float(stats.spearmanr(when, residual).pvalue))


def _blocks(times: pl.LazyFrame) -> pl.LazyFrame:
    """One row per block: `residual`, and `when` it ran in blocks before or after the mean of its cell set."""
    log_time = pl.col("ns_per_unit").log()
    return (
        times.with_columns((log_time - log_time.median().over(CELL)).alias("residual"))
        .group_by([*CELL_SET, "block"])
        .agg(pl.col("residual").median())
        .filter(pl.len().over(CELL_SET) > 1)
        .with_columns(
            (pl.col("block") - pl.col("block").mean().over(CELL_SET)).alias("when"),
            (pl.col("residual") - pl.col("residual").mean().over(CELL_SET)).alias("residual"),
        )
        .sort(CELL_SET, "block")
    )
