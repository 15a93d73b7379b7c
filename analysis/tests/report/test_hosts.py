"""The table of hosts has a row for each measured host, except hosts that were measured with `--quick`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import read_sweep
from sweep_analysis.read.predictions import read_predictions
from sweep_analysis.report import hosts
from sweep_analysis.stats.analysis import Analysis, analyse


def analysis(folder: Path) -> Analysis:
    return analyse(read_sweep(folder))


def host(results: Path, name: str, begun_at: str, *, is_quick: bool = False, **steps: str) -> None:
    folder = results / "hosts" / name
    folder.mkdir(parents=True)
    record = {
        "host": name,
        "cpu": "Made-up(R) CPU",
        "cores": 2,
        "cpus": 4,
        "is_virtual": False,
        "is_quick": is_quick,
        "begun_at": begun_at,
        "steps": [{"step": step, "made": made} for step, made in steps.items()],
    }
    (folder / "record.json").write_text(json.dumps(record))
    findings = [{"id": "load", "severity": "unfit"}, {"id": "swap", "severity": "note"}]
    (folder / "doctor.json").write_text(json.dumps({"findings": findings, "in_order": []}))


def told(results: Path) -> list[list[str]]:
    text = hosts.table(results / "hosts", analysis, lambda path: path.name)
    lines = text.strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_a_host_has_a_row_with_what_its_sweeps_say(tmp_path: Path) -> None:
    truth = synthetic.Truth(
        branches=["master", "champion"],
        threads=[1, 2],
        cpus=2,
        trials=6,
        effects={("champion", "tsp"): 0.5, ("champion", "quicksort"): 0.5},
    )
    synthetic.write_sweep(tmp_path / "sweeps" / "c", truth)
    for name, machine, slow in (("p", "here", 1.5), ("v", None, 1.0)):
        alike = synthetic.Truth(
            branches=["packed"], threads=[1, 2], cpus=2, twin=False, machine=machine,
            effects={("packed", "tsp"): slow}, **synthetic.QUIET,
        )  # fmt: skip
        synthetic.write_sweep(tmp_path / "sweeps" / name, alike)
    steps = {"classics": "c", "predict": "p", "predictions": "r", "validate": "v"}
    registered = synthetic.write_sweep(tmp_path / "sweeps" / "r", truth) / "manifest.json"
    manifest = json.loads(registered.read_text())
    manifest["asked"]["experiment"] = {"name": "predictions", "shows": ""}
    registered.write_text(json.dumps(manifest))
    host(tmp_path, "1a2b3c", "2026-03-01T11:00:00Z", **steps)
    host(tmp_path, "earlier", "2026-02-01T11:00:00Z")
    host(tmp_path, "tried", "2026-01-01T11:00:00Z", is_quick=True)
    earlier, later = told(tmp_path)
    assert earlier == ["`earlier`, UNFIT", "Made-up CPU; 2 cores, 4 CPUs", "", "load", "", "", ""]
    name, machine, sweeps, doctor, champion, predictions, near = later
    assert (name, doctor, sweeps) == (
        "`1a2b3c`, UNFIT",
        "load",
        "[predict](p), [classics](c), [predictions](r), [validate](v)",
    )
    assert machine == "Made-up CPU; 2 cores, 4 CPUs"
    assert champion.count(", faster") == 2
    count = len(read_predictions())
    assert predictions == f"0 hit, 0 miss, 0 undecided, {count} not tested"
    assert near == "4 of 6 configurations; simulated AFTER it was measured"


def test_without_hosts_the_table_says_so_and_a_missing_sweep_or_a_damaged_record_is_named(
    tmp_path: Path,
) -> None:
    assert hosts.table(tmp_path / "hosts", analysis, str) == hosts.NOBODY
    host(tmp_path, "1a2b3c", "2026-03-01T11:00:00Z", study="gone")
    with pytest.raises(InputError, match="gone is missing"):
        hosts.table(tmp_path / "hosts", analysis, str)
    (tmp_path / "hosts/1a2b3c/record.json").write_text("{}")
    with pytest.raises(InputError, match="not a record of a host"):
        hosts.table(tmp_path / "hosts", analysis, str)
