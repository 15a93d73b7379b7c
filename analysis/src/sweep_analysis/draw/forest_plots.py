"""Draws what one branch changes in many programs as a forest plot of several sweeps. No statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import SIGNED_PERCENT, edge_arrows, finished
from sweep_analysis.read.labels import without_size
from sweep_analysis.stats.compare import FASTER, SLOWER

WIDTH = 150
"""Of the part of a quantity in pixels: both and the names are about 460 wide, so that a narrow page shrinks letters little."""
ROW = 19
"""Height of a program in pixels."""
NAMES = 92
"""Width of the programs' names, so that the blocks stand exactly under each other."""
LETTERS = 13
"""Height of the letters of names and titles in pixels."""
ENDS = (-0.6, 0.3)
"""Ends of the axis of changes. Points and intervals beyond end in an arrow."""
QUANTITIES = {"time": "wall time", "cpu": "CPU time"}


@dataclass(frozen=True)
class Part:
    """The programs of one sweep.

    Attributes: title: what they are and where they ran, a line each. rows: of
        `frames.COMPARISONS` with `panel`: one branch and baseline, level `workload`, and
        `QUANTITIES`.
    """

    title: Sequence[str]
    rows: pl.DataFrame


def forest(parts: Sequence[Part], theme: Theme = LIGHT) -> alt.VConcatChart:
    """A block for each part: a row for each program, wall time left and CPU time right.

    Programs are in the order of their wall time, what takes longest last. The grey bar is the noise
    floor. A full point is significant, a hollow one is inconclusive.
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
) -> alt.LayerChart | alt.FacetChart:
    shown = rows.with_columns(
        (pl.col("time_ratio") - 1).alias("change"),
        (pl.col("ratio_low") - 1).alias("low"),
        (pl.col("ratio_high") - 1).alias("high"),
        (pl.col("band") - 1).alias("band_high"),
        (1 / pl.col("band") - 1).alias("band_low"),
        pl.when(verdict=FASTER)
        .then(pl.lit(theme.faster[2]))
        .when(verdict=SLOWER)
        .then(pl.lit(theme.slower[2]))
        .otherwise(pl.lit(theme.paper))
        .alias("fill"),
    )
    x = alt.Scale(domain=list(ENDS), clamp=True, nice=False)
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
    base = alt.Chart(shown)

    def between(low: str, high: str) -> dict[str, Any]:
        return {"x": alt.X(f"{low}:Q", scale=x, axis=axis), "x2": high, "y": y}

    ink = {"y": y, "color": alt.value(theme.ink)}
    layered: alt.LayerChart | alt.FacetChart = alt.layer(
        base.mark_bar(color=theme.grid, height=ROW - 5).encode(**between("band_low", "band_high")),
        base.mark_rule(color=theme.faint_ink).encode(x=alt.datum(0, scale=x)),
        base.mark_rule(strokeWidth=1.8, color=theme.ink).encode(**between("low", "high")),
        base.mark_point(size=52, opacity=1, strokeWidth=1.6, stroke=theme.ink).encode(
            x=alt.X("change:Q", scale=x), y=y, fill=alt.Fill("fill:N", scale=None)
        ),
        *edge_arrows(shown, ("low", "high"), ("x", x, ENDS), ink),
    ).properties(width=WIDTH, height=ROW * len(order))
    return layered
