"""The dark form of a picture differs only in its colours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from sweep_analysis.draw import map_plots, plots, speedup_plots, svg
from sweep_analysis.draw.palette import DARK, LIGHT, pairs
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.figures import chart_style
from sweep_analysis.stats.analysis import Analysis, analyse


@pytest.fixture(scope="module")
def analysis(ordinary_sweep: Path) -> Analysis:
    return analyse(read_sweep(ordinary_sweep))


def test_no_colour_of_a_theme_stands_for_two_things() -> None:
    light, dark = list(pairs()), list(pairs().values())
    assert len(set(light)) == len(light)
    assert len(set(dark)) == len(dark)


@pytest.mark.parametrize("name", ["speedup", "gains", "map"])
def test_a_recoloured_picture_is_what_the_dark_theme_draws(analysis: Analysis, name: str) -> None:
    def drawn(style: plots.ChartStyle) -> str:
        charts: dict[str, Callable[[], alt.TopLevelMixin]] = {
            "speedup": lambda: speedup_plots.speedup_figure(analysis.speedups, "sequential", style),
            "map": lambda: map_plots.map_figure(analysis.comparisons, style),
            "gains": lambda: map_plots.gains_figure(analysis.compared, style),
        }
        return svg.draw(charts[name]())

    light = drawn(chart_style(analysis, LIGHT))
    assert svg.dark(light) == drawn(chart_style(analysis, DARK))
    assert svg.dark(light) != light


def test_a_picture_inside_a_page_has_no_colour_of_a_theme_left(analysis: Analysis) -> None:
    chart = map_plots.map_figure(analysis.comparisons, chart_style(analysis, LIGHT))
    inside = svg.inline(svg.draw(chart), "first", "a map")
    assert not [colour for colour in pairs() if f'"{colour}"' in inside]
    assert "var(--c" in inside


def test_characters_that_no_picture_may_have_are_spelt_out() -> None:
    frame = pl.DataFrame({"branch": ["a\x1bb", "c\ufffe\x07"], "value": [1.5, 2.5]})
    chart = alt.Chart(frame, title="x\x00y").mark_point().encode(x="value:Q", y="branch:N")
    drawn = svg.draw(chart)
    assert all(text in drawn for text in (r"a\x1bb", r"c\xfffe\x07", r"x\x00y"))
