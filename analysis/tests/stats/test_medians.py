"""Medians and ratios of synthetic sweeps whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.request import request_of
from sweep_analysis.read.schema import PARALLEL, SEQUENTIAL
from sweep_analysis.stats.medians import medians
from sweep_analysis.stats.speedup import trial_times

BRANCHES = ["master", "slow", "same"]


def quiet(**more: Any) -> synthetic.Truth:  # noqa: ANN401 - fields of a truth
    """A sweep without noise, whose level drifts by far more than branches differ."""
    truth: dict[str, Any] = {
        "branches": BRANCHES,
        "workloads": {"quicksort": 0.2},
        "threads": [2, 8],
        "cpus": 2,
        "trials": 5,
        "effects": {("slow", "quicksort"): 1.5},
        "drift": 2.0,
        **synthetic.QUIET,
    }
    return synthetic.Truth(**(truth | more))


def rows(
    truth: synthetic.Truth, change: Callable[[dict[str, Any]], None] | None = None
) -> pl.DataFrame:
    sweep = synthetic.swept(truth, change)
    return medians(sweep, request_of(sweep), trial_times(sweep).collect())


def of(frame: pl.DataFrame, branch: str, threads: int = 2) -> dict[str, Any]:
    return frame.filter(branch=branch, program=PARALLEL, threads=threads).row(0, named=True)


def test_a_true_ratio_is_found_although_blocks_drift() -> None:
    slow = of(rows(quiet(drift=0.5)), "slow")
    # The tolerance allows for drift inside a block.
    assert slow["ratio"] == pytest.approx(1.5, rel=0.03)
    assert slow["cpu_ratio"] == pytest.approx(1.5, rel=0.03)
    assert slow["cpu_ns"] == pytest.approx(2 * slow["median_ns"])


def test_one_iteration_and_one_trial_out_of_line_move_no_median() -> None:
    def spoil(record: dict[str, Any]) -> None:
        times = record["iterations"]
        for iteration in times if record["replicate"] == 3 else times[:1]:
            iteration["elapsed_ns"] *= 50 if record["branch"] == "slow" else 1

    slow = of(rows(quiet(drift=0.0), spoil), "slow")
    assert slow["ratio"] == pytest.approx(1.5, rel=0.001)


def test_a_trial_without_cpu_time_has_no_cpu_ratio() -> None:
    def idle(record: dict[str, Any]) -> None:
        for iteration in record["iterations"] if record["branch"] == "same" else []:
            iteration["user_ns"] = 0

    same = of(rows(quiet(), idle), "same")
    assert same["ratio"] is not None
    assert same["cpu_ratio"] is None


def test_speed_up_is_sequential_time_over_own_time() -> None:
    truth = quiet(drift=0.0)
    frame = rows(truth)
    assert of(frame, "master")["speed_up"] == pytest.approx(truth.speedup("master", "quicksort", 2))
    assert frame["program"][0] == SEQUENTIAL
    assert frame["speed_up"][0] == 1


def test_failed_trials_are_counted_and_never_a_time() -> None:
    def fails(branch: str, _: str, threads: int, replicate: int) -> str | None:
        return "timeout" if branch == "same" and (threads == 8 or replicate < 2) else None

    frame = rows(quiet(fails=fails))
    same, never = of(frame, "same"), of(frame, "same", 8)
    assert (same["trials"], same["failed"]) == (3, 2)
    assert same["ratio"] is not None
    assert (never["trials"], never["failed"], never["median_ns"]) == (0, 5, None)


def test_the_baseline_comes_first_and_its_control_second() -> None:
    frame = rows(quiet(branches=["master", "zebra", "ant"], effects={}))
    first = frame.filter(program=PARALLEL, threads=2)["branch"].to_list()
    assert first == ["master", "master-again", "zebra", "ant"]
    assert frame["oversubscribed"].to_list() == [False] * 5 + [True] * 4
