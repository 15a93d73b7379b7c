"""The table of hosts: a column for each that was sent, whatever it has measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import made_up
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report import hosts
from sweep_analysis.stats.analysis import Analysis, analyse


def analysis(folder: Path) -> Analysis:
    return analyse(read_sweep(folder))


def sweep(results: Path, name: str, created_at: str, **truth: object) -> str:
    made = made_up.write_sweep(
        results / "sweeps" / name, made_up.Truth(threads=[1, 2], cpus=2, **truth)
    )  # type: ignore[arg-type]
    manifest = json.loads((made / "manifest.json").read_text())
    (made / "manifest.json").write_text(json.dumps(manifest | {"created_at": created_at}))
    return name


def host(
    results: Path, name: str, begun_at: str, steps: dict[str, str], *, is_quick: bool = False
) -> None:
    folder = results / "hosts" / name
    folder.mkdir(parents=True)
    record = {
        "schema": 1,
        "host": name,
        "cpu": "Made-up(R) CPU",
        "cores": 2,
        "cpus": 4,
        "is_virtual": False,
        "is_quick": is_quick,
        "begun_at": begun_at,
        "steps": [{"step": step, "made": made, "seconds": 1} for step, made in steps.items()],
    }
    (folder / "record.json").write_text(json.dumps(record))
    findings = [{"id": "load", "severity": "unfit"}, {"id": "swap", "severity": "note"}]
    (folder / "doctor.json").write_text(json.dumps({"findings": findings, "in_order": []}))


def told(results: Path) -> dict[str, list[str]]:
    """Cells of each row, by its question; the head has none."""
    text = hosts.table(results / "hosts", analysis, lambda path: path.name)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()
    ]
    return {row[0]: row[1:] for row in rows if not row[0].startswith("---")}


def row(rows: dict[str, list[str]], start: str) -> list[str]:
    (found,) = (cells for question, cells in rows.items() if question.startswith(start))
    return found


def test_a_host_has_a_column_with_what_its_sweeps_say(tmp_path: Path) -> None:
    faster = {("champion", "tsp"): 0.5, ("champion", "quicksort"): 0.5}
    branches = ["master", "packed", "champion"]
    alike = {
        "branches": ["packed"],
        "twin": False,
        "trial_noise": 0.0,
        "iteration_noise": 0.0,
        "block_noise": 0.0,
    }
    slow = {("packed", "tsp"): 1.5}
    steps = {
        "predict": sweep(
            tmp_path, "p", "2026-03-01T12:00:00Z", machine="here", effects=slow, **alike
        ),
        "study": sweep(
            tmp_path, "s", "2026-03-01T12:10:00Z", branches=branches, effects=faster, trials=6
        ),
        "classics": sweep(
            tmp_path, "c", "2026-03-01T12:20:00Z", branches=branches, effects=faster, trials=6
        ),
        "validate": sweep(tmp_path, "v", "2026-03-01T12:30:00Z", **alike),
    }
    host(tmp_path, "1a2b3c", "2026-03-01T11:00:00Z", steps)
    rows = told(tmp_path)
    assert rows[""] == ["host `1a2b3c`, UNFIT"]
    assert rows["machine"] == ["Made-up CPU; 2 cores, 4 CPUs"]
    assert rows["measured"] == [
        "1 March 2026, at `0000000`: [`predict`](p), [`study`](s), [`classics`](c), [`validate`](v)"
    ]
    assert rows["the doctor found"] == ["load (unfit)"]
    assert (
        "faster" in row(rows, "`champion` against the published crate, sixteen programs: time")[0]
    )
    assert row(
        rows, "`split-counters-cache-padded` against the published crate, sixteen programs: CPU"
    ) == ["not measured"]
    assert row(rows, "`packed` against the published crate: time")[0][0] in "+−±0"
    assert "`champion`" in row(rows, "programs of the 2022 study")[0]
    assert row(rows, "simulated beforehand")[0].startswith("4 of 6, geometric mean 1.1")


def test_hosts_stand_in_the_order_in_which_they_began_and_a_rehearsal_is_no_host(
    tmp_path: Path,
) -> None:
    host(tmp_path, "later", "2026-03-02T11:00:00Z", {})
    host(tmp_path, "earlier", "2026-03-01T11:00:00Z", {})
    host(tmp_path, "tried", "2026-02-01T11:00:00Z", {}, is_quick=True)
    rows = told(tmp_path)
    assert rows[""] == ["host `earlier`, UNFIT", "host `later`, UNFIT"]
    assert row(rows, "simulated beforehand") == ["not measured", "not measured"]


def test_a_host_with_one_build_of_each_branch_has_changes_without_intervals(tmp_path: Path) -> None:
    sweep(
        tmp_path, "c", "2026-03-01T12:20:00Z", branches=["master", "packed", "champion"], layouts=1
    )
    host(tmp_path, "1a2b3c", "2026-03-01T11:00:00Z", {"classics": "c"})
    rows = told(tmp_path)
    assert row(rows, "`champion` against the published crate, sixteen programs: time")[
        0
    ].startswith("−0.4\N{NO-BREAK SPACE}% time, not judged; 0 faster")
    assert "(" not in row(rows, "`packed` against the published crate: time")[0]


def test_without_hosts_the_table_says_so(tmp_path: Path) -> None:
    assert hosts.table(tmp_path / "hosts", analysis, str) == hosts.NOBODY


def test_a_sweep_that_a_record_names_and_that_is_missing_is_told(tmp_path: Path) -> None:
    host(tmp_path, "1a2b3c", "2026-03-01T11:00:00Z", {"study": "gone"})
    with pytest.raises(InputError, match="gone is missing"):
        hosts.table(tmp_path / "hosts", analysis, str)
