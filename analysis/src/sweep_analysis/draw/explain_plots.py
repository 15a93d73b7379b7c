"""Draws time saved beside writes saved. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    SIGNED_PERCENT,
    ChartStyle,
    branch_colours,
    edge_arrows,
    finished,
    side_by_side,
)
from sweep_analysis.stats.explain import Explanation


def explain_figure(found: Explanation, style: ChartStyle) -> alt.ConcatChart:
    """Time saved upwards, writes saved across, a panel per workload, a point per branch and thread count.

    Points on the zero line save no time; intervals are those of the time.
    """
    names = [branch for branch in style.branches if branch in found.cells["branch"]]
    colour, _ = branch_colours(names, style, legend=True)
    charts = []
    for part in found.cells.partition_by("panel", maintain_order=True):
        shares = part.with_columns(
            *(
                (pl.col(name) / pl.col("plain_ns")).alias(name)
                for name in ("saved_ns", "saved_ns_low", "saved_ns_high")
            ),
            (pl.col("saved_writes") / pl.col("plain_writes")).clip(-1, 1).alias("saved_writes"),
        )
        widest = 1.2 * max(0.03, *shares["saved_ns"].abs())
        scale = alt.Scale(domain=[-widest, widest], clamp=True, nice=False)
        x = alt.X(
            "saved_writes:Q",
            scale=alt.Scale(domain=[-1, 1]),
            title="share of writes saved",
            axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5),
        )
        y = alt.Y(
            "saved_ns:Q",
            scale=scale,
            title="share of time saved",
            axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5),
        )
        base = alt.Chart(shares)
        layers = [
            alt.Chart(shares.head(1)).mark_rule(color=style.theme.faint_ink).encode(y=alt.datum(0)),
            base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(
                x=x, y=alt.Y("saved_ns_low:Q", scale=scale), y2="saved_ns_high:Q", color=colour
            ),
            base.mark_point(size=50, filled=True, opacity=1).encode(x=x, y=y, color=colour),
            *edge_arrows(
                shares,
                ("saved_ns_low", "saved_ns_high"),
                ("y", scale, (-widest, widest)),
                {"x": x, "color": colour},
            ),
        ]
        charts.append(
            alt.LayerChart(layer=layers).properties(
                title=str(part["panel"][0]), width=300, height=180
            )
        )
    return finished(side_by_side(charts, 2), style.theme)
