"""The list of figures, what each needs, and what they share.

A figure is one function under `figure`: page, folder, tables beside the page and notebooks take it
from `LISTED`.
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

    Attributes: title: what it shows, in a few words. about: how to read it. missing: what is
        missing, if it cannot be drawn; else None. If it cannot, nothing below is asked for. panels:
        its charts by panel for the page; the name is empty if there is only one. whole: the same by
        name for files, all panels in one chart. numbers: tables of its numbers for people, by
        heading. legend: the branches that its lines stand for, if the page shows their key with it.
        label: what the page and all its charts and tables say of it beside their titles; empty if
        nothing. titled: whether its charts have titles of their own; else the page writes their
        names above them. name: of its files, and its anchor on the page. needs: names of the frames
        behind it, `Analysis.frame` has them.
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
        name: of its files, and its anchor on the page.
        is_of_every_sweep: whether it stands beside an experiment's own figure, too.
        make: makes it, drawn when asked for.
    """

    name: str
    is_of_every_sweep: bool
    make: Callable[[Analysis, ChartStyle], Figure]


LISTED: list[Listed] = []
"""All figures in the order of the page."""


def figure(
    name: str, *needs: str, is_of_every_sweep: bool = False
) -> Callable[[Callable[[Analysis, ChartStyle], Figure]], Callable[[Analysis, ChartStyle], Figure]]:
    """List what a function makes as the figure `name`, which shows the frames `needs` and no others."""

    def listed(
        make: Callable[[Analysis, ChartStyle], Figure],
    ) -> Callable[[Analysis, ChartStyle], Figure]:
        def named(analysis: Analysis, style: ChartStyle) -> Figure:
            return replace(make(analysis, style), name=name, needs=needs)

        LISTED.append(Listed(name, is_of_every_sweep, named))
        return named

    return listed


def labelled(figure: Figure, label: str) -> Figure:
    """The figure with a label, on each of its charts, too; an empty one changes nothing."""
    if not label:
        return figure

    def on_all(charts: Callable[[], Charts]) -> Callable[[], Charts]:
        return lambda: {name: with_label(chart, label) for name, chart in charts().items()}

    return replace(figure, label=label, panels=on_all(figure.panels), whole=on_all(figure.whole))


def with_label(chart: alt.TopLevelMixin, label: str) -> alt.TopLevelMixin:
    """A chart that says `label` below its title, or in its place."""
    small: dict[str, Any] = {
        "fontSize": 11,
        "fontWeight": "normal",
        "color": LIGHT.faint_ink,
        "anchor": "start",
    }
    drawn: Any = chart  # what all kinds of charts have in common, their type does not tell
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

    In: rows with `schema.PANEL`; what draws those of one panel, with or without a legend of its own.
    """
    named = with_panel(frame)

    def panels() -> Charts:
        return {
            str(part["panel"][0]): finished(draw(part, False), style.theme)  # noqa: FBT003
            for part in named.partition_by("panel", maintain_order=True)
        }

    return panels, lambda: {name: under_each_other(named, lambda part: draw(part, True), style)}  # noqa: FBT003
