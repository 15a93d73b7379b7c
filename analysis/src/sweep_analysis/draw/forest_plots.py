"""Draws forest plots: changes with intervals of the programs of several sweeps, or of several branches. No statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import QUANTITIES, ROW, SIGNED, finished, interval_layers
from sweep_analysis.read.labels import without_size
from sweep_analysis.stats.compare import FASTER, RESULTS, SLOWER

WIDTH = 150
"""Width of a quantity's plot in pixels. Two plots and the names take about 460 pixels, which fit a narrow page."""
NAMES = 92
"""Minimum width of the programs' names in pixels; all blocks have the same width, so that they are aligned."""
LETTER = 6.5
"""Approximate width of a letter of a name in pixels."""
LETTERS = 13
"""Height of the letters of names and titles in pixels."""
LEAST_END = 0.05
"""Minimum distance of an end of the axis from zero, as a relative change."""
SPARE = 1.15
"""Ratio of an axis's length to the length that the changes need. An interval that leaves the axis ends in an arrow."""


@dataclass(frozen=True)
class Part:
    """The programs of one sweep or branch.

    Attributes:
        title: lines above the programs.
        rows: rows of `frames.COMPARISONS` with `panel`: one branch and baseline, levels `workload` and
            `overall`, and `QUANTITIES`.
    """

    title: Sequence[str]
    rows: pl.DataFrame


def forest(parts: Sequence[Part], theme: Theme = LIGHT) -> alt.VConcatChart:
    """Draw a block for each part, with a row for each program: wall time on the left, CPU time on the right.

    Programs are in the order of their change of wall time, from gains to losses; all programs together are
    last. The grey bar is the noise floor. A full point is a significant change, a hollow point an
    inconclusive change.
    """
    rows = pl.concat([part.rows.select("time_ratio", "band") for part in parts])
    changes = [*(rows["time_ratio"] - 1), *(rows["band"].drop_nulls() - 1)]
    ends = SPARE * min(-LEAST_END, *changes), SPARE * max(LEAST_END, *changes)
    shown = [without_size(part.rows)["panel"] for part in parts]
    names = max(NAMES, *(LETTER * len(name) for panels in shown for name in panels))
    blocks = [
        _block(part, theme, ends, names).properties(
            title=alt.TitleParams(
                part.title[0],
                subtitle=list(part.title[1:]) or alt.Undefined,
                frame="bounds",
                anchor="start",
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


def _block(part: Part, theme: Theme, ends: tuple[float, float], names: float) -> alt.HConcatChart:
    rows = without_size(part.rows)
    order = (
        rows.filter(quantity="time")
        .sort(pl.col("level") == "overall", "time_ratio", "panel")["panel"]
        .to_list()
    )
    sides = [
        _side(rows.filter(quantity=quantity), order, theme, (name, ends), 0 if at else names)
        for at, (quantity, name) in enumerate(QUANTITIES.items())
    ]
    block: alt.HConcatChart = alt.hconcat(*sides, spacing=22).resolve_scale(y="shared")
    return block


def _side(
    rows: pl.DataFrame,
    order: list[str],
    theme: Theme,
    across: tuple[str, tuple[float, float]],
    names: float,
) -> alt.LayerChart:
    axis = alt.Axis(
        labelExpr=SIGNED,
        tickCount=4,
        grid=True,
        title=f"change of {across[0]}, %",
        labelFontSize=LETTERS - 1,
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
            minExtent=names,
            maxExtent=names,
        )
        if names
        else None,
    )
    colours = dict.fromkeys(RESULTS, theme.ink)
    colours |= {FASTER: theme.gain, SLOWER: theme.loss}
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    ink = alt.Color("verdict:N", legend=None, scale=scale)
    layers = interval_layers(rows, (axis, across[1]), y, ink, theme)
    return layers.properties(width=WIDTH, height=ROW * len(order))
