"""How long an iteration takes, by threads: plain medians of each cell, for tables and charts that judge nothing."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import THREAD_TIMES
from sweep_analysis.read.schema import PARALLEL, POOL_CELL

COLUMNS = {"time": "time_us", "cpu": "cpu_us"}
"""Where each quantity stands in `frames.THREAD_TIMES`."""


def thread_times(times: pl.LazyFrame) -> pl.DataFrame:
    """Median wall and CPU time of every cell of the pool's program.

    In:  rows of `frames.TIMES`.
    Out: rows of `frames.THREAD_TIMES`.
    """
    key = POOL_CELL
    wall = pl.col("elapsed_ns")
    found = (
        times.filter(pl.col("program") == PARALLEL)
        .group_by(key)
        .agg((wall.median() / 1e3).alias("time_us"), ((wall * pl.col("cpus_busy")).median() / 1e3).alias("cpu_us"))
    )
    return found.sort(key).select(pl.col(name).cast(kind) for name, kind in THREAD_TIMES.items()).collect()
