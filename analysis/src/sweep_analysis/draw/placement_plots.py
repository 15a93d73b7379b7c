"""Draws what pinning workers changes. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import styles
from sweep_analysis.draw.plots import SIGNED_PERCENT, ChartStyle, finished
from sweep_analysis.read.labels import count, with_panel, without_size
from sweep_analysis.read.schema import FREE
from sweep_analysis.stats.placements import QUANTITIES

WIDTH = 210
ROW = 26
"""Height of a workload at one thread count in pixels."""
NARROWEST = 0.05
"""The axis reaches at least so far to either side."""
SPARE = 1.1


def placement_figure(placed: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Change by pinning: a row per workload and thread count, a column per quantity.

    A small point per branch, a large one with its interval for all together, full if beyond noise; intervals are cut
    off at the edge. In: rows of `frames.PLACEMENTS`.
    """
    theme = style.theme
    named = without_size(with_panel(placed.filter(pl.col("level") != "branch").with_columns(placement=pl.lit(FREE))))
    shown = named.with_columns(
        pl.struct("panel", "threads")
        .map_elements(lambda row: f"{row['panel']}, {count(row['threads'], 'thread')}", return_dtype=pl.String)
        .alias("row"),
        (pl.col("ratio") - 1).alias("change"),
        (pl.col("ratio_low") - 1).alias("low"),
        (pl.col("ratio_high") - 1).alias("high"),
    )
    order = shown.sort("panel", "threads")["row"].unique(maintain_order=True).to_list()
    names = [branch for branch in style.branches if branch in shown["branch"]]
    looks = styles(style.branches, style.baseline, theme)
    widest = SPARE * max(NARROWEST, *shown["change"].abs())
    scale = alt.Scale(domain=[-widest, widest], clamp=True, nice=False)
    axis = alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5, grid=True)
    x = alt.X("change:Q", scale=scale, axis=axis, title="pinned against free")
    y = alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelLimit=300, ticks=False, domain=False))
    colour = alt.Color(
        "branch:N",
        sort=names,
        scale=alt.Scale(domain=names, range=[looks[name].colour for name in names]),
        legend=alt.Legend(orient="bottom", columns=2, title=None, labelLimit=400, symbolType="circle", symbolOpacity=1),
    )
    base = alt.Chart(shown)
    of_branches = base.transform_filter(alt.FieldOneOfPredicate("branch", names))
    together = base.transform_filter(alt.FieldEqualPredicate(field="level", equal="workload"))
    full = alt.condition("datum.moved", alt.value(theme.ink), alt.value(theme.paper))
    layered = alt.layer(
        base.mark_rule(color=theme.faint_ink).encode(x=alt.datum(0, scale=scale)),
        of_branches.mark_point(size=18, filled=True, opacity=0.9, yOffset=6).encode(x=x, y=y, color=colour),
        together.mark_rule(strokeWidth=1.8, color=theme.ink, yOffset=-4).encode(
            x=alt.X("low:Q", scale=scale, axis=axis, title="pinned against free"), x2="high", y=y
        ),
        together.mark_point(size=50, opacity=1, strokeWidth=1.8, stroke=theme.ink, yOffset=-4).encode(
            x=x, y=y, fill=full
        ),
    ).properties(width=WIDTH, height=alt.Step(ROW))
    present = [name for name in QUANTITIES if name in shown["quantity"]]
    faceted = layered.facet(
        column=alt.Column(
            "quantity:N", sort=present, title=None, header=alt.Header(labelAnchor="start", labelFontSize=11)
        ),
        spacing=18,
    )
    return finished(faceted, theme)
