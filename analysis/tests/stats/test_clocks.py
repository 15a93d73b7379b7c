"""The measured clock of a sweep."""

from __future__ import annotations

from typing import Any

import synthetic
from sweep_analysis.read.load import Sweep
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


def changed(trials: int, *clocks: tuple[float | None, float | None]) -> Sweep:
    """Trials of one configuration at 3 GHz; the first trials have other clocks before and after."""
    truth = synthetic.Truth(
        branches=["master"],
        workloads={"tsp": 0.1},
        threads=[4],
        trials=trials,
        twin=False,
        sequential=False,
        modes={"dynamic": {4: 3.0}},
    )

    def change(record: dict[str, Any]) -> None:
        if record["replicate"] < len(clocks):
            record["ghz_before"], record["ghz_after"] = clocks[record["replicate"]]

    return synthetic.swept(truth, change)


def test_a_trial_without_a_measured_clock_is_counted_as_such() -> None:
    (row,) = clocks(changed(3, (None, None), (3.4, None))).collect().rows(named=True)
    assert (row["trials"], row["unmeasured"], row["ghz_low"], row["ghz_high"]) == (2, 1, 3.0, 3.4)


def test_cycles_are_time_at_the_mean_of_the_clocks_before_and_after() -> None:
    (row,) = trial_times(changed(1, (3.0, 2.0))).collect().rows(named=True)
    assert row["cycles_per_unit"] == 2.5 * row["ns_per_unit"]
