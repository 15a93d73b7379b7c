"""The 2022 study's files are read like a sweep."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sweep_analysis.__main__ import main
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.study import read_study
from sweep_analysis.stats.speedup import speedups, trial_times


def write(folder: Path, branch: str, threads: int, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"speedup-{branch}-{threads}-threads.csv").write_text(text)


def test_speed_ups_follow_from_the_files_names_and_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "12-07-2022"
    for branch, threads, ms in (
        ("sequential", 1, 80),
        ("master", 1, 100),
        ("master", 2, 50),
        ("split-counters-no-jec", 1, 80),
        ("split-counters-no-jec", 2, 40),
    ):
        runs = [f"{name},{ms * it}" for name in ("QuickSort", "TSP") for it in (0.99, 1.0, 1.02)]
        write(folder, branch, threads, "\n".join(["name,time_ms", *runs]) + "\n")
    sweep = read_study(folder)
    assert (sweep.branches, sweep.baseline) == (["master", "split-counters-no-jec"], "master")
    found = speedups(trial_times(sweep), sweep.baseline).filter(
        workload="TSP", branch="split-counters-no-jec", threads=2
    )
    told = dict(found.select("definition", "speedup").rows())
    assert told == pytest.approx({"own": 2.0, "baseline": 2.5, "sequential": 2.0})
    assert main(["table", str(folder), "speedups"]) == 0
    assert "branches ran one after another" in capsys.readouterr().err


LINE_3 = "csv:3: .* every row needs a name and a positive time"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"algorithm,time_ns\nTSP,1\n", "its columns are .*; it needs `name` and one of"),
        (b"name,time\nTSP,1\n", "its columns are .*; it needs `name` and one of"),
        (b"name,time_ns,time_ns\nTSP,7,8\n", "its columns are .* each once"),
        (b"name,name,time_ns\nTSP,X,8\n", "its columns are .* each once"),
        (b"name,time_ns,time_s\nTSP,7,8\n", "its columns are .* each once"),
        (b"name,time_ns\nTSP,1\nTSP,-3\n", "csv:3: .*`time_ns` is '-3'"),
        (b"name,time_ns\nTSP,1\nTSP,fast\n", "csv:3: .*`time_ns` is 'fast'"),
        (b"name,time_ns\nTSP,1\nTSP,NaN\n", "csv:3: .*`time_ns` is 'NaN'; every row"),
        (b"name,time_ns\n\nTSP,inf\n", LINE_3),
        (b"name,time_s\nTSP,1\nTSP,1e12\n", LINE_3),
        (b"name,time_ns\nTSP,1\n,7\n", LINE_3),
        (b"name,time_ns\nTSP,1\nTSP\n", "csv:3: .* has 1 values, and the header 2"),
        (b"name,time_s\nTSP,0,5\n", "csv:2: .* has 3 values, and the header 2; .* points"),
        (b"name,program,time_ns\nTSP,sequential,7\n", "csv: it has also the columns `program`"),
        (b",name,time_ns\n0,TSP,7\n", "csv: .*only `name` and `time_ns`"),
        (b"", "its columns are"),
        (b"name,time_ns\n", "csv: it has no runs; export it again"),
        (b"name,time_ns\n\n\n", "csv: it has no runs; export it again"),
        (b"name;time_s\nTSP;0,5\n", "separated by semicolons: 'name;time_s'; export .* commas"),
        (b"name\ttime_s\nTSP\t0.5\n", "separated by tabs"),
        (b"name,time_ns\nT\0SP,7\n", r"csv:2: a control character in 'T\\x00SP,7'"),
        (b"name,time_ns\nT\x1b[2JSP,7\n", r"csv:2: a control character in .*export it again"),
        ("name,time_ns\nTSP,7\n".encode("utf-16"), "csv: it is not text in UTF-8; export it as"),
        ("name,time_ns\nTSP,7\n".encode("utf-16-be"), "csv:1: a control .* export it .* UTF-8"),
        (b"name,time_ns\nT\xe9,7\n", "csv: it is not text in UTF-8; export it as UTF-8"),
        (b'name,time_ns\nTSP,6\n"TSP,7\nX,8\n', "csv:3: .*; close its quotes"),
        (b'name,time_ns\n"TSP"x,7\n', "csv:2: .*; close its quotes"),
        (b"'name','time_ns'\n'TSP',7\n", "its columns are .*'name'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "speedup-master-2-threads.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_study(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"name,time_ns\nTSP,7\n\n\n",
        b"name,time_ns\r\n\r\nTSP,7\r\n\r\n",
        b"name,time_ns\rTSP,7\r",
        b"name,time_ns\nTSP,7\n,\n",
        b"name, time_ns\nTSP, 7",
        b'\xef\xbb\xbf"name","time_ns"\n"TSP","7"\n',
    ],
)
def test_blank_lines_and_quotes_change_no_run(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "speedup-master-1-threads.csv").write_bytes(content)
    sweep = read_study(tmp_path)
    assert sweep.iterations.collect()["elapsed_ns"].to_list() == [7]
    assert sweep.trials.collect()["workload"].to_list() == ["TSP"]


def test_names_and_times_may_differ_in_form_in_every_file_and_late_in_one(tmp_path: Path) -> None:
    write(tmp_path, "master", 1, "name,time_ns\n" + "7,1\n" * 200 + "7,2.6\nTSP,3\n")
    write(tmp_path, "split", 1, "name,time_ns\n7,4\n")
    found = read_study(tmp_path).iterations.collect()["elapsed_ns"].to_list()
    assert found[199:] == [1, 3, 3, 4]


@pytest.mark.parametrize(
    "name",
    [
        "speedup-master.csv",
        "speedup-master-0-threads.csv",
        "speedup-master-99999999999999999999-threads.csv",
        "speedup-a\udcff-1-threads.csv",  # of bytes that are no text
        "speedup-a\x1b[2J-1-threads.csv",
    ],
)
def test_a_file_whose_name_has_no_branch_or_threads_is_not_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_text("name,time_ns\nTSP,1\n")
    assert main(["table", str(tmp_path), "speedups"]) == 2
    assert "the name is not" in capsys.readouterr().err


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_called_like_a_file_is_named(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "speedup-odd-1-threads.csv")
    with pytest.raises(InputError, match=r"speedup-odd-1-threads\.csv: it is not a regular file"):
        read_study(tmp_path)
