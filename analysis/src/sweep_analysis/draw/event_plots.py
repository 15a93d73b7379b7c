"""Draws event rates: a small chart per kind of event, with threads on the x axis and a line per branch."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    SMALLEST,
    THREADS,
    ChartStyle,
    branch_colours,
    branch_lines,
    side_by_side,
    ticks,
)
from sweep_analysis.stats.events import HEADLINE, scale

CHART = (190, 120)
CHARTS_A_ROW = 4


def event_panel(part: pl.DataFrame, style: ChartStyle) -> alt.ConcatChart:
    """Draw one workload: a small chart per event of `HEADLINE`, whose rate axis begins at zero.

    Rates are per 1, 1000 or more units of work, so that labels are short. The bar at a point is the
    range of the trials. In: rows of `events.headline_rates` with `panel`.
    """
    present = [event for event in HEADLINE if event in part["event"]]
    charts = [_small(part.filter(pl.col("event") == event), style) for event in present]
    return side_by_side(charts, CHARTS_A_ROW)


def _small(rows: pl.DataFrame, style: ChartStyle) -> alt.LayerChart:
    names = [branch for branch in style.branches if branch in set(rows["branch"])]
    colour, dash = branch_colours(names, style)
    factor, words = scale(rows["per_unit"])
    unit = rows["work_unit"][0]
    title = alt.TitleParams(
        HEADLINE[rows["event"][0]],
        subtitle=f"per {words}{unit}" if words else f"per unit of work ({unit})",
        fontSize=12,
        subtitleFontSize=SMALLEST,
        subtitleColor=style.theme.faint_ink,
    )
    rates = ("per_unit", "per_unit_low", "per_unit_high")
    rows = rows.with_columns(*((pl.col(name) * factor).alias(name) for name in rates))
    threads = sorted(rows["threads"].unique().to_list())
    base = alt.Chart(rows).encode(
        x=alt.X(
            "threads:O",
            title=THREADS,
            axis=alt.Axis(labelAngle=0, values=ticks(threads), grid=False),
        ),
        color=colour,
    )
    y = alt.Y(
        "per_unit:Q",
        title=None,
        scale=alt.Scale(domain=[0, max(1.0, *rows["per_unit_high"])]),
        axis=alt.Axis(
            tickCount=4, format=",~r", minExtent=38
        ),  # `minExtent` makes all axes equally wide, which aligns the charts
    )
    lines = branch_lines(base, names, style, {"y": y, "strokeDash": dash})
    spread = base.mark_rule(strokeWidth=1).encode(y=alt.Y("per_unit_low:Q"), y2="per_unit_high:Q")
    return alt.LayerChart(layer=[spread, *lines]).properties(
        title=title, width=CHART[0], height=CHART[1]
    )
