"""Draws how well branches use their threads: efficiency, the Karp–Flatt fraction, fitted laws. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.labels import count, with_panel
from sweep_analysis.plots import (
    SIGNED_PERCENT,
    Look,
    beyond_cpus,
    branch_colours,
    branch_lines,
    finished,
    side_by_side,
    ticks,
)

CHART = (330, 170)
"""Width and height of one chart in pixels."""

LEAST_RESIDUAL = 0.02
"""The axis of residuals reaches at least so far."""

FIGURES = {
    "efficiency": "efficiency: speed-up over threads",
    "karp_flatt": "Karp–Flatt fraction: what acts as if serial",
}
"""Columns of `schema.SPEEDUPS` that are drawn, and what they are called."""


def efficiency_figure(speedups: pl.DataFrame, definition: str, look: Look) -> alt.VConcatChart:
    """All workloads under each other, with one legend of branches. In: rows of `schema.SPEEDUPS`."""
    frame = with_panel(speedups.filter(pl.col("definition") == definition))
    panels = [
        efficiency_panel(part, look, legend=True).properties(title=str(part["panel"][0]))
        for part in frame.partition_by("panel", maintain_order=True)
    ]
    stacked: alt.VConcatChart = alt.vconcat(*panels, spacing=22).resolve_scale(color="shared", strokeDash="shared")
    return finished(stacked, look.theme)


def efficiency_panel(part: pl.DataFrame, look: Look, *, legend: bool) -> alt.ConcatChart:
    """One workload: efficiency left, Karp–Flatt right. In: rows of `schema.SPEEDUPS` of one panel and definition."""
    part = part.filter(pl.col("branch").is_in(look.branches))
    names = [branch for branch in look.branches if branch in part["branch"]]
    colour, dash = branch_colours(names, look, legend=legend)
    charts = []
    for column, title in FIGURES.items():
        rows = part.filter(pl.col(column).is_not_null())
        if rows.is_empty():  # only one thread was measured: no serial fraction
            continue
        threads = sorted(rows["threads"].unique())
        x = alt.X(
            "threads:Q",
            scale=alt.Scale(type="log", base=2, domain=[threads[0], max(threads[-1], threads[0] * 2)], nice=False),
            axis=alt.Axis(values=ticks(threads), format="d", title="threads of the pool"),
        )
        ends = [min(0.0, *rows[column]), max(1.0, *rows[column]) * 1.1]
        scale = alt.Scale(domain=ends, nice=False, clamp=True)
        encoding = {"x": x, "y": alt.Y(f"{column}:Q", scale=scale, title=None), "color": colour, "strokeDash": dash}
        lines = branch_lines(alt.Chart(rows), names, look, encoding)
        head = alt.TitleParams(title, fontSize=11, fontWeight="normal", color=look.theme.faint_ink, offset=4)
        charts.append(
            alt.LayerChart(layer=[*beyond_cpus(threads, look), *lines]).properties(
                width=CHART[0], height=CHART[1], title=head
            )
        )
    return side_by_side(charts, len(charts))


def law_figure(residuals: pl.DataFrame, law: str, look: Look) -> alt.VConcatChart:
    """All workloads under each other, with one legend of branches. In: rows of `schema.RESIDUALS_OF_FITS`."""
    frame = with_panel(residuals.filter(pl.col("law") == law))
    panels = [
        law_panel(part, look, legend=True).properties(title=str(part["panel"][0]))
        for part in frame.partition_by("panel", maintain_order=True)
    ]
    stacked: alt.VConcatChart = alt.vconcat(*panels, spacing=22).resolve_scale(color="shared", strokeDash="shared")
    return finished(stacked, look.theme)


def law_panel(part: pl.DataFrame, look: Look, *, legend: bool) -> alt.ConcatChart:
    """One workload: measured points on fitted curves left, what the law leaves over right.

    In: rows of `schema.RESIDUALS_OF_FITS` of one panel and law.
    """
    names = [branch for branch in look.branches if branch in part["branch"]]
    colour, dash = branch_colours(names, look, legend=legend)
    threads = sorted(part["threads"].unique())
    x = alt.X(
        "threads:Q",
        scale=alt.Scale(type="log", base=2, domain=[threads[0], max(threads[-1], threads[0] * 2)], nice=False),
        axis=alt.Axis(values=ticks(threads), format="d", title="threads of the pool"),
    )
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
        alt.Chart(shown.head(1)).mark_rule(color=look.theme.faint_ink).encode(y=alt.datum(0)),
        *branch_lines(base, names, look, {"x": x, "y": over, "color": colour, "strokeDash": dash}),
    ]
    charts = []
    for layers, title in (
        (curves, f"speed-up over the fit's time on {count(threads[0], 'thread')}: points measured, curves fitted"),
        (rest, "residual: measured time over fitted time"),
    ):
        head = alt.TitleParams(title, fontSize=11, fontWeight="normal", color=look.theme.faint_ink, offset=4)
        charts.append(alt.LayerChart(layer=layers).properties(width=CHART[0], height=CHART[1], title=head))
    return side_by_side(charts, len(charts))
