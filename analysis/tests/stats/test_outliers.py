"""Trials far from their cell are labelled, and none is dropped."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import made_up
from sweep_analysis.read.frames import OUTLIER_SHARES, OUTLIERS
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.outliers import outliers, shares
from sweep_analysis.stats.speedup import speedups, trial_times


def times_of(folder: Path, truth: made_up.Truth) -> pl.DataFrame:
    return trial_times(read_sweep(made_up.write_sweep(folder, truth))).collect()


def test_a_trial_that_took_half_as_long_again_is_labelled_by_both_rules(tmp_path: Path) -> None:
    truth = made_up.Truth(
        branches=["master"], workloads={"tsp": 0.1}, threads=[2], trials=9, block_noise=0, seed=3
    )
    times = times_of(tmp_path / "sweep", truth)
    slow = times.filter(pl.col("branch") == "master", pl.col("program") == "parallel")["trial"][4]
    factor = pl.when(pl.col("trial") == slow).then(1.5).otherwise(1.0)
    found = outliers(times.lazy().with_columns(pl.col("ns_per_unit") * factor)).collect()
    assert found.schema == OUTLIERS
    row = found.filter(pl.col("trial") == slow).row(0, named=True)
    assert row["is_beyond_fences"]
    assert row["is_far"]
    assert row["time_ratio"] == pytest.approx(1.5, rel=0.03)
    assert row["trials"] == 9


def test_few_ordinary_trials_are_labelled(tmp_path: Path) -> None:
    """Of normal noise the fences leave 0.7 % outside in large samples.

    In cells of eleven about 4 %.
    """
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


def test_a_branch_with_a_tail_has_more_labels_than_the_others(tmp_path: Path) -> None:
    """One trial in eleven of `packed` takes twice as long.

    The interval of its share lies above the others'.
    """
    workloads = {f"w{number}": 0.1 for number in range(20)}
    truth = made_up.Truth(
        branches=["master", "packed", "split-counters"],
        workloads=workloads,
        threads=[2],
        trials=11,
        iterations=1,
    )
    times = times_of(tmp_path / "sweep", truth)
    hit = (
        (pl.col("branch") == "packed")
        & (pl.col("replicate") == 3)
        & (pl.col("program") == "parallel")
    )
    times = times.with_columns(pl.col("ns_per_unit") * pl.when(hit).then(2.0).otherwise(1.0))
    found = shares(outliers(times.lazy()).collect(), times)
    assert found.schema == OUTLIER_SHARES
    assert set(found["trials"]) == {220}
    own = found.filter(branch="packed").row(0, named=True)
    assert own["slow"] >= 20
    assert own["share_low"] > max(found.filter(pl.col("branch") != "packed")["share"])
    assert (
        found.filter(pl.col("share").is_between("share_low", "share_high")).height == found.height
    )


def test_a_share_of_none_reaches_from_zero_to_a_bound(tmp_path: Path) -> None:
    truth = made_up.Truth(
        branches=["master"],
        workloads={"tsp": 0.1},
        threads=[2],
        trials=5,
        trial_noise=0,
        twin=False,
    )
    times = times_of(tmp_path / "sweep", truth)
    row = shares(outliers(times.lazy()).collect().clear(), times).row(0, named=True)
    assert (row["labelled"], row["share_low"]) == (0, 0.0)
    assert row["share_high"] == pytest.approx(
        1 - 0.025 ** (1 / 5)
    )  # Clopper and Pearson, none of five
