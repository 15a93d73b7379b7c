"""A picture is drawn once; what makes it dark exchanges colours and nothing else."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import pytest

from sweep_analysis import cost_plots, map_plots, plots, svg
from sweep_analysis.figures import look_of
from sweep_analysis.findings import Analysis, analyse
from sweep_analysis.load import read_sweep
from sweep_analysis.palette import DARK, LIGHT, pairs


@pytest.fixture(scope="module")
def analysis(ordinary_sweep: Path) -> Analysis:
    return analyse(read_sweep(ordinary_sweep))


def test_no_colour_of_a_theme_stands_for_two_things() -> None:
    light, dark = list(pairs()), list(pairs().values())
    assert len(set(light)) == len(light)
    assert len(set(dark)) == len(dark)


@pytest.mark.parametrize("name", ["speedup", "map", "cost"])
def test_a_recoloured_picture_is_what_the_dark_theme_draws(analysis: Analysis, name: str) -> None:
    def drawn(look: plots.Look) -> str:
        charts: dict[str, alt.TopLevelMixin] = {
            "speedup": plots.speedup_figure(analysis.speedups, "sequential", look),
            "map": map_plots.map_figure(analysis.comparisons, look),
            "cost": cost_plots.cost_figure(analysis.comparisons, analysis.cpu_comparisons, look),
        }
        return svg.draw(charts[name])

    light = drawn(look_of(analysis, LIGHT))
    assert svg.dark(light) == drawn(look_of(analysis, DARK))
    assert svg.dark(light) != light


def test_a_picture_inside_a_page_has_no_colour_of_a_theme_left(analysis: Analysis) -> None:
    chart = map_plots.map_figure(analysis.comparisons, look_of(analysis, LIGHT))
    inside = svg.inline(svg.draw(chart), "first")
    assert not [colour for colour in pairs() if f'"{colour}"' in inside]
    assert "var(--c" in inside
