"""Draws how well branches use their threads: efficiency, the Karp–Flatt fraction, fitted laws. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    SIGNED_PERCENT,
    ChartStyle,
    beyond_cpus,
    branch_colours,
    branch_lines,
    side_by_side,
    thread_axis,
    under_each_other,
)
from sweep_analysis.read.labels import count

CHART = (330, 170)
"""Width and height of one chart in pixels."""

LEAST_RESIDUAL = 0.02
"""The axis of residuals reaches at least so far."""

PANELS = {
    "efficiency": "efficiency: speed-up over threads",
    "karp_flatt": "Karp–Flatt fraction: what acts as if serial",
}
"""Columns of `frames.SPEEDUPS` that are drawn, and what they are called."""


def efficiency_figure(speedups: pl.DataFrame, definition: str, style: ChartStyle) -> alt.VConcatChart:
    """All workloads under each other, with one legend of branches. In: rows of `frames.SPEEDUPS`."""
    shown = speedups.filter(pl.col("definition") == definition)
    return under_each_other(shown, lambda part: efficiency_panel(part, style, legend=True), style)


def efficiency_panel(part: pl.DataFrame, style: ChartStyle, *, legend: bool) -> alt.ConcatChart:
    """One workload: efficiency left, Karp–Flatt right. In: rows of `frames.SPEEDUPS` of one panel and definition."""
    part = part.filter(pl.col("branch").is_in(style.branches))
    names = [branch for branch in style.branches if branch in part["branch"]]
    colour, dash = branch_colours(names, style, legend=legend)
    charts = []
    for column, title in PANELS.items():
        rows = part.filter(pl.col(column).is_not_null())
        if rows.is_empty():  # only one thread was measured: no serial fraction
            continue
        threads = sorted(rows["threads"].unique())
        x = thread_axis(threads)
        ends = [min(0.0, *rows[column]), max(1.0, *rows[column]) * 1.1]
        scale = alt.Scale(domain=ends, nice=False, clamp=True)
        encoding = {"x": x, "y": alt.Y(f"{column}:Q", scale=scale, title=None), "color": colour, "strokeDash": dash}
        lines = branch_lines(alt.Chart(rows), names, style, encoding)
        head = alt.TitleParams(title, fontSize=11, fontWeight="normal", color=style.theme.faint_ink, offset=4)
        charts.append(
            alt.LayerChart(layer=[*beyond_cpus(threads, style), *lines]).properties(
                width=CHART[0], height=CHART[1], title=head
            )
        )
    return side_by_side(charts, len(charts))


def law_figure(residuals: pl.DataFrame, law: str, style: ChartStyle) -> alt.VConcatChart:
    """All workloads under each other, with one legend of branches. In: rows of `frames.RESIDUALS_OF_FITS`."""
    shown = residuals.filter(pl.col("law") == law)
    return under_each_other(shown, lambda part: law_panel(part, style, legend=True), style)


def law_panel(part: pl.DataFrame, style: ChartStyle, *, legend: bool) -> alt.ConcatChart:
    """One workload: measured points on fitted curves left, what the law leaves over right.

    In: rows of `frames.RESIDUALS_OF_FITS` of one panel and law.
    """
    names = [branch for branch in style.branches if branch in part["branch"]]
    colour, dash = branch_colours(names, style, legend=legend)
    threads = sorted(part["threads"].unique())
    x = thread_axis(threads)
    first = pl.col("fitted_ns_per_unit").sort_by("threads").first().over("branch")
    shown = part.with_columns(
        (first / pl.col("ns_per_unit")).alias("measured"),
        (first / pl.col("fitted_ns_per_unit")).alias("fitted"),
        (pl.col("residual").exp() - 1).alias("left_over"),
    )
    base = alt.Chart(shown)
    widest = 1.15 * max(LEAST_RESIDUAL, *shown["left_over"].abs())
    over = alt.Y(
        "left_over:Q",
        scale=alt.Scale(domain=[-widest, widest], nice=False),
        title=None,
        axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5),
    )
    curves = [
        base.mark_line(strokeWidth=1.7).encode(x=x, y=alt.Y("fitted:Q", title=None), color=colour, strokeDash=dash),
        base.mark_point(size=26, filled=True, opacity=1).encode(x=x, y=alt.Y("measured:Q", title=None), color=colour),
    ]
    rest = [
        alt.Chart(shown.head(1)).mark_rule(color=style.theme.faint_ink).encode(y=alt.datum(0)),
        *branch_lines(base, names, style, {"x": x, "y": over, "color": colour, "strokeDash": dash}),
    ]
    charts = []
    for layers, title in (
        (curves, f"speed-up over the fit's time on {count(threads[0], 'thread')}: points measured, curves fitted"),
        (rest, "residual: measured time over fitted time"),
    ):
        head = alt.TitleParams(title, fontSize=11, fontWeight="normal", color=style.theme.faint_ink, offset=4)
        charts.append(alt.LayerChart(layer=layers).properties(width=CHART[0], height=CHART[1], title=head))
    return side_by_side(charts, len(charts))
