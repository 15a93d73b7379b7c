"""Draws the time of a simulated machine's cores by activity. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import PERCENT, SMALLEST, ChartStyle
from sweep_analysis.read.labels import count
from sweep_analysis.stats.simulated import SPENT_ON

WIDTH = 620
ROW = 19
FEW_COLUMNS = 4
"""Maximum number of columns whose axes are wide enough for a label in the middle."""
KEY_COLUMNS = 4
COLOURS = {
    "work": "#4477aa",
    "jobs": "#66ccee",
    "search": "#ccbb44",
    "lines": "#ee6677",
    "system": "#aa3377",
    "waking": "#228833",
    "asleep": "#bbbbbb",
}
"""Paul Tol's bright colours, which differ from the branches' colours."""


def spent_panel(part: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Draw one workload: a column per thread count with a bar per branch, divided by activity of the cores.

    In: rows of `frames.SPENT_SHARES` of one panel.
    """
    names = [branch for branch in style.branches if branch in part["branch"]]
    threads = sorted(part["threads"].unique())
    heads = {number: count(number, "thread") for number in threads}
    kinds = list(SPENT_ON)
    shown = part.filter(pl.col("branch").is_in(names)).with_columns(
        pl.col("threads").replace_strict(heads, return_dtype=pl.String).alias("column"),
        pl.col("spent_on").replace_strict(SPENT_ON, return_dtype=pl.String).alias("did"),
        pl.col("spent_on")
        .replace_strict(kinds, range(len(kinds)), return_dtype=pl.Int64)
        .alias("order"),
    )
    x = alt.X(
        "share:Q",
        stack="zero",
        title=None,
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(
            labelExpr=PERCENT,
            values=[0, 1] if len(threads) > FEW_COLUMNS else [0, 0.5, 1],
            labelFlush=True,
        ),
    )
    y = alt.Y(
        "branch:N", sort=names, title=None, axis=alt.Axis(labelLimit=400, ticks=False, domain=False)
    )
    colour = alt.Color(
        "did:N",
        sort=list(SPENT_ON.values()),
        scale=alt.Scale(domain=list(SPENT_ON.values()), range=[COLOURS[kind] for kind in kinds]),
        legend=alt.Legend(orient="top", columns=KEY_COLUMNS, title=None, symbolType="square"),
    )
    bars = (
        alt.Chart(shown)
        .mark_bar(height=ROW - 5)
        .encode(x=x, y=y, color=colour, order="order:O")
        .properties(width=WIDTH // len(threads) - 12, height=ROW * len(names))
    )
    faceted: alt.FacetChart = bars.facet(
        column=alt.Column(
            "column:N",
            sort=list(heads.values()),
            title=None,
            header=alt.Header(labelAnchor="start", labelFontSize=SMALLEST),
        ),
        spacing=12,
    )
    return faceted
