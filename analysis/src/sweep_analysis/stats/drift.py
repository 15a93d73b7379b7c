"""Effects on times other than the branch.

The moment in the sweep, the place in the block, the clock that was measured.

Blocks are the replicates throughout, because trials of one block share the moment and so are not
independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special, stats

from sweep_analysis.read.frames import PLACES, RESIDUALS
from sweep_analysis.read.schema import CELL, CELL_SET
from sweep_analysis.stats.deviations import beside_cell, deviations
from sweep_analysis.stats.location import CONFIDENCE, Floats

FEWEST_BLOCKS = 10
"""With fewer blocks a trend is not looked for."""


@dataclass(frozen=True)
class Drift:
    """Trend of times over a sweep, or from the first trial of a block to its last.

    Attributes:
        ratio: time at the end over time at the beginning, all else equal.
        p_value: of the test that there is no trend.
    """

    ratio: float
    p_value: float


@dataclass(frozen=True)
class ClockEffect:
    """How far times follow the measured clock.

    Attributes: exponent: time goes with the clock to this power: −1 if work takes the same cycles
        at any clock, 0 if the clock
            does not matter.
        spread: standard deviation of a block's log clock about that of the other blocks of its
        cells. p_value: of Spearman's test that blocks' times do not depend on their clocks.
    """

    exponent: float
    spread: float
    p_value: float


def in_blocks(times: pl.LazyFrame) -> pl.DataFrame:
    """One row per block: `residual`, `clock`, and `when` it ran in blocks before or after the mean of its cell set.

    In: rows of `frames.TIMES`. A cell set that only one block visited says nothing and is left out.
    """
    return (
        times.with_columns(
            beside_cell("ns_per_unit").alias("residual"), pl.col("ghz").log().alias("clock")
        )
        .group_by([*CELL_SET, "block"])
        .agg(pl.col("residual").median(), pl.col("clock").median())
        .sort(*CELL_SET, "block")
        .filter(pl.len().over(CELL_SET) > 1)
        .with_columns(
            (pl.col("block") - pl.col("block").mean().over(CELL_SET)).alias("when"),
            # Polars adds in parallel, so the last digits of a mean differ from run to run.
            *(
                (pl.col(name) - pl.col(name).mean().over(CELL_SET)).round(9)
                for name in ("residual", "clock")
            ),
        )
        .collect()
    )


def residuals(blocks: pl.DataFrame) -> pl.DataFrame:
    """How far time and clock of each block are from those of the other blocks which visited the same cells.

    In:  rows of `in_blocks`.
    Out: rows of `frames.RESIDUALS`, one per block, the pool's program and the sequential one.
    """
    return blocks.select(pl.col(name).cast(kind) for name, kind in RESIDUALS.items())


def drift(blocks: pl.DataFrame) -> Drift | None:
    """Trend of the blocks' times, each relative to the other blocks of its cells.

    None with too few blocks.

    In: rows of `in_blocks`.
    """
    when, residual = blocks["when"].to_numpy(), blocks["residual"].to_numpy()
    if blocks.height < FEWEST_BLOCKS or np.ptp(when) == 0 or np.ptp(residual) == 0:
        return None
    slope = float(when @ residual / (when @ when))
    whole: int = np.ptp(blocks["block"].to_numpy())
    return Drift(
        float(np.exp(slope * whole)),
        _no_dependence(when, residual, blocks.select(CELL_SET).n_unique()),
    )


def clock_effect(blocks: pl.DataFrame) -> ClockEffect | None:
    """How far blocks' times follow their clocks.

    None with too few blocks, or if the clock never moved.

    In: rows of `in_blocks`.
    """
    blocks = blocks.filter(pl.col("clock").is_not_null())
    clock, residual = blocks["clock"].to_numpy(), blocks["residual"].to_numpy()
    if blocks.height < FEWEST_BLOCKS or np.ptp(clock) == 0 or np.ptp(residual) == 0:
        return None
    exponent = float(clock @ residual / (clock @ clock))
    p_value = _no_dependence(clock, residual, blocks.select(CELL_SET).n_unique())
    return ClockEffect(exponent, float(clock.std()), p_value)


def places(times: pl.LazyFrame) -> pl.DataFrame:
    """How long trials take by their place in the block, each beside the others of its cell and of its block.

    In:  rows of `frames.TIMES`. Out: rows of `frames.PLACES`. The interval of the median is the one
    between order statistics, which asks nothing of
         the distribution.
    """
    rows = []
    for (place,), part in (
        _beside_block(times).collect().sort("position").group_by("position", maintain_order=True)
    ):
        ordered = np.sort(part["excess"].to_numpy())
        first, last = stats.binom.interval(CONFIDENCE, ordered.size, 0.5)
        last = min(int(last), ordered.size - 1)
        rows.append(
            (place, ordered.size, float(np.median(ordered)), ordered[int(first)], ordered[last])
        )
    return pl.DataFrame(rows, schema=PLACES, orient="row")


def place_trend(times: pl.LazyFrame) -> Drift | None:
    """Trend from the first trial of a block to its last; None with too few blocks.

    Order in a block is random, so no branch gains by it; but it would add noise to every
    comparison. Each block has a slope of its own, and Wilcoxon's test asks whether slopes lie about
    zero.

    In: rows of `frames.TIMES`.
    """
    excess, place = pl.col("excess"), pl.col("position") - pl.col("position").mean()
    slopes = (
        _beside_block(times)
        .group_by("block")
        .agg(
            ((place * excess).sum() / (place * place).sum()).alias("slope"),
            pl.col("position").max(),
        )
        .collect()
    )
    slope = slopes["slope"].to_numpy()
    if slope.size < FEWEST_BLOCKS or not slope.any():
        return None
    longest = max(slopes["position"])
    return Drift(float(np.exp(np.median(slope) * longest)), float(stats.wilcoxon(slope).pvalue))


def _beside_block(times: pl.LazyFrame) -> pl.LazyFrame:
    """Trials of blocks of several, with `excess`.

    Their log time beside the cell, less that of the block's others.
    """
    beside = times.filter(pl.len().over(CELL) > 1)
    values = beside.select("block", "position", beside_cell("ns_per_unit").alias("value"))
    return deviations(values, ["block"], 2).rename({"deviation": "excess"})


def _no_dependence(one: Floats, other: Floats, groups: int) -> float:
    """P-value of Spearman's test of two variables, both of which are deviations within so many groups.

    Every group has given a degree of freedom away for its mean.
    """
    free = one.size - groups - 1
    if free < 1:
        return 1.0
    rho = float(np.clip(stats.spearmanr(one, other).statistic, -1 + 1e-12, 1 - 1e-12))
    return float(2 * special.stdtr(free, -abs(rho) * np.sqrt(free / (1 - rho**2))))
