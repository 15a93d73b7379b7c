"""Texts are large enough, complete, and inside their picture; an arrow marks what is cut off."""

from __future__ import annotations

import re

import polars as pl
import pytest

import letters
import synthetic
from sweep_analysis.draw import cost_plots, svg
from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.draw.plots import SMALLEST
from sweep_analysis.report.figures import chart_style, figures
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.simulated import SPENT_ON

LONG = "split-counters-no-jec-sleepers-only-cache-padded"
GAP = 40
"""Maximum number of pixels from a map's last row to the title of its axis."""
KEY_HEIGHT = 120
"""The key of a figure of many panels stands within so many pixels of its top."""
SLACK = 0.15
"""Share of the estimated length of words by which a narrow letter or two may make it too long."""
PAGE = 1148
"""Width of a page without margins in pixels; a wider picture scrolls sideways or shrinks."""


def analysis_of(truth: synthetic.Truth) -> Analysis:
    return analyse(synthetic.swept(truth))


def measured() -> Analysis:
    names = ["master", *synthetic.STUDY_BRANCHES[1:], "champion"]
    waits = {name: {"latency_p50": 1000.0, "latency_max": 9000.0} for name in names}
    truth = synthetic.Truth(
        branches=names,
        workloads={"injection-ping-pong": 0.1, "tsp": 0.2, "ticks": 0.5},
        threads=[1, 2, 4],
        cpus=2,
        modes={"dynamic": {1: 3.5, 2: 3.4, 4: 3.0}},
        waits_ns=waits,
        counts={"packed": {"jec_rmws": 7, "searches": 3, "sleeps": 1}},
    )
    return analysis_of(truth)


def simulated() -> Analysis:
    truth = synthetic.Truth(
        branches=["master", "packed", LONG],
        workloads={"tsp": 0.2, "quicksort": 0.1},
        threads=[1, 4, 16, 64],
        cpus=64,
        machine="zen4-64",
        spent=dict.fromkeys(SPENT_ON, 1 / len(SPENT_ON)),
    )
    return analysis_of(truth)


@pytest.fixture(scope="module", params=[measured, simulated], ids=["measured", "simulated"])
def pictures(request: pytest.FixtureRequest) -> dict[str, str]:
    """All pictures of a report by name: those of files, and those of the page."""
    listed = figures(request.param())
    drawn = [figure for figure in listed if figure.missing is None]
    return {
        f"{figure.name} {kind} {name}": svg.draw(chart)
        for figure in drawn
        for kind, charts in (("file", figure.whole()), ("page", figure.panels()))
        for name, chart in charts.items()
    }


def test_no_letters_are_smaller_than_the_smallest(pictures: dict[str, str]) -> None:
    small = {
        name: sizes
        for name, picture in pictures.items()
        if (
            sizes := {
                float(size)
                for size in re.findall(r'font-size="([\d.]+)px"', picture)
                if float(size) < SMALLEST
            }
        )
    }
    assert small == {}


def test_no_word_of_a_picture_is_cut(pictures: dict[str, str]) -> None:
    assert [name for name, picture in pictures.items() if "…</text>" in picture] == []


def test_all_words_stand_inside_their_picture(pictures: dict[str, str]) -> None:
    outside: dict[str, list[str]] = {}
    for name, picture in pictures.items():
        width = float(re.findall(r'<svg [^>]*?width="([\d.]+)"', picture)[0])
        height = float(re.findall(r'<svg [^>]*?height="([\d.]+)"', picture)[0])
        found = [
            text.words
            for text in letters.texts(picture)
            if min(text.left, width - text.right) < -SLACK * (text.right - text.left)
            or text.top < 0
            or text.bottom > height
        ]
        outside |= {name: found} if found else {}
    assert outside == {}


def test_a_picture_is_no_wider_than_the_page(pictures: dict[str, str]) -> None:
    widths = {
        name: float(re.findall(r'<svg [^>]*?width="([\d.]+)"', picture)[0])
        for name, picture in pictures.items()
    }
    assert {name: width for name, width in widths.items() if width > PAGE} == {}


@pytest.mark.parametrize("name", ["speedup file speedup-own", "spent file spent"])
def test_a_key_stands_above_the_panels_that_it_is_of(pictures: dict[str, str], name: str) -> None:
    if name not in pictures:
        pytest.skip("only simulated machines spend time")
    words = "master" if name.startswith("speedup") else SPENT_ON["waking"]
    tops = [text.top for text in letters.texts(pictures[name]) if text.words == words]
    assert min(tops) < KEY_HEIGHT


def test_no_label_stands_on_another(pictures: dict[str, str]) -> None:
    drawn = {name: letters.overlaps(it) for name, it in pictures.items() if " file " in name}
    assert {name: told for name, told in drawn.items() if told} == {}


def test_overlapping_labels_would_be_found() -> None:
    first = '<g transform="translate(10,9)"><text>threads of the pool</text></g>'
    pair = f'<svg xmlns="http://www.w3.org/2000/svg">{first}{{}}</svg>'
    near = '<text transform="translate(40,9)">threads of the pool</text>'
    far = '<text transform="translate(140,9)">threads of the pool</text>'
    assert letters.overlaps(pair.format(near)) == [("threads of the pool", "threads of the pool")]
    assert letters.overlaps(pair.format(far)) == []


def test_an_axis_stands_under_its_own_map() -> None:
    """Three maps to a row and five branches.

    The last row is short, and shared axes would hang under nothing.
    """
    names = ["master", "packed", "split-counters", "one-more", "yet-another", LONG]
    truth = synthetic.Truth(
        branches=names,
        workloads={"tsp": 0.1},
        threads=[1, 2, 4, 8, 16, 32, 64],
        trials=4,
        twin=False,
    )
    analysis = analyse(synthetic.swept(truth))
    (found,) = [figure for figure in figures(analysis) if figure.name == "map"]
    told = letters.texts(svg.draw(found.whole()["map"]))
    rows = [text for text in told if text.words in {"±0.0", "tsp"} or text.words[0] in "+−±"]
    for title in [text for text in told if text.words == "threads"]:
        above = [
            row
            for row in rows
            if row.left < title.right and title.left < row.right and row.bottom < title.top
        ]
        assert above
        assert title.top - max(row.bottom for row in above) < GAP


def shapes(panel: object) -> list[str]:
    layers = panel.to_dict()["spec"]["layer"]  # type: ignore[attr-defined]
    return [layer["mark"]["shape"] for layer in layers if "shape" in layer["mark"]]


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow() -> None:
    truth = synthetic.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[1, 2], trials=7
    )
    analysis = analysis_of(truth)
    rows = cost_plots.cost_rows(analysis.comparisons, analysis.cpu_comparisons)
    style = chart_style(analysis, LIGHT)
    assert shapes(cost_plots.cost_panel(rows, style)) == []
    far = rows.with_columns(ratio_high=pl.when(branch="packed").then(9.0).otherwise("ratio_high"))
    assert shapes(cost_plots.cost_panel(far, style)) == ["triangle-right"]
    both = far.with_columns(ratio_low=pl.when(branch="packed").then(0.1).otherwise("ratio_low"))
    assert shapes(cost_plots.cost_panel(both, style)) == ["triangle-left", "triangle-right"]
    assert svg.draw(cost_plots.cost_panel(both, style)).startswith("<svg")


def test_a_block_beyond_the_axis_is_an_arrow_and_no_point() -> None:
    def slow(_: str, __: str, threads: int, replicate: int) -> float:
        return 3.0 if (threads, replicate) == (1, 3) else 1.0

    truth = synthetic.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, trials=60, state=slow
    )
    (found,) = [figure for figure in figures(analysis_of(truth)) if figure.name == "drift"]
    marks = [layer["mark"] for layer in found.whole()["drift"].to_dict()["layer"]]
    assert "triangle-up" in [mark.get("shape") for mark in marks]


def speedup_of(**truth: object) -> object:
    still = {"trial_noise": 0.0, "iteration_noise": 0.0, "block_noise": 0.0, "cpus": 8}
    made = synthetic.Truth(branches=["master", "packed"], threads=[1, 2, 4], **still, **truth)  # type: ignore[arg-type]
    return next(found for found in figures(analysis_of(made)) if found.name == "speedup")


def test_flat_lines_of_speed_up_are_named_and_not_drawn() -> None:
    found = speedup_of(workloads={"tsp": 0.1, "paced": 1.0})
    assert list(found.panels()) == ["tsp · small"]  # type: ignore[attr-defined]
    assert "Not drawn, because" in found.about  # type: ignore[attr-defined]
    assert "paced · small." in found.about  # type: ignore[attr-defined]


def test_a_program_much_slower_than_the_sequential_one_fills_its_axis() -> None:
    slow = {(branch, "tsp"): 500.0 for branch in ("master", "packed")}
    found = speedup_of(workloads={"tsp": 0.1}, effects=slow)
    (panel,) = found.panels().values()  # type: ignore[attr-defined]
    domains = re.findall(r"'domain': \[0, ([\d.e-]+)\]", str(panel.to_dict()))
    assert domains
    assert max(map(float, domains)) < 0.02
