"""One figure of a report, and what all entries of the list of figures share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import altair as alt
import polars as pl

from sweep_analysis.draw.map_plots import HeatMap
from sweep_analysis.draw.plots import Look
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.schema import PANEL

Charts = dict[str, alt.TopLevelMixin]


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes:
        name: of its files, and its anchor on the page.
        title: what it shows, in a few words.
        about: how to read it.
        missing: what is missing, if it cannot be drawn; else None. If it cannot, nothing below is asked for.
        panels: its charts by panel for the page; the name is empty if there is only one.
        maps: its heat maps for the page, by heading; a page draws these as tables, which fit a phone.
        whole: the same by name for files, all panels in one chart.
        numbers: tables of its numbers for people, by heading.
        data: full frames behind it, by the name of the file.
        legend: the branches that its lines stand for, if the page shows their key with it.
        titled: whether its charts have titles of their own; else the page writes their names above them.
        in_chooser: number of its panels, if the page's chooser draws the same one at a time: so very many may be left
            to it.
    """

    name: str
    title: str
    about: str
    missing: str | None = None
    panels: Callable[[], Charts] = dict
    maps: Callable[[], dict[str, list[HeatMap]]] = dict
    whole: Callable[[], Charts] = dict
    numbers: dict[str, pl.DataFrame] = field(default_factory=dict)
    data: dict[str, pl.DataFrame] = field(default_factory=dict)
    legend: tuple[str, ...] = ()
    titled: bool = False
    in_chooser: int = 0


def number_of_panels(frame: pl.DataFrame) -> int:
    """Number of panels of a frame. In: rows with `schema.PANEL`."""
    return frame.select(PANEL).n_unique() if frame.height else 0


def drawn_branches(frame: pl.DataFrame, look: Look) -> tuple[str, ...]:
    """The branches of a frame in their order."""
    return tuple(branch for branch in look.branches if branch in frame["branch"])


def per_panel(frame: pl.DataFrame, draw: Callable[[pl.DataFrame], alt.TopLevelMixin]) -> Callable[[], Charts]:
    """Charts by panel, drawn when asked for. In: rows with `schema.PANEL`."""
    named = with_panel(frame)
    return lambda: {str(part["panel"][0]): draw(part) for part in named.partition_by("panel", maintain_order=True)}
