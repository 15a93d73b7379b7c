"""The test finds a true trend and its size; a steady host gives no warning."""

from __future__ import annotations

import polars as pl
import pytest

import synthetic
from sweep_analysis.say.cautions import cautions
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.compare import drifts
from sweep_analysis.stats.drift import drift, residuals
from sweep_analysis.stats.speedup import trial_times


def test_a_drift_is_found_with_its_size() -> None:
    truth = synthetic.Truth(drift=0.2, block_noise=0.01)
    sweep = synthetic.swept(truth)
    found = drift(residuals(trial_times(sweep)))
    assert found is not None
    assert found.ratio == pytest.approx(1.221, abs=0.03)
    assert found.p_value < 1e-6
    assert any("Times rose by 2" in text for text in cautions(analyse(sweep)))


def test_a_steady_host_rarely_gives_a_warning() -> None:
    """Trials of a block share noise; if trials counted as replicates, nearly every sweep would give a warning."""
    alarms = 0
    for seed in range(24):
        truth = synthetic.Truth(
            branches=["master", "packed"], iterations=1, block_noise=0.05, seed=seed
        )
        found = drift(residuals(trial_times(synthetic.swept(truth))))
        assert found is not None
        alarms += found.p_value < 0.05
    assert alarms <= 5


def test_too_few_blocks_give_no_result() -> None:
    truth = synthetic.Truth(branches=["master"], workloads={"tsp": 0.1}, threads=[1, 2], trials=2)
    assert drift(residuals(trial_times(synthetic.swept(truth)))) is None


def test_residuals_are_the_same_to_the_last_digit_in_every_run() -> None:
    truth = synthetic.Truth(branches=["master"], trials=11)
    sweep = synthetic.swept(truth)
    times = trial_times(sweep).collect()
    first = residuals(times.lazy())
    assert all(residuals(times.lazy()).equals(first) for _ in range(10))


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
