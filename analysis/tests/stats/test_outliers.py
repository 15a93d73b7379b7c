"""Trials far from their cell are labelled, and none is dropped."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import made_up
from sweep_analysis.read.frames import OUTLIERS
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.outliers import outliers
from sweep_analysis.stats.speedup import speedups, trial_times


def times_of(folder: Path, truth: made_up.Truth) -> pl.DataFrame:
    return trial_times(read_sweep(made_up.write_sweep(folder, truth))).collect()


def test_a_trial_that_took_half_as_long_again_is_labelled(tmp_path: Path) -> None:
    truth = made_up.Truth(
        branches=["master"], workloads={"tsp": 0.1}, threads=[2], trials=9, block_noise=0, seed=3
    )
    times = times_of(tmp_path / "sweep", truth)
    slow = times.filter(pl.col("branch") == "master", pl.col("program") == "parallel")["trial"][4]
    factor = pl.when(pl.col("trial") == slow).then(1.5).otherwise(1.0)
    found = outliers(times.lazy().with_columns(pl.col("ns_per_unit") * factor)).collect()
    assert found.schema == OUTLIERS
    row = found.filter(pl.col("trial") == slow).row(0, named=True)
    assert row["modified_z"] > 3.5
    assert row["time_ratio"] == pytest.approx(1.5, rel=0.03)
    assert row["trials"] == 9


def test_few_ordinary_trials_are_labelled(tmp_path: Path) -> None:
    workloads = {f"w{number}": 0.1 for number in range(60)}
    truth = made_up.Truth(
        branches=["master"], workloads=workloads, threads=[2], trials=11, iterations=1
    )
    times = times_of(tmp_path / "sweep", truth)
    found = outliers(times.lazy()).collect()
    assert 0 < found.height < 0.09 * times.height


def test_a_cell_of_four_trials_has_no_labels(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.1}, threads=[2], trials=4)
    times = times_of(tmp_path / "sweep", truth)
    far = pl.when(pl.col("block") == 0).then(9.0).otherwise(1.0)
    assert outliers(times.lazy().with_columns(pl.col("ns_per_unit") * far)).collect().is_empty()


def test_labels_take_nothing_out_of_the_results(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.1}, threads=[1], trials=9)
    times = times_of(tmp_path / "sweep", truth)
    assert outliers(times.lazy()).collect().height < times.height
    assert set(speedups(times.lazy(), "master")["trials"]) == {9}
