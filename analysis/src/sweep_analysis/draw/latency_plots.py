"""Draws latencies: quantiles on the x axis, latency on the y axis, a line per branch. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    ChartStyle,
    branch_colours,
    branch_lines,
    side_by_side,
)
from sweep_analysis.read.labels import count
from sweep_analysis.stats.latency import KINDS, QUANTILES

CHART = (205, 150)
CHARTS_A_ROW = 3
LEAST_US = 0.1
"""Lower limit, in µs, of the latency from which an axis is computed. The axis begins 20 % below that latency."""
MOST_LABELS = 8
IN_WORDS = (
    "datum.value >= 1e6 ? datum.value / 1e6 + ' s' : "
    "datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' µs'"
)


def latency_panel(part: pl.DataFrame, style: ChartStyle) -> alt.ConcatChart:
    """Draw one workload: a chart for each kind of latency and thread count; charts of one kind share their axis.

    The grey band is the range of the baseline's trials. In: rows of `frames.LATENCIES` with `panel`.
    """
    drawn = part.filter(pl.col("branch").is_in(style.branches))
    kinds = [kind for kind in KINDS if kind in drawn["kind"]]
    threads = sorted(drawn["threads"].unique())
    charts = []
    for kind in kinds:
        rows = drawn.filter(pl.col("kind") == kind)
        ends = _ends(rows, style)
        charts += [
            _chart(rows.filter(pl.col("threads") == number), ends, style)
            for number in threads
            if number in rows["threads"]
        ]
    return side_by_side(charts, min(len(threads), CHARTS_A_ROW))


def _ends(rows: pl.DataFrame, style: ChartStyle) -> list[float]:
    """Return the ends of the axis of one kind: it fits all lines and the baseline's band, without zero."""
    bands = rows.filter(pl.col("branch") == style.baseline)
    waits = [*rows["wait_us"], *bands["wait_us_low"], *bands["wait_us_high"]]
    return [0.8 * max(LEAST_US, min(waits)), 1.25 * max(LEAST_US, *waits)]


def _chart(rows: pl.DataFrame, ends: list[float], style: ChartStyle) -> alt.LayerChart:
    theme = style.theme
    names = [branch for branch in style.branches if branch in set(rows["branch"])]
    colour, dash = branch_colours(names, style)
    x = alt.X("quantile:O", sort=list(QUANTILES), title=None, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(type="log", domain=ends, nice=False, clamp=True)
    y = alt.Y(
        "wait_us:Q",
        scale=scale,
        title="latency",
        axis=alt.Axis(labelExpr=IN_WORDS, tickCount=MOST_LABELS, labelOverlap=True),
    )
    base = alt.Chart(rows)
    band = (
        alt.Chart(rows.filter(pl.col("branch") == style.baseline))
        .mark_area(opacity=0.18, color=theme.ink)
        .encode(x=x, y=alt.Y("wait_us_low:Q", scale=scale), y2="wait_us_high:Q")
    )
    lines = branch_lines(base, names, style, {"x": x, "y": y, "color": colour, "strokeDash": dash})
    oversubscribed = " (over the CPUs)" if rows["oversubscribed"].any() else ""
    title = alt.TitleParams(
        [KINDS[rows["kind"][0]], f"{count(rows['threads'][0], 'thread')}{oversubscribed}"],
        fontSize=11,
        fontWeight="normal",
        color=theme.faint_ink,
        offset=4,
    )
    return alt.LayerChart(layer=[band, *lines]).properties(
        title=title, width=CHART[0], height=CHART[1]
    )
