"""The calibration against made-up sweeps: a true difference is told, and mere noise is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import made_up
from sweep_analysis.__main__ import main
from sweep_analysis.calibration import calibration
from sweep_analysis.load import read_sweep
from sweep_analysis.speedup import trial_times


def truth(effects: dict[tuple[str, str], float], *, twin: bool = True) -> made_up.Truth:
    return made_up.Truth(branches=["master", "packed"], trials=11, effects=effects, twin=twin)


def test_equal_builds_are_near_in_every_cell(tmp_path: Path) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path, truth({})))
    found = calibration(trial_times(sweep), "master", "packed")
    assert found is not None
    assert found.is_near
    assert found.cells.height == 12  # three workloads, four thread counts


def test_one_workload_that_is_a_tenth_slower_spoils_its_cells_and_the_mean(tmp_path: Path) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path, truth({("packed", "tsp"): 1.1})))
    found = calibration(trial_times(sweep), "master", "packed")
    assert found is not None
    assert not found.is_mean_near  # a third of the cells at 10 %
    off = found.cells.filter(~found.cells["is_near"])
    assert set(off["workload"]) == {"tsp"}
    assert found.cells["is_near"].to_list() == [False] * 4 + [True] * 8, "the furthest off come first"


def test_a_branch_that_is_much_faster_is_not_calibrated_either(tmp_path: Path) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path, truth({("packed", "tsp"): 0.75})))
    found = calibration(trial_times(sweep), "master", "packed")
    assert found is not None
    assert not found.is_near


def test_cpu_time_is_judged_by_its_own_noise(tmp_path: Path) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path, truth({("packed", "tsp"): 1.1})))
    found = calibration(trial_times(sweep), "master", "packed", "cpu")
    assert found is not None
    assert set(found.cells.filter(~found.cells["is_near"])["workload"]) == {"tsp"}


def test_the_command_fails_with_code_1_and_names_the_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up.write_sweep(tmp_path / "off", truth({("packed", "tsp"): 1.1}))
    made_up.write_sweep(tmp_path / "near", truth({}))
    assert main(["calibration", str(tmp_path / "near")]) == 0
    assert "0 cells outside" in capsys.readouterr().out
    assert main(["calibration", str(tmp_path / "off")]) == 1
    assert "4 cells outside" in capsys.readouterr().out


def test_without_a_twin_nothing_is_calibrated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up.write_sweep(tmp_path / "sweep", truth({}, twin=False))
    assert main(["calibration", str(tmp_path / "sweep")]) == 2
    assert "no A/A twin" in capsys.readouterr().err
