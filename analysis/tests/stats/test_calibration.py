"""Calibration on synthetic sweeps: a slower branch is different, an equal branch is equivalent, and a noisy sweep is inconclusive."""

from __future__ import annotations

import itertools
from dataclasses import replace

import synthetic
from sweep_analysis.read.frames import CALIBRATION
from sweep_analysis.stats.analysis import analyse
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


def test_the_table_has_the_mean_and_every_configuration_of_each_branch_and_quantity() -> None:
    branches = ["master", "packed", "split-counters"]
    sweep = synthetic.swept(replace(truth({("packed", "tsp"): 1.1}), branches=branches))
    rows = analyse(sweep).frame("calibration")
    assert rows.schema == CALIBRATION
    parts = rows.partition_by("quantity", "branch", as_dict=True)
    assert set(parts) == set(itertools.product(("time", "cpu"), branches[1:]))
    for (_, branch), part in parts.items():
        assert part["level"].to_list() == ["overall"] + ["cell"] * 12
        different = part.filter(level="cell", verdict=OFF)
        assert set(different["workload"]) == ({"tsp"} if branch == "packed" else set())


def test_a_simulated_sweep_has_no_table_of_equivalence() -> None:
    sweep = synthetic.swept(replace(truth({}), machine="synthetic-8"))
    assert analyse(sweep).frame("calibration").is_empty()


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
