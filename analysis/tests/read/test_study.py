"""The 2022 study's layout: what is read from it, and how it is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.study import read_study
from sweep_analysis.stats.speedup import speedups, trial_times


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Quicksort and TSP: 80 ms sequential.

    The pool halves it with two threads, the split branch does better.
    """
    dated = tmp_path / "12-07-2022"
    dated.mkdir()

    def write(branch: str, threads: int, milliseconds: float) -> None:
        runs = [
            f"{name},{milliseconds * factor}"
            for name in ("QuickSort", "TSP")
            for factor in (0.99, 1.0, 1.02)
        ]
        lines = ["name,time_ms", *runs]
        (dated / f"speedup-{branch}-{threads}-threads.csv").write_text("\n".join(lines) + "\n")

    write("sequential", 1, 80)
    for threads, elapsed in ((1, 100), (2, 50)):
        write("master", threads, elapsed)
        write("split-counters-no-jec", threads, elapsed * 0.8)
    return dated


def test_branch_and_threads_come_from_the_file_name(folder: Path) -> None:
    sweep = read_study(folder)
    assert sweep.branches == ["master", "split-counters-no-jec"]
    assert sweep.baseline == "master"
    trials = sweep.trials.filter(pl.col("program") == "parallel").collect()
    assert set(trials.select("branch", "threads").unique().rows()) == {
        ("master", 1),
        ("master", 2),
        ("split-counters-no-jec", 1),
        ("split-counters-no-jec", 2),
    }
    assert set(trials["workload"]) == {"QuickSort", "TSP"}


def test_speed_ups_follow_from_the_times(folder: Path) -> None:
    sweep = read_study(folder)
    frame = speedups(trial_times(sweep), sweep.baseline).filter(
        pl.col("workload") == "TSP",
        pl.col("branch") == "split-counters-no-jec",
        pl.col("threads") == 2,
    )
    found = dict(frame.select("definition", "speedup").rows())
    assert found == pytest.approx({"own": 2.0, "baseline": 2.5, "sequential": 2.0})


def test_a_column_program_marks_the_sequential_reference(tmp_path: Path) -> None:
    rows = ["name,program,time_s", "TSP,sequential,0.06", "TSP,parallel,0.04"]
    (tmp_path / "speedup-master-2-threads.csv").write_text("\n".join(rows) + "\n")
    sweep = read_study(tmp_path)
    frame = speedups(trial_times(sweep), sweep.baseline)
    assert frame.select("definition", "speedup").rows() == [("sequential", pytest.approx(1.5))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("speedup-master.csv", "name,time_ns\nTSP,1\n", "the name is not"),
        ("speedup-master-0-threads.csv", "name,time_ns\nTSP,1\n", "the name is not"),
        ("speedup-master-2-threads.csv", "algorithm,time_ns\nTSP,1\n", "no column `name`"),
        ("speedup-master-2-threads.csv", "name,elapsed\nTSP,1\n", "no column of times"),
        (
            "speedup-master-2-threads.csv",
            "name,time_ns,time_s\nTSP,1,2\n",
            "several columns of times",
        ),
        (
            "speedup-master-2-threads.csv",
            "name,time\nTSP,1\n",
            "`time` has no unit; give `--time-unit`",
        ),
        (
            "speedup-master-2-threads.csv",
            "name,time_ns\nTSP,1\nTSP,-3\n",
            "csv:3: .*`time_ns` is -3",
        ),
        (
            "speedup-master-2-threads.csv",
            "name,time_ns\nTSP,1\nTSP,fast\n",
            "csv:3: .*`time_ns` is 'fast'",
        ),
        ("speedup-master-2-threads.csv", "name,program,time_ns\nTSP,both,1\n", "`program` is"),
        ("speedup-master-2-threads.csv", "", "not a CSV file"),
        (
            "speedup-master-2-threads.csv",
            "name,time_ns\nTSP,1\nTSP,NaN\n",
            "csv:3: .*`time_ns` is nan; every row needs a name and a positive time",
        ),
        ("speedup-master-2-threads.csv", "name,time_ns\n\nTSP,inf\n", "csv:3: .*`time_ns` is inf"),
        (
            "speedup-master-2-threads.csv",
            "name,time_s\nTSP,1e12\n",
            "csv:2: .*`time_s` is 1000000000000",
        ),
        ("speedup-master-2-threads.csv", "name,time_ns\n", "csv: it has a header and no runs; "),
        (
            "speedup-master-2-threads.csv",
            "name,time_ns\n\n\n",
            "csv: it has a header and no runs; ",
        ),
        (
            "speedup-master-2-threads.csv",
            "name;time_s\nTSP;0,5\n",
            "separated by semicolons: 'name;time_s'; export it with commas between columns",
        ),
        ("speedup-master-2-threads.csv", "name\ttime_s\nTSP\t0.5\n", "separated by tabs"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_study(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name,time_ns\nT\0SP,7\n", r"csv:2: a NUL byte in .*: export it again"),
        ("name,time_ns\nTSP,7\n".encode("utf-16"), "csv: it is text in UTF-16; export it as UTF-8"),
        ("name,time_ns\nTSP,7\n".encode("utf-16-be"), "csv: it is text in UTF-16"),
        (b"name,time_ns\nT\xe9,7\n", "csv:2: .* is not UTF-8; export it as UTF-8"),
        (b'name,time_ns\nTSP,6\n"TSP,7\nX,8\n', "csv:3: a quote is never closed: .*close it"),
        (b"'name','time_ns'\n'TSP',7\n", "header has quotes .*'name'.*; write names .* without"),
        (b'"name,time_ns"\n"TSP,7"\n', "header has quotes .*'name,time_ns'; write names"),
        (b"name,time_ns,time_ns\nTSP,7,8\n", "column `time_ns` is there twice; keep one"),
    ],
)
def test_what_is_no_csv_text_in_utf_8_is_named_with_its_line_and_a_remedy(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "speedup-master-1-threads.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_study(tmp_path)


def test_names_and_numbers_in_quotes_are_read(tmp_path: Path) -> None:
    (tmp_path / "speedup-master-1-threads.csv").write_text('"name","time_ns"\n"TSP","7"\n')
    assert read_study(tmp_path).iterations.collect()["elapsed_ns"].to_list() == [7]


@pytest.mark.parametrize(
    "text",
    ["name,time_ns\nTSP,7\n\n\n", "name,time_ns\r\n\r\nTSP,7\r\n\r\n", "name,time_ns\nTSP,7\n,\n"],
)
def test_blank_lines_are_no_runs(tmp_path: Path, text: str) -> None:
    (tmp_path / "speedup-master-1-threads.csv").write_bytes(text.encode())
    assert read_study(tmp_path).iterations.collect()["elapsed_ns"].to_list() == [7]


def test_a_folder_without_such_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file `speedup-<branch>"):
        read_study(tmp_path)


def test_a_given_unit_is_used(tmp_path: Path) -> None:
    (tmp_path / "speedup-master-1-threads.csv").write_text("name,time\nTSP,2.5\n")
    assert read_study(tmp_path, "us").iterations.collect()["elapsed_ns"].to_list() == [2500]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_called_like_a_file_is_named(
    folder: Path, make: Callable[[Path], None]
) -> None:
    make(folder / "speedup-odd-1-threads.csv")
    with pytest.raises(InputError, match=r"speedup-odd-1-threads\.csv: it is no regular file"):
        read_study(folder)
