"""Draws how well branches use their threads: efficiency and the Karp–Flatt fraction. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.labels import with_panel
from sweep_analysis.plots import Look, beyond_cpus, branch_colours, branch_lines, finished, side_by_side, ticks

CHART = (330, 170)
"""Width and height of one chart in pixels."""

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
