"""Calibration on synthetic sweeps: a slower branch is different, an equal branch is equivalent, and a noisy sweep is inconclusive."""

from __future__ import annotations

from dataclasses import replace

import synthetic
from sweep_analysis.stats.calibration import EQUAL, OFF, OPEN, calibration
from sweep_analysis.stats.speedup import trial_times


def truth(effects: dict[tuple[str, str], float]) -> synthetic.Truth:
    return synthetic.Truth(branches=["master", "packed"], trials=11, effects=effects)


def test_equal_builds_are_equal_in_every_configuration() -> None:
    sweep = synthetic.swept(truth({}))
    found = calibration(trial_times(sweep), "master", "packed")
    assert found is not None
    assert found.answer == EQUAL
    assert found.cells.height == 12  # three workloads, four thread counts


def test_one_workload_that_is_a_tenth_slower_changes_its_configurations_and_the_mean() -> None:
    sweep = synthetic.swept(truth({("packed", "tsp"): 1.1}))
    found = calibration(trial_times(sweep), "master", "packed")
    assert found is not None
    assert found.mean["answer"].item() == OFF  # a third of the configurations at 10 %
    assert found.cells["answer"].to_list() == [OFF] * 4 + [EQUAL] * 8, "the furthest off come first"


def test_noise_proves_no_equality() -> None:
    noisy = replace(truth({}), trial_noise=0.25)
    found = calibration(trial_times(synthetic.swept(noisy)), "master", "packed")
    assert found is not None
    assert found.answer == OPEN


def test_cpu_time_is_selected_by_its_name() -> None:
    sweep = synthetic.swept(truth({("packed", "tsp"): 1.1}))
    found = calibration(trial_times(sweep), "master", "packed", "cpu")
    assert found is not None
    assert set(found.cells.filter(answer=OFF)["workload"]) == {"tsp"}
