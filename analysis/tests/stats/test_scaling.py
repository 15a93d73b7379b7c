"""Laws of scaling on made-up curves: coefficients come back, poor and impossible fits are told as such."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import made_up
from sweep_analysis.read.frames import FITS, RESIDUALS_OF_FITS
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.scaling import GOOD, POOR, REFUSED, scaling
from sweep_analysis.stats.speedup import trial_times

EIGHT = [1, 2, 3, 4, 6, 8]


def times_of(folder: Path, truth: made_up.Truth) -> pl.LazyFrame:
    return trial_times(read_sweep(made_up.write_sweep(folder, truth)))


def one(fits: pl.DataFrame, law: str, branch: str = "master") -> dict[str, object]:
    return fits.filter(pl.col("law") == law, pl.col("branch") == branch).row(0, named=True)


def test_the_serial_share_of_a_made_up_program_is_found(tmp_path: Path) -> None:
    truth = made_up.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.08}, threads=EIGHT, cpus=8, block_noise=0.01
    )
    fits, points = scaling(times_of(tmp_path / "sweep", truth))
    assert (fits.schema, points.schema) == (FITS, RESIDUALS_OF_FITS)
    assert set(fits["branch"]) == {"master", "packed"}  # and not the twin
    fit = one(fits, "amdahl")
    assert fit["status"] == GOOD
    assert fit["sigma"] == pytest.approx(0.08, abs=0.01)
    assert points.height == 2 * 2 * len(EIGHT)


def test_intervals_of_the_serial_share_cover_it_at_the_promised_rate(tmp_path: Path) -> None:
    workloads = {f"w{number}": 0.1 for number in range(200)}
    truth = made_up.Truth(
        branches=["master"], workloads=workloads, threads=[1, 2, 4, 8], cpus=8, trials=7, iterations=1,
        trial_noise=0.01, block_noise=0.02, twin=False, sequential=False,
    )  # fmt: skip
    fits, _ = scaling(times_of(tmp_path / "sweep", truth))
    amdahl = fits.filter(pl.col("law") == "amdahl", pl.col("status") == GOOD)
    assert amdahl.height >= 190
    covered = amdahl.select((pl.col("sigma_low") <= 0.1) & (pl.col("sigma_high") >= 0.1)).to_series().mean()
    assert isinstance(covered, float)
    assert 0.88 <= covered <= 0.99


def crosstalk(times: pl.LazyFrame, kappa: float) -> pl.LazyFrame:
    """The same trials with `kappa` of the single thread's time added for each thread but the first."""
    single = pl.col("ns_per_unit").filter(pl.col("threads") == 1).median().over("workload", "branch")
    return times.with_columns(pl.col("ns_per_unit") + kappa * single * (pl.col("threads") - 1))


def test_crosstalk_and_the_peak_that_it_makes_are_found(tmp_path: Path) -> None:
    truth = made_up.Truth(
        branches=["master"], workloads={"tsp": 0.05}, threads=EIGHT, cpus=8, block_noise=0.002, trial_noise=0.002
    )
    fits, _ = scaling(crosstalk(times_of(tmp_path / "sweep", truth), 0.02))
    usl = one(fits, "usl")
    assert usl["status"] == GOOD
    assert usl["kappa"] == pytest.approx(0.02, abs=0.003)
    assert usl["peak_threads"] == pytest.approx(np.sqrt(0.95 / 0.02), rel=0.1)


def test_a_law_that_does_not_fit_is_poor_and_has_no_coefficients(tmp_path: Path) -> None:
    """Crosstalk is what Amdahl's law leaves out: times that rise with threads cannot be its."""
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.05}, threads=EIGHT, cpus=8, block_noise=0.005)
    fits, points = scaling(crosstalk(times_of(tmp_path / "sweep", truth), 0.1))
    amdahl = one(fits, "amdahl")
    assert amdahl["status"] == POOR
    assert amdahl["sigma"] is None
    assert "more than noise" in str(amdahl["reason"])
    assert points.filter(pl.col("law") == "amdahl").height == len(EIGHT)


def test_points_beyond_the_cpus_are_left_out_and_counted(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.05}, threads=[1, 2, 3, 4, 8, 16], cpus=4)
    fits, _ = scaling(times_of(tmp_path / "sweep", truth))
    amdahl = one(fits, "amdahl")
    assert (amdahl["points"], amdahl["points_left_out"], amdahl["status"]) == (4, 2, GOOD)
    assert amdahl["sigma"] == pytest.approx(0.05, abs=0.03)


def test_two_cpus_are_too_few_for_any_law(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.05}, cpus=2)
    fits, points = scaling(times_of(tmp_path / "sweep", truth))
    assert set(fits["status"]) == {REFUSED}
    assert one(fits, "usl")["reason"] == "2 thread counts within the CPUs; 3 shares need at least 4"
    assert points.is_empty()


def test_no_share_of_the_work_is_negative(tmp_path: Path) -> None:
    """A pool that scales better than its threads has no serial share below zero, but residuals that tell."""
    truth = made_up.Truth(
        branches=["master"], workloads={"tsp": 0.0}, threads=EIGHT, cpus=8, block_noise=0, trial_noise=0.001
    )
    times = times_of(tmp_path / "sweep", truth).with_columns(pl.col("ns_per_unit") / pl.col("threads") ** 0.2)
    fits, points = scaling(times)
    assert set(fits["status"]) == {POOR}
    assert points["residual"].abs().max() > 0.05  # type: ignore[operator]
