"""The effect of pinning, on synthetic sweeps of known truth."""

from __future__ import annotations

import polars as pl
import pytest

import synthetic
from sweep_analysis.stats.analysis import Analysis, analyse

PINNED_TAKES = 0.6


def analysis(**more: object) -> Analysis:
    truth = {
        "branches": ["master", "packed"],
        "workloads": {"quicksort": 0.1, "tsp": 0.1},
        "threads": [1, 2],
        "trials": 6,
        "layouts": 6,
        "pinned": {"tsp": PINNED_TAKES},
        "waits_ns": {
            name: {"latency_p50": 1000.0} for name in ("master", "packed", "master-again")
        },
        **more,
    }
    return analyse(synthetic.swept(synthetic.Truth(**truth)))  # type: ignore[arg-type]


def test_only_the_workload_that_pinning_moves_is_found_and_by_how_much() -> None:
    found = analysis().placements.filter("moved")
    assert set(found["workload"]) == {"tsp"}
    # Synthetic latencies do not depend on the placement.
    assert set(found["quantity"]) == {"wall time", "CPU time"}
    assert sorted(set(found["threads"])) == [1, 2]
    assert found["ratio"].to_list() == pytest.approx([PINNED_TAKES] * found.height, rel=0.03)
    assert ((found["ratio_low"] < found["ratio"]) & (found["ratio"] < found["ratio_high"])).all()


def test_an_equal_latency_has_the_ratio_one_and_no_result() -> None:
    waits = analysis().placements.filter(quantity="median latency")
    assert waits["ratio"].to_list() == pytest.approx([1.0] * waits.height)
    assert not waits["moved"].any()


def test_differences_between_builds_add_no_unit() -> None:
    rows = analysis(trials=8, layouts=4).placements
    assert set(rows["units"]) == {4}
    assert set(rows["pairs"]) == {3 * 8}


def test_three_layouts_have_no_interval_and_move_nothing() -> None:
    rows = analysis(trials=3, layouts=3).placements
    assert rows["ratio_low"].is_null().all()
    assert not rows["moved"].any()


def test_a_sweep_of_one_placement_has_nothing_to_compare() -> None:
    assert analysis(pinned=None).placements.is_empty()


def test_panels_of_a_sweep_of_both_placements_are_distinguished() -> None:
    found = analysis()
    shown = found.speedups.filter(pl.col("definition") == "sequential")
    by_placement = shown.filter(workload="tsp", threads=2, branch="master").sort("placement")
    assert by_placement["placement"].to_list() == ["free", "pinned"]
    assert by_placement["speedup"][1] / by_placement["speedup"][0] == pytest.approx(
        1 / PINNED_TAKES, rel=0.05
    )
