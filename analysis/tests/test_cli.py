"""Tests what the commands print, and how they fail."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import synthetic
from sweep_analysis.__main__ import main
from sweep_analysis.read import load
from sweep_analysis.read.errors import InputError
from sweep_analysis.stats.analysis import FRAMES

Captured = pytest.CaptureFixture[str]


def printed(capsys: Captured, *arguments: str) -> pl.DataFrame:
    assert main([*arguments, "--format", "csv"]) == 0
    return pl.read_csv(io.StringIO(capsys.readouterr().out))


def refused(capsys: Captured, *arguments: str) -> str:
    """The message of a command that must exit with 2 and print only this message, in one line."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def sweep(folder: Path, **truth: Any) -> Path:  # noqa: ANN401 - fields of `Truth`
    small = {"branches": ["master", "packed"], "workloads": {"tsp": 0.1}, "threads": [1, 2]}
    return synthetic.write_sweep(folder / "sweep", synthetic.Truth(**small | truth))


@pytest.fixture(scope="module")
def full_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    modes = {"dynamic": {1: 3.0, 2: 2.9}}
    counts = {"packed": {"pushes": 1}}
    folder = sweep(tmp_path_factory.mktemp("full"), cpus=8, modes=modes, counts=counts)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["branches"][1]["claims"] = [{"expect": "equal"}]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_the_table_of_comparisons_has_results_and_takes_another_baseline(
    ordinary_sweep: Path, capsys: Captured
) -> None:
    table = ("table", str(ordinary_sweep), "comparisons", "--where", "level=workload")
    rows = printed(capsys, *table)
    assert set(rows["quantity"]) == {"time", "cpu"}
    assert set(rows["baseline"]) == {"master"}
    (faster,) = rows.filter(verdict="faster", quantity="time").rows(named=True)
    assert (faster["branch"], faster["workload"]) == ("split-counters-cache-padded", "tsp")
    assert main([*table, "--format", "md"]) == 0
    assert "| faster | −" in capsys.readouterr().out
    other = printed(capsys, *table, "--baseline", "packed")
    assert "packed" not in other["branch"]
    assert "not tested" not in other.filter(branch="master")["verdict"]


def test_what_cannot_be_compared_is_refused_with_what_can(
    tmp_path: Path, ordinary_sweep: Path, capsys: Captured
) -> None:
    def told(folder: Path, *words: str) -> str:
        return refused(capsys, "table", str(folder), "comparisons", *words)

    assert "in a block with `main`; choose another `--baseline`: master, packed," in told(
        ordinary_sweep, "--baseline", "main"
    )
    assert "`--baseline`: master\n" in told(sweep(tmp_path / "a", branches=["master"], twin=False))
    crashed = sweep(
        tmp_path / "b",
        fails=lambda branch, *_: "crash" if branch == "master" else None,
        sequential=False,
    )
    assert "in a block with `master`; choose another `--baseline`: packed" in told(crashed)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_export_writes_the_tables_alone(full_sweep: Path, tmp_path: Path, form: str) -> None:
    assert main(["export", str(full_sweep), "--output", str(tmp_path), "--format", form]) == 0
    files = {file.name for file in tmp_path.iterdir()}
    assert files == {f"{name}.{form}" for name in FRAMES} | {"provenance.json"}
    told = json.loads((tmp_path / "provenance.json").read_text())
    assert set(told["rows"]) == set(FRAMES)
    assert told["host"]["cpu"] == "Made-up CPU"


@pytest.mark.parametrize(
    "name", ["calibration", "claims", "comparisons", "costs", "ledger", "events"]
)
def test_every_table_is_printed_in_every_format_and_says_where_it_is_from(
    full_sweep: Path, capsys: Captured, name: str
) -> None:
    by_form = {}
    for form in ("csv", "md", "json"):
        assert main(["table", str(full_sweep), name, "--format", form]) == 0
        by_form[form] = capsys.readouterr()
    found = json.loads(by_form["json"].out)
    rows = found[name]
    assert found["provenance"]["rows"] == len(rows)
    assert found["provenance"]["host"]["cpu"] == "Made-up CPU"
    assert pl.read_csv(io.StringIO(by_form["csv"].out)).height == len(rows)
    assert by_form["md"].out.count("\n| ") == len(rows) + 1
    for text in (by_form["csv"].err, by_form["md"].out):
        assert "Made-up CPU with 8 CPUs" in text
        assert "clock uncontrolled" in text


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("lol=2", "`costs` has no column `lol`; it has "),
        ("threads=3", "no row of `costs` has `threads=3`; it is 1, 2"),
    ],
)
def test_a_condition_that_no_row_can_meet_names_what_there_is(
    full_sweep: Path, capsys: Captured, condition: str, told: str
) -> None:
    assert told in refused(capsys, "table", str(full_sweep), "costs", "--where", condition)


def test_a_table_without_rows_says_how_to_get_some(ordinary_sweep: Path, capsys: Captured) -> None:
    for name, told in (
        (
            "claims",
            "manifest.json: no branch has a pre-registered hypothesis; give branches `claims` in branches",
        ),
        ("events", "no trial of an instrumented build; sweep again with `--instrument`"),
        ("line-waits", "it was measured, not simulated; sweep with `--machine NAME`"),
    ):
        assert told in refused(capsys, "table", str(ordinary_sweep), name)


def test_a_sweep_is_found_by_its_name_and_by_being_the_newest(full_sweep: Path) -> None:
    sweeps = full_sweep.parent
    assert load.find_sweep(Path("sweep"), sweeps) == full_sweep
    assert load.find_sweep(Path("latest"), sweeps) == full_sweep
    assert load.find_sweep(Path("swe"), sweeps) == full_sweep
    with pytest.raises(InputError, match=r"no sweep of that name; the newest in .*: sweep"):
        load.find_sweep(Path("swep"), sweeps)
    (sweeps / "sweeper").mkdir()
    (sweeps / "sweeper" / "manifest.json").touch()
    assert load.find_sweep(Path("latest"), sweeps) == sweeps / "sweeper"
    with pytest.raises(InputError, match="several sweeps have this beginning"):
        load.find_sweep(Path("swe"), sweeps)


def test_show_prints_rows_as_data(ordinary_sweep: Path, capsys: Captured) -> None:
    csv = printed(capsys, "show", str(ordinary_sweep))
    assert main(["show", str(ordinary_sweep), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert csv.columns == list(found[0])
    assert csv.height == len(found) == 2 * (1 + 4 * 11)


def test_every_command_calls_the_format_of_a_document_md(
    ordinary_sweep: Path, capsys: Captured
) -> None:
    for words in (["show", str(ordinary_sweep)], ["table", str(ordinary_sweep), "comparisons"]):
        assert main([*words, "--format", "md"]) == 0
        assert "\n| ---" in capsys.readouterr().out
        with pytest.raises(SystemExit):
            main([*words, "--format", "markdown"])
        assert "invalid choice: 'markdown'" in capsys.readouterr().err


def test_broken_records_are_left_out_by_show_and_refused_by_everything_else(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = sweep(tmp_path, threads=[1], trials=3)
    file = folder / "trials.jsonl"
    assert main(["show", str(folder)]) == 0
    shown, text = capsys.readouterr().out, file.read_text()
    first, rest = text.split("\n", 1)
    file.write_text(f"{first}\nhello\n{first}\n{rest}")
    assert main(["show", str(folder)]) == 0
    again = capsys.readouterr()
    assert again.out == shown
    assert "2 lines of trials.jsonl are not records" in again.err
    assert "`cargo runner sweep --resume sweep`" in again.err
    for broken, told in (
        (f"{first}\nhello\n{rest}", "trials.jsonl:2: not a record"),
        ("", "trials.jsonl: no trial was recorded; run the sweep, or resume it"),
        (text.replace('"schema": 1', '"schema": 0'), "trials.jsonl:1: field `schema` is 0"),
    ):
        file.write_text(broken)
        assert told in refused(capsys, "table", str(folder), "costs")
    file.write_text(text[:-25])
    assert main(["table", str(folder), "costs"]) == 0
    assert "note: The last line of trials.jsonl" in capsys.readouterr().err


def test_a_sweep_whose_every_trial_failed_says_so_in_its_ledger_and_has_no_rows_else(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = sweep(tmp_path, fails=lambda *_: "timeout", sequential=False)
    assert main(["table", str(folder), "ledger"]) == 0
    captured = capsys.readouterr()
    assert "trials,failed: timeout,packed,10,10" in captured.out
    assert "0 good trials" in captured.err
    for name in ("costs", "speedups"):
        assert main(["table", str(folder), name]) == 0


def test_bad_input_and_an_unwritable_output_are_reported_in_one_line(
    ordinary_sweep: Path, tmp_path: Path, capsys: Captured
) -> None:
    refused(capsys, "report", str(tmp_path / "absent"), "--output", str(tmp_path / "report"))
    assert not (tmp_path / "report").exists()
    taken = tmp_path / "taken"
    taken.write_text("a file, not a folder")
    assert main(["export", str(ordinary_sweep), "--output", str(taken)]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {taken}: ")
    assert captured.err.count("\n") == 1


def test_a_folder_whose_name_is_no_text_is_shown_in_any_encoding(
    ordinary_sweep: Path, tmp_path: Path
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/sweep-\xff"))
    folder.symlink_to(ordinary_sweep)
    source = {"PYTHONPATH": str(Path(synthetic.__file__).parents[1] / "src")}
    for words in (["table", folder, "speedups", "--format", "md"], ["show", folder]):
        command = [sys.executable, "-m", "sweep_analysis", *words]
        done = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            env=os.environ | source | {"PYTHONIOENCODING": "ascii"},
            check=False,
        )
        assert (done.returncode, done.stdout.isascii()) == (0, True)
        assert b"Traceback" not in done.stderr


def test_a_reader_that_has_enough_is_no_failure(ordinary_sweep: Path) -> None:
    command = [sys.executable, "-m", "sweep_analysis", "show", str(ordinary_sweep)]
    source = {"PYTHONPATH": str(Path(synthetic.__file__).parents[1] / "src")}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(  # noqa: S603
        command, stdout=writer, stderr=subprocess.PIPE, env=os.environ | source, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
