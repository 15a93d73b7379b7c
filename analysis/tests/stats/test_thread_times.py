"""Times of an iteration by threads, on a made-up sweep."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.thread_times import thread_times


def test_times_of_an_iteration_are_medians_of_trials(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[1, 4])
    all_times = analyse(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))).times
    times = all_times.filter(workload="tsp", branch="packed", threads=4, program="parallel")
    row = thread_times(all_times.lazy()).filter(workload="tsp", branch="packed", threads=4).row(0, named=True)
    assert row["time_us"] == pytest.approx(times["elapsed_ns"].median() / 1e3)  # type: ignore[operator]
    assert row["cpu_us"] == pytest.approx(
        times.select(pl.col("elapsed_ns") * pl.col("cpus_busy")).median().item() / 1e3
    )
