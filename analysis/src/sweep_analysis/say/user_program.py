"""Writes sentences on a program of the user: the change of wall time, CPU time and peak memory, each with its result."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.load import Sweep
from sweep_analysis.say.comparison import in_words, place_of
from sweep_analysis.say.headline import result_of
from sweep_analysis.stats.compare import FASTER, QUANTITIES, SLOWER, decide
from sweep_analysis.stats.decisions import Decisions

SHOWN = ("time", "cpu", "memory")
SIGNIFICANT = "significant"
PEAK_MEMORY = "peak_memory"
"""The metric of peak memory. A trial whose program needs less memory than its parent process lacks this metric."""
UNSEEN = "Peak memory is not compared: the program needs less than the process that starts it, about 9 MiB."
_VALUE = QUANTITIES["time"]


def is_of_user(sweep: Sweep) -> bool:
    """Whether the sweep ran a program of the user (`compare --program`)."""
    return bool((sweep.manifest.get("asked") or {}).get("program"))


def program_lines(decisions: Decisions, times: pl.DataFrame) -> list[str]:
    """Write a sentence for each branch, thread count and quantity; no sentence for a sweep of workloads.

    P-values of memory are corrected separately, so that times have the same correction as in other sweeps.
    In: rows of `frames.TIMES`.
    """
    sweep, baseline = decisions.sweep, decisions.baseline
    if baseline is None or not is_of_user(sweep):
        return []
    told = sweep.metrics.filter(metric=PEAK_MEMORY).select("trial", pl.col("value").alias(_VALUE))
    peaks = told.collect()
    if peaks.height == times.height:
        as_time = times.lazy().drop(_VALUE).join(peaks.lazy(), on="trial").select(times.columns)
        memory = decide(as_time, baseline, ("time",)).with_columns(quantity=pl.lit("memory"))
    else:
        memory = decisions.comparisons.clear()
    every = pl.concat([decisions.comparisons, memory.select(decisions.comparisons.columns)])
    rows = every.filter(
        pl.col("quantity").is_in(SHOWN),
        pl.col("branch") != (decisions.twin or ""),
        level="cell",
        baseline=baseline,
    ).sort(
        "branch", "threads", pl.col("quantity").replace_strict(dict(zip(SHOWN, "012", strict=True)))
    )
    lines = [
        f"{in_words(row, baseline, place_of(decisions.comparisons, row))}: {_told(result_of(row, sweep))}."
        for row in rows.rows(named=True)
    ]
    return lines if memory.height else [*lines, UNSEEN]


def _told(found: str) -> str:
    return SIGNIFICANT if found in (FASTER, SLOWER) else found
