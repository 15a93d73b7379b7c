"""The 2022 study's files are read like a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweep_analysis.__main__ import main
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.study import read_study
from sweep_analysis.stats.speedup import speedups, trial_times


def test_speed_ups_follow_from_the_files_names_and_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for branch, threads, ms in (
        ("sequential", 1, 80),
        ("master", 1, 100),
        ("master", 2, 50),
        ("split-counters-no-jec", 1, 80),
        ("split-counters-no-jec", 2, 40),
    ):
        runs = [f"{name},{ms * it}" for name in ("QuickSort", "TSP") for it in (0.99, 1.0, 1.02)]
        file = tmp_path / f"speedup-{branch}-{threads}-threads.csv"
        file.write_text("\n".join(["name,time_ms", *runs]) + "\n")
    sweep = read_study(tmp_path)
    assert (sweep.branches, sweep.baseline) == (["master", "split-counters-no-jec"], "master")
    found = speedups(trial_times(sweep), sweep.baseline).filter(
        workload="TSP", branch="split-counters-no-jec", threads=2
    )
    told = dict(found.select("definition", "speedup").rows())
    assert told == pytest.approx({"own": 2.0, "baseline": 2.5, "sequential": 2.0})
    assert main(["table", str(tmp_path), "speedups"]) == 0
    assert "branches ran one after another" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"algorithm,time_ns\nTSP,1\n", "its columns are .*write CSV"),
        (b"name,time\nTSP,1\n", "its columns are"),
        (b"name,time_ns,time_s\nTSP,7,8\n", "its columns are"),
        (b"name,program,time_ns\nTSP,sequential,7\n", "its columns are"),
        (b"name;time_s\nTSP;5\n", "its columns are"),
        (b"name,time_ns\nTSP,1\nTSP,-3\n", "csv:3: a row needs .* 'TSP' and '-3'"),
        (b"name,time_ns\nTSP,1\nTSP,fast\n", "csv:3: .* 'fast'"),
        (b"name,time_ns\nTSP,1\nTSP,NaN\n", "csv:3: .* 'NaN'"),
        (b"name,time_ns\nTSP,1\n,7\n", "csv:3: .* and '7'"),
        (b"name,time_ns\nTSP,1\nTSP\n", "csv:3: .* 'TSP' and None"),
        (b"name,time_s\nTSP,0,5\n", "cannot be read .*points in numbers"),
        (b"name;time_s\nTSP;0,5\n", "cannot be read .*separated by `;`"),
        (b"name,time_ns\nT\x1b[2JSP,7\n", "csv:2: a row needs a name"),
        (b"", "cannot be read"),
        (b"name,time_ns\n\n\n", "it has no runs; export it again"),
        (b"name,time_ns\nT\xe9,7\n", "cannot be read .*UTF-8"),
    ],
)
def test_a_file_in_another_form_is_refused_with_its_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "speedup-master-2-threads.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_study(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"name,time_ns\r\n\r\nTSP,7\r\n\r\n",
        b"name, time_ns\nTSP, 7",
        b'\xef\xbb\xbf"name","time_ns"\n"TSP","7"\n',
    ],
)
def test_blank_lines_and_quotes_change_no_run(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "speedup-master-1-threads.csv").write_bytes(content)
    sweep = read_study(tmp_path)
    assert sweep.iterations.collect()["elapsed_ns"].to_list() == [7]
    assert sweep.trials.collect()["workload"].to_list() == ["TSP"]


@pytest.mark.parametrize("name", ["speedup-master.csv", "speedup-master-0-threads.csv"])
def test_a_file_whose_name_has_no_branch_or_threads_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_text("name,time_ns\nTSP,1\n")
    assert main(["table", str(tmp_path), "speedups"]) == 2
    assert "the name is not" in capsys.readouterr().err
