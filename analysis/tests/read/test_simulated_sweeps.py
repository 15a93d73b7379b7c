"""A sweep is either measured or simulated, and comparisons refuse a mix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import Sweep, read_sweep, refuse_mixed
from sweep_analysis.read.request import experiment_of
from sweep_analysis.read.written import SPEEDUP_BY_BRANCH


def write(folder: Path, machine: str | None) -> Path:
    truth = synthetic.Truth(
        branches=["packed"],
        workloads={"tsp": 0.1},
        threads=[1],
        trials=1,
        twin=False,
        machine=machine,
    )
    return synthetic.write_sweep(folder, truth)


def swept(folder: Path, machine: str | None) -> Sweep:
    return read_sweep(write(folder, machine))


def test_a_simulated_sweep_says_so(tmp_path: Path) -> None:
    assert swept(tmp_path / "one", "zen").label == "simulated: zen"
    assert swept(tmp_path / "other", None).label == ""


def test_a_simulated_sweep_is_compared_with_its_own_machine_alone(tmp_path: Path) -> None:
    one, same = swept(tmp_path / "one", "zen"), swept(tmp_path / "same", "zen")
    refuse_mixed([one, same], "here")
    same.manifest["asked"]["machine"]["sha256"] = "1" * 64
    with pytest.raises(InputError, match="with other cost parameters"):
        refuse_mixed([one, same], "here")
    measured = swept(tmp_path / "other", None)
    told = "here: one is simulated: zen and other is measured; compare measured"
    with pytest.raises(InputError, match=told):
        refuse_mixed([one, measured], "here")


def test_files_of_a_measured_and_a_simulated_sweep_are_refused(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", "zen"), write(tmp_path / "other", None)
    (one / "trials.jsonl").write_bytes((other / "trials.jsonl").read_bytes())
    with pytest.raises(
        InputError, match="`simulated` is missing in 2 trials, but the manifest names zen"
    ):
        read_sweep(one)
    (one / "host.json").write_bytes((other / "host.json").read_bytes())
    with pytest.raises(
        InputError,
        match=r"host.json: it describes no simulated machine, but the manifest names zen",
    ):
        read_sweep(one)


def test_trials_of_a_simulated_machine_are_refused_in_a_measured_sweep(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", "zen"), write(tmp_path / "other", None)
    (other / "trials.jsonl").write_bytes((one / "trials.jsonl").read_bytes())
    with pytest.raises(InputError, match="`simulated` is present in 2 trials"):
        read_sweep(other)


def test_a_simulated_experiment_is_not_drawn_beside_published_hosts(tmp_path: Path) -> None:
    experiment = {
        "name": "e",
        "shows": "s",
        "source": "t",
        "figure": "server-throughput",
        "sequential_ignores": [],
    }
    for machine, figure in (("zen", SPEEDUP_BY_BRANCH), (None, "server-throughput")):
        folder = write(tmp_path / str(machine), machine)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["asked"]["experiment"] = experiment
        (folder / "manifest.json").write_text(json.dumps(manifest))
        found = experiment_of(read_sweep(folder))
        assert found is not None
        assert found.figure == figure
