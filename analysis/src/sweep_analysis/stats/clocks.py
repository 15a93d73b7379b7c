"""Summarises the CPU clock during a sweep, which the runner measured before and after every trial."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import CLOCKS, cast_to
from sweep_analysis.read.load import Sweep


def clocks(sweep: Sweep) -> pl.LazyFrame:
    """The measured clock by mode and thread count: rows of `frames.CLOCKS`.

    The clock of a trial is the mean of the measurements before and after it, or the only measurement.
    Failed trials have a clock, too.
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
        .select(cast_to(CLOCKS))
        .sort("mode", "freq_state", "threads")
    )
