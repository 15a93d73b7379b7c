"""Draws changes of one branch in many programs as a forest plot of several sweeps. No statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import ROW, SIGNED_PERCENT, finished, interval_layers
from sweep_analysis.read.labels import without_size
from sweep_analysis.stats.compare import FASTER, RESULTS, SLOWER

WIDTH = 150
"""Width of one quantity in pixels. With both and the names the plot is about 460 wide, so a narrow page keeps it legible."""
NAMES = 92
"""Width of the programs' names in pixels, equal in all blocks so that they are aligned."""
LETTERS = 13
"""Height of the letters of names and titles in pixels."""
ENDS = (-0.6, 0.3)
"""Ends of the axis of changes. Points and intervals beyond end in an arrow."""
QUANTITIES = {"time": "wall time", "cpu": "CPU time"}


@dataclass(frozen=True)
class Part:
    """The programs of one sweep.

    Attributes:
        title: lines that name the programs and their host.
        rows: rows of `frames.COMPARISONS` with `panel`: one branch and baseline, level `workload`, and
            `QUANTITIES`.
    """

    title: Sequence[str]
    rows: pl.DataFrame


def forest(parts: Sequence[Part], theme: Theme = LIGHT) -> alt.VConcatChart:
    """A block for each part, with a row for each program: wall time left and CPU time right.

    Programs are in the order of their change of wall time, from gains to losses. The grey bar is the
    noise floor. A full point is significant, a hollow one is inconclusive.
    """
    blocks = [
        _block(part, theme).properties(
            title=alt.TitleParams(
                part.title[0], subtitle=list(part.title[1:]), frame="bounds", anchor="start"
            )
        )
        for part in parts
    ]
    chart = finished(alt.vconcat(*blocks, spacing=14), theme)
    chart.config.title = alt.TitleConfig(
        color=theme.ink,
        subtitleColor=theme.faint_ink,
        fontSize=LETTERS,
        subtitleFontSize=LETTERS - 1,
        offset=6,
    )
    for config in (chart.config.axis, chart.config.header):
        config.labelFontSize = LETTERS
    chart.config.axis.titleFontSize = LETTERS
    return chart


def _block(part: Part, theme: Theme) -> alt.HConcatChart:
    rows = without_size(part.rows)
    order = rows.filter(quantity="time").sort("time_ratio", "panel")["panel"].to_list()
    sides = [
        _side(rows.filter(quantity=quantity), order, theme, name, has_names=at == 0)
        for at, (quantity, name) in enumerate(QUANTITIES.items())
    ]
    block: alt.HConcatChart = alt.hconcat(*sides, spacing=22).resolve_scale(y="shared")
    return block


def _side(
    rows: pl.DataFrame, order: list[str], theme: Theme, name: str, *, has_names: bool
) -> alt.LayerChart:
    axis = alt.Axis(
        labelExpr=SIGNED_PERCENT,
        values=[-0.5, -0.25, 0, 0.25],
        grid=True,
        title=name,
        labelFontSize=LETTERS - 1,
        labelOverlap=False,
    )
    y = alt.Y(
        "panel:N",
        sort=order,
        title=None,
        axis=alt.Axis(
            labelLimit=0,
            ticks=False,
            domain=False,
            labelPadding=4,
            minExtent=NAMES,
            maxExtent=NAMES,
        )
        if has_names
        else None,
    )
    colours = dict.fromkeys(RESULTS, theme.ink)
    colours |= {FASTER: theme.faster[2], SLOWER: theme.slower[2]}
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    ink = alt.Color("verdict:N", legend=None, scale=scale)
    layers = interval_layers(rows, (axis, ENDS), y, ink, theme)
    return layers.properties(width=WIDTH, height=ROW * len(order))
