"""The measured clock of a sweep."""

from __future__ import annotations

import json
from pathlib import Path

import synthetic
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.clocks import clocks
from sweep_analysis.stats.speedup import trial_times


def test_each_mode_and_thread_count_has_its_clock() -> None:
    modes = {"fixed": {1: 2.0, 4: 2.0}, "dynamic": {1: 3.5, 4: 3.0}}
    truth = synthetic.Truth(
        branches=["master"], workloads={"tsp": 0.1}, threads=[1, 4], trials=2, modes=modes
    )
    found = clocks(synthetic.swept(truth)).collect()
    assert found.select("mode", "freq_state", "threads", "trials", "ghz").rows() == [
        ("dynamic", "uncontrolled", 1, 6, 3.5),  # the sequential program has one thread, too
        ("dynamic", "uncontrolled", 4, 4, 3.0),
        ("fixed", "fixed-verified", 1, 6, 2.0),
        ("fixed", "fixed-verified", 4, 4, 2.0),
    ]


def test_a_trial_without_a_measured_clock_is_counted_as_such(tmp_path: Path) -> None:
    truth = synthetic.Truth(
        branches=["master"],
        workloads={"tsp": 0.1},
        threads=[4],
        trials=3,
        twin=False,
        modes={"dynamic": {4: 3.0}},
    )
    folder = synthetic.write_sweep(tmp_path / "sweep", truth)
    lines = (folder / "trials.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines if '"parallel"' in line]
    records[0] |= {"ghz_before": None, "ghz_after": None}
    records[1] |= {"ghz_before": 3.4, "ghz_after": None}
    (folder / "trials.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (row,) = clocks(read_sweep(folder)).collect().rows(named=True)
    assert (row["trials"], row["unmeasured"], row["ghz_low"], row["ghz_high"]) == (2, 1, 3.0, 3.4)


def test_cycles_are_time_at_the_mean_of_the_clocks_before_and_after(tmp_path: Path) -> None:
    truth = synthetic.Truth(
        branches=["master"],
        workloads={"tsp": 0.1},
        threads=[2],
        trials=1,
        twin=False,
        modes={"dynamic": {2: 3.0}},
    )
    folder = synthetic.write_sweep(tmp_path / "sweep", truth)
    lines = (folder / "trials.jsonl").read_text().splitlines()
    (record,) = (json.loads(line) for line in lines if '"parallel"' in line)
    record |= {"ghz_before": 3.0, "ghz_after": 2.0}
    (folder / "trials.jsonl").write_text(json.dumps(record) + "\n")
    (row,) = trial_times(read_sweep(folder)).collect().rows(named=True)
    assert row["cycles_per_unit"] == 2.5 * row["ns_per_unit"]
