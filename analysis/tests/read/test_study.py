"""The 2022 study's files are read like a sweep."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algorithm,time_ns\nTSP,1\n", "its columns are"),
        ("name,time\nTSP,1\n", "its columns are"),
        ("name,time_ns\nTSP,1\nTSP,-3\n", "csv:3: .*`time_ns` is -3"),
        ("name,time_ns\nTSP,1\nTSP,fast\n", "csv:3: .*`time_ns` is 'fast'"),
        ("", "not a CSV file"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, "master", 2, text)
    with pytest.raises(InputError, match=message):
        read_study(tmp_path)
