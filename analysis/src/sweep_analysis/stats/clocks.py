"""The CPU clock during a sweep, as the runner measured it beside every trial."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import CLOCKS
from sweep_analysis.read.load import Sweep


def clocks(sweep: Sweep) -> pl.LazyFrame:
    """The measured clock by mode and thread count.

    A trial's is the mean of what was measured before and after it.

    Out: rows of `frames.CLOCKS`. All trials that have times count, whether or not they failed. A
         trial with one of the two measurements has that one.
    """
    measured = sweep.trials.select(
        "mode", "freq_state", "threads", pl.mean_horizontal("ghz_before", "ghz_after").alias("ghz")
    )
    ghz = pl.col("ghz")
    return (
        measured.group_by("mode", "freq_state", "threads")
        .agg(
            ghz.count().alias("trials"),
            ghz.null_count().alias("unmeasured"),
            ghz.median(),
            ghz.min().alias("ghz_low"),
            ghz.max().alias("ghz_high"),
        )
        .select(pl.col(name).cast(kind) for name, kind in CLOCKS.items())
        .sort("mode", "freq_state", "threads")
    )
