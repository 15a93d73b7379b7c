"""Counts explain times if they do, and not otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import made_up
from sweep_analysis.draw.explain_plots import explain_figure
from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.figures import chart_style
from sweep_analysis.say.answers import explanation_sentences
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.explain import explain

BRANCHES = ["master", "packed", "some", "few", "none"]
WRITES = {"packed": 100, "some": 60, "few": 30, "none": 0}


def analysed(folder: Path, effects: dict[str, float], **truth: Any) -> Analysis:  # noqa: ANN401 - what a `Truth` has
    known = made_up.Truth(
        workloads={"tsp": 0.1, "quicksort": 0.2},
        threads=[1, 2, 4, 8],
        trials=5,
        counts={
            branch: {"jec_rmws": writes, "jec_loads": 500} for branch, writes in WRITES.items()
        },
        effects={
            (branch, name): factor
            for branch, factor in effects.items()
            for name in ("tsp", "quicksort")
        },
        **{"branches": BRANCHES, **truth},
    )
    return analyse(read_sweep(made_up.write_sweep(folder / "sweep", known)))


def test_saved_writes_that_save_time_are_found(tmp_path: Path) -> None:
    found = explain(analysed(tmp_path, {"some": 0.9, "few": 0.8, "none": 0.7}), "packed")
    assert found.correlation is not None
    assert found.correlation > 0.9
    row = found.cells.filter(panel="tsp · small", threads=2, branch="none").row(0, named=True)
    assert row["saved_ns"] == pytest.approx(0.3 * row["plain_ns"], rel=0.1)
    assert row["saved_ns_low"] < row["saved_ns"] < row["saved_ns_high"]
    assert (
        "the more writes a branch saves, the more time" in explanation_sentences(found, "packed")[1]
    )


def test_a_simulated_sweep_is_explained_by_the_intervals_that_it_is_judged_by(
    tmp_path: Path,
) -> None:
    analysis = analysed(tmp_path, {"none": 0.7}, machine="made-up", branches=BRANCHES[1:])
    found = (
        explain(analysis, "packed")
        .cells.filter(panel="tsp · small", threads=2, branch="none")
        .row(0, named=True)
    )
    judged = analysis.comparisons.filter(
        level="cell", workload="tsp", threads=2, branch="none"
    ).row(0, named=True)
    assert found["saved_ns_low"] == pytest.approx((1 - judged["ratio_high"]) * found["plain_ns"])
    assert found["saved_ns_high"] == pytest.approx((1 - judged["ratio_low"]) * found["plain_ns"])


def test_saved_writes_that_cost_time_are_told_as_that(tmp_path: Path) -> None:
    found = explain(analysed(tmp_path, {"some": 1.1, "few": 1.2, "none": 1.3}), "packed")
    assert "saved writes come with lost time" in explanation_sentences(found, "packed")[1]


def test_writes_without_any_effect_explain_nothing(tmp_path: Path) -> None:
    found = explain(analysed(tmp_path, {}), "packed")
    assert (
        "whether writes explain times is inconclusive here"
        in explanation_sentences(found, "packed")[1]
    )


def test_only_threads_that_can_disturb_each_other_count(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, {})
    found = explain(analysis, "packed")
    assert set(found.cells["threads"]) == {2, 4}  # one disturbs nobody, eight exceed the CPUs
    assert set(explain_figure(found, chart_style(analysis, LIGHT)).to_dict()) >= {
        "concat",
        "config",
    }


def test_a_sweep_without_counts_is_not_explained(ordinary_sweep: Path) -> None:
    found = explain(analyse(read_sweep(ordinary_sweep)), "packed")
    assert found.correlation is None
    assert explanation_sentences(found, "packed") == [
        "Nothing was counted and timed in the same cells, so nothing is explained."
    ]
