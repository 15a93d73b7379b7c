"""A trend that is there is found with its size; a steady host gives no alarm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import made_up
from sweep_analysis.drift import drift, residuals
from sweep_analysis.findings import analyse, cautions
from sweep_analysis.frames import RESIDUALS
from sweep_analysis.load import read_sweep
from sweep_analysis.speedup import trial_times


def test_a_drift_is_found_with_its_size(tmp_path: Path) -> None:
    truth = made_up.Truth(drift=0.2, block_noise=0.01)
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    found = drift(trial_times(sweep))
    assert found is not None
    assert found.ratio == pytest.approx(1.221, abs=0.03)
    assert found.p_value < 1e-6
    assert any("Times rose by 2" in text for text in cautions(analyse(sweep)))


def test_a_steady_host_rarely_gives_an_alarm(tmp_path: Path) -> None:
    """Blocks share noise; were trials taken for replicates, nearly every sweep would give one."""
    alarms = 0
    for seed in range(40):
        truth = made_up.Truth(branches=["master", "packed"], iterations=1, block_noise=0.05, seed=seed)
        found = drift(trial_times(read_sweep(made_up.write_sweep(tmp_path / str(seed), truth))))
        assert found is not None
        alarms += found.p_value < 0.05
    assert alarms <= 6


def test_too_few_blocks_say_nothing(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.1}, threads=[1, 2], trials=2)
    assert drift(trial_times(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth)))) is None


def test_residuals_of_a_drifting_sweep_rise_and_those_of_a_steady_one_do_not(tmp_path: Path) -> None:
    slopes = []
    for name, gained in (("steady", 0.0), ("drifting", 0.3)):
        truth = made_up.Truth(
            branches=["master", "packed"], trials=11, drift=gained, block_noise=0, trial_noise=0.001, iteration_noise=0
        )
        sweep = read_sweep(made_up.write_sweep(tmp_path / name, truth))
        found = residuals(trial_times(sweep)).collect()
        assert found.schema == RESIDUALS
        blocks = found["block"].to_numpy()
        slope = np.polyfit(blocks, found["residual"].to_numpy(), 1)[0]
        slopes.append(float(slope * blocks.max()))
    assert abs(slopes[0]) < 0.01
    assert slopes[1] == pytest.approx(0.3, abs=0.03)
