"""Sweeps with something missing.

A message with its remedy and exit code 2, or a result that says what is missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import made_up
from sweep_analysis.__main__ import main
from sweep_analysis.read.load import read_sweep

TABLES = ("claims", "costs", "outliers", "modes", "ledger", "events")
COMMANDS = (("speedup",), ("compare",), *(("table", name) for name in TABLES))


def sweep(folder: Path, **truth: Any) -> Path:  # noqa: ANN401 - fields of `Truth`
    small = {"branches": ["master", "packed"], "workloads": {"tsp": 0.1}, "threads": [1, 2]}
    return made_up.write_sweep(folder / "sweep", made_up.Truth(**small | truth))


def change_manifest(folder: Path, **fields: object) -> None:
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message of a command that must end with 2, print nothing else, and take one line for it."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_sweep_without_a_trial_is_refused_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    folder = sweep(tmp_path)
    (folder / "trials.jsonl").write_text("")
    message = refused(capsys, command[0], str(folder), *command[1:])
    assert "trials.jsonl: no trial was recorded; run the sweep, or resume it" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_an_older_or_newer_format_is_refused_with_line_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    folder = sweep(tmp_path)
    file = folder / "trials.jsonl"
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 0'))
    message = refused(capsys, command[0], str(folder), *command[1:])
    assert (
        "trials.jsonl:1: field `schema` is 0, this analysis reads 1; use the analysis of the commit"
        in message
    )


def test_a_file_torn_in_the_middle_is_refused_and_one_torn_at_its_end_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sweep(tmp_path)
    file = folder / "trials.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-25])
    assert main(["table", str(folder), "costs"]) == 0
    assert "note: The last line of trials.jsonl" in capsys.readouterr().err
    file.write_bytes(whole[:700] + b"\n" + whole[900:])
    assert "trials.jsonl:" in refused(capsys, "table", str(folder), "costs")


def test_one_branch_has_speed_ups_and_nothing_to_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sweep(tmp_path, branches=["master"], twin=False)
    assert main(["speedup", str(folder)]) == 0
    capsys.readouterr()
    message = refused(capsys, "compare", str(folder))
    assert (
        "`master` is the only branch with good trials, so there is nothing to compare; sweep with"
        in message
    )


def test_a_baseline_that_failed_everywhere_is_named_with_those_that_could_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sweep(
        tmp_path, fails=lambda branch, *_: "crash" if branch == "master" else None, sequential=False
    )
    message = refused(capsys, "compare", str(folder))
    assert "baseline `master` has no trial; choose one with `--baseline`: packed" in message


def test_a_manifest_without_a_baseline_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sweep(tmp_path, twin=False)
    change_manifest(folder, branches=[])
    message = refused(capsys, "compare", str(folder))
    assert "no branch is the baseline; choose one with `--baseline`: master, packed" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_a_sweep_whose_every_trial_failed_says_so_or_has_no_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    folder = sweep(tmp_path, fails=lambda *_: "timeout", sequential=False)
    code = main([command[0], str(folder), *command[1:]])
    captured = capsys.readouterr()
    if code == 0:
        assert "0 good trials" in captured.err
    else:
        assert code == 2
        assert captured.err.startswith("error: ")


def test_the_ledger_of_a_failed_sweep_counts_every_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sweep(tmp_path, fails=lambda *_: "timeout", sequential=False)
    assert main(["table", str(folder), "ledger"]) == 0
    assert "trials,failed: timeout,packed,10,10" in capsys.readouterr().out


def test_a_sweep_without_claims_says_where_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "table", str(sweep(tmp_path)), "claims")
    assert (
        "manifest.json: no branch claims anything; give branches `claims` in branches.toml"
        in message
    )


def test_a_merged_sweep_of_two_machines_says_what_mixes_them(tmp_path: Path) -> None:
    folder = sweep(tmp_path)
    shards = [{"shard": {"number": number, "of": 2}, "host": f"host{number}"} for number in (1, 2)]
    change_manifest(folder, shards=shards, host="2-hosts")
    for number, cpus in ((1, 4), (2, 8)):
        own = folder / f"shards/{number}-of-2"
        own.mkdir(parents=True)
        (own / "host.json").write_text(json.dumps({"id": f"host{number}", "cpus_usable": cpus}))
    notes = read_sweep(folder).notes
    assert any("Trials of 2 machines (host1, host2) were merged" in note for note in notes)
    assert any("different numbers of CPUs (4, 8)" in note for note in notes)


def test_shards_of_one_machine_need_no_warning(tmp_path: Path) -> None:
    folder = sweep(tmp_path)
    change_manifest(folder, shards=[{"host": "madeup"}, {"host": "madeup"}])
    assert read_sweep(folder).notes == []


def test_files_of_two_machines_in_one_folder_are_noted(tmp_path: Path) -> None:
    folder = sweep(tmp_path)
    change_manifest(folder, host="another")
    (note,) = read_sweep(folder).notes
    assert "host.json describes machine madeup, but the sweep was begun on another" in note
