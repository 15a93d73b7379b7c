"""The effect of pinning, on synthetic sweeps of known truth."""

from __future__ import annotations

import re

import pytest

import synthetic
from sweep_analysis.say.cautions import cautions
from sweep_analysis.say.placements import placement_sentences
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


def test_the_page_warns_of_effects_of_placement_with_their_size() -> None:
    found = analysis()
    warned = [sentence for sentence in cautions(found) if sentence.startswith("Pinning worker i")]
    assert warned == placement_sentences(found.placements)
    assert re.search(r"tsp · small on 2 threads: wall time −(39|40|41)\.\d", warned[0])
    assert "quicksort" not in warned[0]


def test_a_sweep_of_one_placement_has_nothing_to_compare_and_no_warning() -> None:
    found = analysis(pinned=None)
    assert found.placements.is_empty()
    assert not [
        sentence for sentence in cautions(found) if "placement" in sentence or "Pinning" in sentence
    ]
