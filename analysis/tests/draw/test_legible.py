"""Texts of pictures are large enough and complete, pictures fit the page, and an arrow marks what is cut off."""

from __future__ import annotations

import re

import polars as pl
import pytest

import synthetic
from sweep_analysis.draw import map_plots, svg
from sweep_analysis.draw.forest_plots import Part, forest
from sweep_analysis.draw.plots import SMALLEST
from sweep_analysis.report.figures import drawn, figures
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.simulated import SPENT_ON

LONG = "split-counters-no-jec-sleepers-only-cache-padded"
PAGE = 1148
"""Width of a page without margins in pixels; a wider picture scrolls sideways or shrinks."""


def measured() -> Analysis:
    names = ["master", *synthetic.STUDY_BRANCHES[1:], "champion"]
    truth = synthetic.Truth(
        branches=names,
        workloads={"injection-ping-pong": 0.1, "tsp": 0.2, "ticks": 0.5},
        threads=[1, 2, 4],
        cpus=2,
        modes={"dynamic": {1: 3.5, 2: 3.4, 4: 3.0}},
        waits_ns={name: {"latency_p50": 1000.0, "latency_max": 9000.0} for name in names},
        counts={"packed": {"jec_rmws": 7, "searches": 3, "sleeps": 1}},
    )
    return analyse(synthetic.swept(truth))


def simulated() -> Analysis:
    truth = synthetic.Truth(
        branches=["master", "packed", LONG],
        workloads={"tsp": 0.2, "quicksort": 0.1},
        threads=[1, 4, 16, 64],
        cpus=64,
        machine="zen4-64",
        spent=dict.fromkeys(SPENT_ON, 1 / len(SPENT_ON)),
    )
    return analyse(synthetic.swept(truth))


@pytest.fixture(scope="module", params=[measured, simulated], ids=["measured", "simulated"])
def pictures(request: pytest.FixtureRequest) -> dict[str, str]:
    return {
        name: svg.draw(chart)
        for figure in figures(request.param())
        if figure.missing is None
        for name, chart in figure.charts().items()
    }


def test_no_letters_are_smaller_than_the_smallest_and_no_word_is_cut(
    pictures: dict[str, str],
) -> None:
    for name, picture in pictures.items():
        sizes = {float(size) for size in re.findall(r'font-size="([\d.]+)px"', picture)}
        assert min(sizes) >= SMALLEST, name
        assert "…</text>" not in picture, name


def test_a_picture_is_no_wider_than_the_page(pictures: dict[str, str]) -> None:
    for name, picture in pictures.items():
        assert float(re.findall(r'<svg [^>]*?width="([\d.]+)"', picture)[0]) <= PAGE, name


def arrows(rows: pl.DataFrame) -> set[str]:
    spec = str(forest([Part(["packed"], rows)]).to_dict())
    return set(re.findall(r"triangle-\w+", spec))


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow() -> None:
    truth = synthetic.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[1, 2], trials=7
    )
    rows = map_plots.pooled_rows(analyse(synthetic.swept(truth)).compared).filter(branch="packed")
    inside = rows.with_columns(ratio_low="time_ratio", ratio_high="time_ratio")
    assert arrows(inside) == set()
    far = inside.with_columns(ratio_high=pl.lit(9.0))
    assert arrows(far) == {"triangle-right"}
    assert arrows(far.with_columns(ratio_low=pl.lit(0.1))) == {"triangle-left", "triangle-right"}


def test_a_program_much_slower_than_the_sequential_one_fills_its_axis() -> None:
    slow = {(branch, "tsp"): 500.0 for branch in ("master", "packed")}
    truth = synthetic.Truth(
        branches=["master", "packed"],
        threads=[1, 2, 4],
        workloads={"tsp": 0.1},
        effects=slow,
        cpus=8,
        **synthetic.QUIET,
    )
    panel = drawn(analyse(synthetic.swept(truth)), "speedup-sequential").to_dict()
    domains = re.findall(r"'domain': \[0, ([\d.e-]+)\]", str(panel))
    assert domains
    assert max(map(float, domains)) < 0.02
