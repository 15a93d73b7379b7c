"""The commands: what they print, and how they fail."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import made_up
from sweep_analysis.__main__ import main
from sweep_analysis.read import load
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import read_sweep
from sweep_analysis.say.cautions import cautions
from sweep_analysis.stats.analysis import analyse


def test_speedup_prints_csv_of_the_default_definition(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["speedup", str(ordinary_sweep)]) == 0
    frame = pl.read_csv(io.StringIO(capsys.readouterr().out))
    assert set(frame["definition"]) == {"sequential"}
    assert frame.height == 2 * 4 * 11


def test_compare_prints_verdicts_as_markdown(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(ordinary_sweep), "--level", "workload", "--format", "md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    faster = [line for line in lines if line.endswith("| faster |")]
    assert len(faster) == 1
    assert "| split-counters-cache-padded |" in faster[0]


def test_compare_as_json_adds_the_cautions(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(ordinary_sweep), "--level", "pooled", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["level"] for row in found["comparisons"]} == {"workload", "threads", "overall"}
    assert {row["panel"] for row in found["comparisons"] if row["level"] == "overall"} == {None}
    assert [row["branch"] for row in found["comparisons"] if row["verdict"] == "faster"]
    assert found["cautions"] == cautions(analyse(read_sweep(ordinary_sweep)))


def test_compare_takes_another_baseline(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(ordinary_sweep), "--baseline", "packed", "--level", "overall"]) == 0
    frame = pl.read_csv(io.StringIO(capsys.readouterr().out))
    verdicts = dict(zip(frame["branch"], frame["verdict"], strict=True))
    assert "packed" not in verdicts
    assert verdicts["master"] != "not judged"


def test_compare_takes_cpu_time_instead_of_wall_time(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios = []
    for quantity in ("time", "cpu"):
        assert (
            main(["compare", str(ordinary_sweep), "--level", "overall", "--quantity", quantity])
            == 0
        )
        frame = pl.read_csv(io.StringIO(capsys.readouterr().out))
        ratios.append(
            dict(
                zip(
                    frame["branch"],
                    zip(frame["time_ratio"], frame["cpu_ratio"], strict=True),
                    strict=True,
                )
            )
        )
    by_time, by_cpu = ratios
    assert by_cpu["packed"][0] == pytest.approx(by_time["packed"][1], rel=1e-9)


def test_an_unknown_baseline_is_refused_with_the_known_ones(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(ordinary_sweep), "--baseline", "main"]) == 2
    message = capsys.readouterr().err
    assert "baseline `main` has no trial; choose one with `--baseline`: master, packed," in message


@pytest.mark.parametrize("form", ["csv", "parquet", "md"])
def test_export_writes_the_tables_alone(ordinary_sweep: Path, tmp_path: Path, form: str) -> None:
    assert main(["export", str(ordinary_sweep), "--output", str(tmp_path), "--format", form]) == 0
    names = {"trials", "speedups", "comparisons", "comparisons-cpu", "failures", "events", "lines"}
    names |= {"latencies", "clocks", "residuals", "claims", "costs", "outliers", "ledger"}
    names |= {
        "places",
        "claim-details",
        "outlier-shares",
        "modes",
        "placements",
        "spent",
        "line-waits",
        "sensitivity",
    }
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.{form}" for name in names} | {
        "provenance.json"
    }
    told = json.loads((tmp_path / "provenance.json").read_text())
    assert set(told["rows"]) == names
    assert told["host"]["cpu"] == "Made-up CPU"


def test_bad_input_ends_with_code_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "absent"), "--output", str(tmp_path / "report")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "report").exists()


def test_a_definition_without_reference_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "speedup-master-2-threads.csv").write_text("name,time_ns\nTSP,100\n")
    assert main(["speedup", str(tmp_path), "--layout", "study"]) == 2
    assert "no speed-up against the sequential program" in capsys.readouterr().err


def test_the_study_layout_gets_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "12-07-2022"
    folder.mkdir()
    for branch, factor in (("sequential", 80), ("master", 50), ("split-counters", 45)):
        for threads in (1, 2):
            rows = [f"TSP,{factor + run}" for run in range(5)]
            (folder / f"speedup-{branch}-{threads}-threads.csv").write_text(
                "\n".join(["name,time", *rows]) + "\n"
            )
    output = tmp_path / "report"
    assert (
        main(
            [
                "report",
                str(folder),
                "--layout",
                "study",
                "--time-unit",
                "ms",
                "--output",
                str(output),
            ]
        )
        == 0
    )
    captured = capsys.readouterr()
    assert captured.out == f"{output / 'index.html'}\n"
    assert "branches ran one after another" in captured.err
    assert (output / "figures/speedup-sequential.svg").exists()


def test_an_output_that_cannot_be_written_is_told_in_one_line(
    ordinary_sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file, not a folder")
    assert main(["export", str(ordinary_sweep), "--output", str(taken)]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {taken}: ")
    assert captured.err.count("\n") == 1


TABLES = {"speedup": "speedups", "compare": "comparisons"} | {
    f"table {name}": name for name in ("claims", "costs", "outliers", "modes", "ledger", "events")
}
"""Every command that prints a table, and what its rows are called in JSON."""


@pytest.fixture(scope="module")
def full_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sweep that every command has something to say about."""
    truth = made_up.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        cpus=8,
        counts={"packed": {"pushes": 1}},
        modes={"dynamic": {1: 3.0, 2: 2.9, 4: 2.8, 8: 2.7}},
    )
    folder = made_up.write_sweep(tmp_path_factory.mktemp("full") / "sweep", truth)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["branches"][1]["claims"] = [{"expect": "equal"}]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize("command", TABLES)
def test_every_table_is_printed_in_every_format_and_says_where_it_is_from(
    full_sweep: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    printed, words = {}, command.split()
    for form in ("csv", "md", "json"):
        assert main([words[0], str(full_sweep), *words[1:], "--format", form]) == 0
        printed[form] = capsys.readouterr()
    found = json.loads(printed["json"].out)
    rows = found[TABLES[command]]
    assert found["provenance"]["rows"] == len(rows)
    assert found["provenance"]["host"]["cpu"] == "Made-up CPU"
    assert pl.read_csv(io.StringIO(printed["csv"].out)).height == len(rows)
    assert printed["md"].out.count("\n| ") == len(rows) + 1
    for text in (printed["csv"].err, printed["md"].out):
        assert "Made-up CPU with 8 CPUs" in text
        assert "clock uncontrolled" in text


@pytest.mark.parametrize("quantity", ["time", "cpu", "cycles"])
def test_speedups_and_comparisons_come_in_three_quantities(
    full_sweep: Path, capsys: pytest.CaptureFixture[str], quantity: str
) -> None:
    for command in ("speedup", "compare"):
        assert main([command, str(full_sweep), "--quantity", quantity, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)[TABLES[command]]


def test_a_quantity_that_was_not_measured_is_refused(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(ordinary_sweep), "--quantity", "cycles"]) == 2
    assert (
        "no trial has the quantity `cycles`; sweep again with a runner that measures"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("lol=2", "`costs` has no column `lol`; it has "),
        ("threads=3", "no row of `costs` has `threads=3`; it is 1, 2, 4, 8"),
    ],
)
def test_a_condition_that_no_row_can_meet_names_what_there_is(
    full_sweep: Path, capsys: pytest.CaptureFixture[str], condition: str, told: str
) -> None:
    assert main(["table", str(full_sweep), "costs", "--where", condition]) == 2
    assert told in capsys.readouterr().err


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
    with pytest.raises(InputError, match="several sweeps begin so"):
        load.find_sweep(Path("swe"), sweeps)


def test_show_prints_rows_as_data_and_for_a_page_what_they_show(
    ordinary_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(ordinary_sweep), "--format", "csv"]) == 0
    csv = pl.read_csv(io.StringIO(capsys.readouterr().out))
    assert main(["show", str(ordinary_sweep), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert csv.columns == list(rows[0])
    assert csv.height == len(rows) == 2 * (1 + 4 * 11)
    assert main(["show", str(ordinary_sweep), "--format", "json", "--judgement"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == rows
    assert "split-counters-cache-padded takes" in found["judgement"]


def test_a_sweep_with_broken_lines_is_shown_without_them_and_nothing_else_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = made_up.Truth(branches=["master"], twin=False, threads=[1], trials=3)
    folder = made_up.write_sweep(tmp_path / "broken", truth)
    assert main(["show", str(folder)]) == 0
    whole = capsys.readouterr().out
    first, rest = (folder / "trials.jsonl").read_text().split("\n", 1)
    (folder / "trials.jsonl").write_text(f"{first}\nhello\n{first}\n{rest}")
    assert main(["show", str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.out == whole
    assert "2 lines of trials.jsonl are no record" in shown.err
    assert "`cargo runner repair broken`" in shown.err
    assert main(["speedup", str(folder)]) == 2


def test_a_reader_that_has_enough_is_no_failure(ordinary_sweep: Path) -> None:
    command = [sys.executable, "-m", "sweep_analysis", "show", str(ordinary_sweep)]
    source = {"PYTHONPATH": str(Path(made_up.__file__).parents[1] / "src")}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(  # noqa: S603
        command, stdout=writer, stderr=subprocess.PIPE, env=os.environ | source, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
