"""The list of figures, with the frames that each figure needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.draw.plots import SMALLEST, ChartStyle
from sweep_analysis.stats.analysis import Analysis

Charts = dict[str, alt.TopLevelMixin]


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes:
        title: a short title.
        about: how to read it.
        missing: the data that the sweep lacks, as a sentence; None if the figure is shown.
        charts: draws the figure's charts, by file name; a figure without charts is a table.
        numbers: tables of the figure's numbers for people, by heading.
        label: the text on all charts and tables of a simulated sweep.
        name: the figure's anchor on the page.
        needs: names of the frames that `Analysis.frame` computes for the figure.
    """

    title: str
    about: str
    missing: str | None = None
    charts: Callable[[], Charts] = dict
    numbers: dict[str, pl.DataFrame] = field(default_factory=dict)
    label: str = ""
    name: str = ""
    needs: tuple[str, ...] = ()


Make = Callable[[Analysis, ChartStyle], Figure]

LISTED: dict[str, Make] = {}
"""The functions that make all figures by name, in the order of the page."""


def figure(name: str, *needs: str) -> Callable[[Make], Make]:
    """Register a function that makes the figure `name`, which uses exactly the frames `needs`."""

    def listed(make: Make) -> Make:
        def named(analysis: Analysis, style: ChartStyle) -> Figure:
            return replace(make(analysis, style), name=name, needs=needs)

        LISTED[name] = named
        return named

    return listed


def labelled(figure: Figure, label: str) -> Figure:
    """Return the figure with a label, which is also the title of each chart; an empty label changes nothing."""
    if not label:
        return figure

    def charts() -> Charts:
        return {name: _with_label(chart, label) for name, chart in figure.charts().items()}

    return replace(figure, label=label, charts=charts)


def _with_label(chart: alt.TopLevelMixin, label: str) -> alt.TopLevelMixin:
    drawn: Any = chart  # Altair's base class has no `copy`
    titled: alt.TopLevelMixin = drawn.copy(deep=False)
    titled.title = alt.TitleParams(  # type: ignore[attr-defined]
        label, anchor="start", fontSize=SMALLEST, fontWeight="normal", color=LIGHT.faint_ink
    )
    return titled
