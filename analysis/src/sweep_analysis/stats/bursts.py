"""Finds blocks during a burst of other work, which slows down all trials of one moment, whatever their branch.

A slow mode of a branch or a build is about equally frequent in all blocks. So Fisher's exact test compares
a block's share of far trials with the share in other blocks of the same configurations. Comparisons exclude
a block with a burst for all branches, so equal branches stay equal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.read.schema import CELL_SET, PARALLEL
from sweep_analysis.stats.location import FEWEST_UNITS, Floats
from sweep_analysis.stats.units import beside_cell

Counts = npt.NDArray[np.int64]

FAR = 3.5
"""Minimum modified z-score of a far value [Iglewicz and Hoaglin 1993]."""
NORMAL_MAD = 0.6745
"""Median absolute deviation of a standard normal distribution: the scale of the modified z-score."""
BURST_ALPHA = 0.02
"""P-value below which a block is a burst: for example 2 far trials of 11, and no far trial in 6 other blocks."""
MOST_FAR = 0.2
"""With a larger share of far trials, a configuration has modes and no bursts. Without this limit, builds with two
modes had 1.5 times as many false results (`cargo xtask truth`)."""
FEWEST_FAR, FEWEST_TRIALS = 2, 3
"""Fewest far trials of a burst, and fewest trials of its block: of only two trials, either may be the far trial."""


def bursts(times: pl.LazyFrame, column: str) -> pl.DataFrame:
    """Find the blocks during a burst, by the values of `column`.

    Configurations that would keep too few builds for a test have no bursts. In: rows of `frames.TIMES`.
    """
    off, far = pl.col("off"), pl.col("far")
    scale = (
        off.filter(off > 0).median().over(CELL_SET) / NORMAL_MAD
    )  # A trial at the median has a deviation of 0, which tells nothing about the noise.
    blocks = (
        times.filter((pl.col("program") == PARALLEL) & (pl.col(column) > 0))
        .with_columns(off=beside_cell(column))
        .with_columns(off=(off - off.median().over("block")).abs())
        .with_columns(far=off > FAR * scale)
        .group_by(*CELL_SET, "block", "layout")
        .agg(far.sum().cast(pl.Int64), trials=pl.len().cast(pl.Int64))
        .with_columns(pl.col("far", "trials").sum().over(CELL_SET).name.prefix("all_"))
        .collect()
    )
    seen, every, found, trials = (
        blocks[name].to_numpy() for name in ("far", "all_trials", "all_far", "trials")
    )
    is_rare = pl.Series(chance_of(seen, every, found, trials) < BURST_ALPHA, dtype=pl.Boolean)
    has_modes = pl.col("all_far") > MOST_FAR * pl.col("all_trials")
    is_burst = is_rare & ~has_modes & (far >= FEWEST_FAR) & (pl.col("trials") >= FEWEST_TRIALS)
    left = pl.col("layout").filter(~pl.col("burst")).n_unique().over(CELL_SET)
    return (
        blocks.with_columns(burst=is_burst)
        .filter(pl.col("burst") & (left >= FEWEST_UNITS))
        .select("block")
    )


def chance_of(seen: Counts, every: Counts, found: Counts, trials: Counts) -> Floats:
    """Returns the one-sided p-value of Fisher's exact test, whether far trials gather in a block.

    The block has `trials` trials, of which `seen` are far. Its configuration has `every` trials, of which `found` are far.

    `scipy.stats` also has this distribution, but importing it takes half of the time of a command that prints a table.
    """
    far = np.arange(trials.max(initial=0) + 1)
    found, left, trials = found[:, None], (every - found)[:, None], trials[:, None]
    ways = special.binom(found, far) * special.binom(left, trials - far)
    at_least = np.where(far >= seen[:, None], ways, 0.0).sum(axis=1)
    chance: Floats = at_least / special.binom(every, trials[:, 0])
    return chance
