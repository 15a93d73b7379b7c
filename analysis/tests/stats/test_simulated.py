"""The time of simulated machines by activity, on synthetic sweeps."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.load import Sweep
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.compare import FASTER, LEAST_SIMULATED, UNCLEAR
from sweep_analysis.stats.simulated import (
    SPENT_ON,
    largest_threads,
    line_wait_rates,
    spent_shares,
)
from sweep_analysis.stats.speedup import with_time_outs

HOT = {"at": "src/a.rs:1:1", "written_at": "src/b.rs:2:2", "transfers": 30, "waited_ns": 3000}
COLD = {"at": "src/c.rs:3:3", "transfers": 10, "waited_ns": 1000}
NEVER = {"at": "src/d.rs:4:4", "transfers": 5, "waited_ns": 0}


def simulated(
    gain: float = 1.0,
    machine: str | None = "synthetic-8",
    fails: Callable[[str, str, int, int], str | None] = lambda *_: None,
) -> Sweep:
    truth = synthetic.Truth(
        branches=["packed", "split-counters"],
        workloads={"tsp": 0.1},
        threads=[1, 8],
        cpus=8,
        trials=7,
        trial_noise=0.002,
        block_noise=0.0,
        effects={("split-counters", "tsp"): gain},
        machine=machine,
        fails=fails,
        waits={"packed": [COLD, HOT, NEVER]},
    )
    return synthetic.swept(truth)


def test_shares_of_time_are_those_of_the_records_and_add_up_to_one() -> None:
    sweep = simulated()
    shares = spent_shares(sweep)
    assert set(shares["spent_on"]) <= set(SPENT_ON)
    packed = shares.filter(branch="packed", threads=8)
    by_name = dict(packed.select("spent_on", "share").rows())
    assert by_name == pytest.approx({"work": 0.75, "lines": 0.25}, rel=1e-6)
    totals = shares.group_by("branch", "threads").agg(pl.col("share").sum())["share"]
    assert totals.to_list() == pytest.approx([1.0] * 6)
    of_pool = analyse(sweep).times.filter(branch="packed", threads=8, program="parallel")
    mean = float(of_pool["ns_per_unit"].to_numpy().mean())
    assert packed["ns_per_unit"].sum() == pytest.approx(8 * mean, rel=0.01)


def test_lines_of_source_that_waited_come_with_the_longest_first() -> None:
    rates = line_wait_rates(simulated()).filter(threads=8)
    assert set(rates["branch"]) == {"packed"}
    assert rates["at"].to_list() == ["src/a.rs:1:1", "src/c.rs:3:3"]
    assert rates["written_at"].to_list() == ["src/b.rs:2:2", None]
    assert rates["share"].to_list() == pytest.approx([0.75, 0.25])
    # Seven trials of three iterations of a thousand units; trial n reports n times as much.
    assert rates["transfers_per_iteration"].to_list() == pytest.approx([30 * 28 / 21, 10 * 28 / 21])
    assert rates["ns_per_unit"].to_list() == pytest.approx([3000 * 28 / 21000, 1000 * 28 / 21000])


def test_the_limit_in_host_time_is_no_time_of_a_simulated_trial() -> None:
    for machine, added in (("synthetic-8", 0), (None, 1)):
        sweep = simulated(
            machine=machine,
            fails=lambda *at: "timeout" if at == ("packed", "tsp", 8, 0) else None,
        )
        asked = sweep.manifest["asked"] | {"timeout_s": 60.0}
        sweep = synthetic.with_manifest(sweep, asked=asked)
        times = analyse(sweep).times
        assert with_time_outs(sweep, times).height == times.height + added


def test_the_largest_thread_count_is_that_of_each_workload() -> None:
    assert set(largest_threads(line_wait_rates(simulated()))["threads"]) == {8}


def test_a_measured_sweep_has_no_activities_and_no_waits() -> None:
    sweep = simulated(machine=None)
    assert spent_shares(sweep).is_empty()
    assert line_wait_rates(sweep).is_empty()


@pytest.mark.parametrize(
    ("gain", "machine", "verdict"),
    [
        (0.85, "synthetic-8", FASTER),
        (0.95, "synthetic-8", UNCLEAR),
        (0.905, "synthetic-8", UNCLEAR),
        (0.95, None, FASTER),
    ],
)
def test_no_simulated_difference_under_ten_per_cent_is_called_one(
    gain: float, machine: str | None, verdict: str
) -> None:
    rows = analyse(simulated(gain, machine)).comparisons
    found = rows.filter(level="workload", branch="split-counters").row(0, named=True)
    assert found["verdict"] == verdict
    assert found["time_ratio"] == pytest.approx(gain, rel=0.01)
    assert (found["band"] >= 1 + LEAST_SIMULATED - 1e-9) == (machine is not None)
