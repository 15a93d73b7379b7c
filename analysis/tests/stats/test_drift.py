"""A trend that is there is found with its size; a steady host gives no alarm."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import made_up
from sweep_analysis.read.frames import PLACES, RESIDUALS
from sweep_analysis.read.load import read_sweep
from sweep_analysis.say.cautions import cautions
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.compare import drifts
from sweep_analysis.stats.drift import (
    clock_effect,
    drift,
    in_blocks,
    place_trend,
    places,
    residuals,
)
from sweep_analysis.stats.speedup import trial_times


def test_a_drift_is_found_with_its_size(tmp_path: Path) -> None:
    truth = made_up.Truth(drift=0.2, block_noise=0.01)
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    found = drift(in_blocks(trial_times(sweep)))
    assert found is not None
    assert found.ratio == pytest.approx(1.221, abs=0.03)
    assert found.p_value < 1e-6
    assert any("Times rose by 2" in text for text in cautions(analyse(sweep)))


def test_a_steady_host_rarely_gives_an_alarm(tmp_path: Path) -> None:
    """Blocks share noise; were trials taken for replicates, nearly every sweep would give one."""
    alarms = 0
    for seed in range(40):
        truth = made_up.Truth(
            branches=["master", "packed"], iterations=1, block_noise=0.05, seed=seed
        )
        found = drift(
            in_blocks(trial_times(read_sweep(made_up.write_sweep(tmp_path / str(seed), truth))))
        )
        assert found is not None
        alarms += found.p_value < 0.05
    assert alarms <= 6


def test_too_few_blocks_say_nothing(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.1}, threads=[1, 2], trials=2)
    assert (
        drift(in_blocks(trial_times(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth)))))
        is None
    )


def test_residuals_of_a_drifting_sweep_rise_and_those_of_a_steady_one_do_not(
    tmp_path: Path,
) -> None:
    slopes = []
    for name, gained in (("steady", 0.0), ("drifting", 0.3)):
        truth = made_up.Truth(
            branches=["master", "packed"],
            trials=11,
            drift=gained,
            block_noise=0,
            trial_noise=0.001,
            iteration_noise=0,
        )
        sweep = read_sweep(made_up.write_sweep(tmp_path / name, truth))
        found = residuals(in_blocks(trial_times(sweep)))
        assert found.schema == RESIDUALS
        blocks = found["block"].to_numpy()
        slope = np.polyfit(blocks, found["residual"].to_numpy(), 1)[0]
        slopes.append(float(slope * blocks.max()))
    assert abs(slopes[0]) < 0.01
    assert slopes[1] == pytest.approx(0.3, abs=0.03)


def test_times_that_rise_inside_blocks_are_found_with_their_size(tmp_path: Path) -> None:
    truth = made_up.Truth(place_effect=0.04)
    times = trial_times(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth)))
    found = place_trend(times)
    assert found is not None
    assert found.ratio == pytest.approx(math.exp(0.04), abs=0.01)
    assert found.p_value < 1e-6
    by_place = places(times)
    assert by_place.schema == PLACES
    assert by_place["position"].to_list() == list(range(11))
    assert by_place["excess"][10] - by_place["excess"][0] == pytest.approx(0.04, abs=0.015)


def test_intervals_of_places_cover_the_truth_as_often_as_they_say(tmp_path: Path) -> None:
    """Eleven places in each of twelve sweeps without any effect: 95 % of 132 is 125."""
    covering = 0
    for seed in range(12):
        truth = made_up.Truth(workloads={"tsp": 0.1}, iterations=1, seed=seed)
        found = places(trial_times(read_sweep(made_up.write_sweep(tmp_path / str(seed), truth))))
        covering += found.filter((pl.col("excess_low") <= 0) & (pl.col("excess_high") >= 0)).height
    assert 117 <= covering <= 131


def test_the_place_in_a_block_rarely_gives_an_alarm_where_it_does_not_matter(
    tmp_path: Path,
) -> None:
    """The effect of a block, which all its trials share, is independent of places."""
    alarms = 0
    for seed in range(24):
        truth = made_up.Truth(
            branches=["master", "packed"],
            workloads={"tsp": 0.1},
            iterations=1,
            block_noise=0.05,
            seed=seed,
        )
        found = place_trend(
            trial_times(read_sweep(made_up.write_sweep(tmp_path / str(seed), truth)))
        )
        assert found is not None
        alarms += found.p_value < 0.05
    assert alarms <= 5  # 24 draws at 0.05 exceed five once in seven hundred times


def test_residuals_are_the_same_to_the_last_digit_in_every_run(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], trials=11, clock_noise=0.02)
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    times = trial_times(sweep).collect()
    first = residuals(in_blocks(times.lazy()))
    assert all(residuals(in_blocks(times.lazy())).equals(first) for _ in range(10))


def test_times_that_follow_the_clock_are_found_to_do_so(tmp_path: Path) -> None:
    truth = made_up.Truth(clock_noise=0.02, block_noise=0.005)
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    found = clock_effect(in_blocks(trial_times(sweep)))
    assert found is not None
    assert found.exponent == pytest.approx(-1, abs=0.1)
    assert found.spread == pytest.approx(0.02, rel=0.3)
    assert found.p_value < 1e-6
    assert any("Times follow the measured clock" in text for text in cautions(analyse(sweep)))


def test_a_clock_that_does_not_matter_rarely_gives_an_alarm(tmp_path: Path) -> None:
    alarms = 0
    for seed in range(24):
        truth = made_up.Truth(
            branches=["master"],
            workloads={"tsp": 0.1},
            iterations=1,
            clock_noise=0.02,
            block_noise=0.05,
            seed=seed,
        )
        times = trial_times(read_sweep(made_up.write_sweep(tmp_path / str(seed), truth)))
        same_cycles = times.with_columns(
            pl.col("ns_per_unit") * pl.col("ghz")
        )  # undoes what the clock did
        found = clock_effect(in_blocks(same_cycles))
        assert found is not None
        alarms += found.p_value < 0.05
    assert alarms <= 5


def test_without_a_clock_or_blocks_of_several_nothing_is_said(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.1}, twin=False)
    times = trial_times(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth)))
    assert clock_effect(in_blocks(times)) is None
    assert place_trend(times) is None
    assert places(times).is_empty()


@pytest.mark.parametrize("ratio_drift", [0.8, 1.25])
def test_a_ratio_drifts_up_or_down_if_its_trend_is_sure_and_larger_than_what_it_shows(
    ratio_drift: float,
) -> None:
    rows = pl.DataFrame(
        {
            "ratio_drift": ratio_drift,
            "p_drift": [0.001, 0.5, 0.001, None],
            "time_ratio": [0.95, 0.95, 0.7, 0.95],
        }
    )
    assert rows.select(drifts()).to_series().to_list() == [True, False, False, False]
