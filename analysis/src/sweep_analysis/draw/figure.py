"""The list of figures, with the frames that each needs, and functions that figures share.

A figure is one function with the decorator `figure`. Page, folder, tables and notebooks take it from
`LISTED`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.draw.plots import ChartStyle, finished, under_each_other
from sweep_analysis.read.labels import with_panel
from sweep_analysis.stats.analysis import Analysis

Charts = dict[str, alt.TopLevelMixin]


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes:
        title: a short title.
        about: how to read it.
        missing: a sentence on the missing data, if it cannot be drawn; else None. Then the attributes
            below are not used.
        panels: its charts by panel, for the page; the name is empty if there is only one.
        whole: its charts by file name, with all panels in one chart.
        numbers: tables of its numbers for people, by heading.
        legend: the branches of its lines, if the page shows a legend.
        label: a text beside all titles of its charts and tables; may be empty.
        titled: whether its charts have titles of their own; else the page writes their names.
        name: the name of its files, and its anchor on the page.
        needs: names of its frames for `Analysis.frame`.
    """

    title: str
    about: str
    missing: str | None = None
    panels: Callable[[], Charts] = dict
    whole: Callable[[], Charts] = dict
    numbers: dict[str, pl.DataFrame] = field(default_factory=dict)
    legend: tuple[str, ...] = ()
    label: str = ""
    titled: bool = False
    name: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listed:
    """An entry of the list of figures.

    Attributes:
        name: the name of its files, and its anchor on the page.
        is_of_every_sweep: whether a report with an experiment's own figure has it, too.
        make: makes the figure, which is drawn on demand.
    """

    name: str
    is_of_every_sweep: bool
    make: Callable[[Analysis, ChartStyle], Figure]


LISTED: list[Listed] = []
"""All figures in the order of the page."""


def figure(
    name: str, *needs: str, is_of_every_sweep: bool = False
) -> Callable[[Callable[[Analysis, ChartStyle], Figure]], Callable[[Analysis, ChartStyle], Figure]]:
    """Register a function that makes the figure `name`, which uses exactly the frames `needs`."""

    def listed(
        make: Callable[[Analysis, ChartStyle], Figure],
    ) -> Callable[[Analysis, ChartStyle], Figure]:
        def named(analysis: Analysis, style: ChartStyle) -> Figure:
            return replace(make(analysis, style), name=name, needs=needs)

        LISTED.append(Listed(name, is_of_every_sweep, named))
        return named

    return listed


def labelled(figure: Figure, label: str) -> Figure:
    """The figure with a label, also on each of its charts; an empty label changes nothing."""
    if not label:
        return figure

    def on_all(charts: Callable[[], Charts]) -> Callable[[], Charts]:
        return lambda: {name: with_label(chart, label) for name, chart in charts().items()}

    return replace(figure, label=label, panels=on_all(figure.panels), whole=on_all(figure.whole))


def with_label(chart: alt.TopLevelMixin, label: str) -> alt.TopLevelMixin:
    """The chart with `label` below its title, or as its title if it has none."""
    small: dict[str, Any] = {
        "fontSize": 11,
        "fontWeight": "normal",
        "color": LIGHT.faint_ink,
        "anchor": "start",
    }
    drawn: Any = chart  # the type lacks attributes that all kinds of charts have
    whole = drawn.copy(deep=False)
    title = whole.title
    below = {
        f"subtitle{name[0].upper()}{name[1:]}": value
        for name, value in small.items()
        if name != "anchor"
    }
    if title is alt.Undefined:
        whole.title = alt.TitleParams(label, **small)
    else:
        own: dict[str, Any] = (
            title.to_dict() if isinstance(title, alt.TitleParams) else {"text": title}
        )
        above = own.get("subtitle", [])
        lines = [above] if isinstance(above, str) else above
        whole.title = alt.TitleParams(**(below | own | {"subtitle": [*lines, label]}))
    labelled_chart: alt.TopLevelMixin = whole
    return labelled_chart


def drawn_branches(frame: pl.DataFrame, style: ChartStyle) -> tuple[str, ...]:
    """The branches of a frame in their order."""
    return tuple(branch for branch in style.branches if branch in frame["branch"])


def by_panel(
    name: str,
    frame: pl.DataFrame,
    draw: Callable[[pl.DataFrame, bool], Any],
    style: ChartStyle,
) -> tuple[Callable[[], Charts], Callable[[], Charts]]:
    """`Figure.panels` and `Figure.whole` of a figure with a chart for each panel.

    In: rows with `schema.PANEL`; `draw` draws the rows of one panel, with or without a legend.
    """
    named = with_panel(frame)

    def panels() -> Charts:
        return {
            str(part["panel"][0]): finished(draw(part, False), style.theme)  # noqa: FBT003
            for part in named.partition_by("panel", maintain_order=True)
        }

    return panels, lambda: {name: under_each_other(named, lambda part: draw(part, True), style)}  # noqa: FBT003
