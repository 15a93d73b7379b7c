"""Draws wall and CPU time of branches against the baseline. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import styles
from sweep_analysis.draw.plots import (
    ROW,
    SIGNED_PERCENT,
    SMALLEST,
    ChartStyle,
    interval_layers,
)
from sweep_analysis.read.labels import with_panel

WIDTH = 250
NARROWEST = 0.05
"""Minimum end of the axis on either side, as a relative change."""
SPARE = 1.15
TOGETHER = "all workloads together"

WALL, CPU = "wall time", "CPU time"


def cost_rows(wall: pl.DataFrame, cpu: pl.DataFrame) -> pl.DataFrame:
    """The pooled rows of both comparisons in one frame, with `panel` and `quantity`: workloads, then all together.

    In: rows of `frames.COMPARISONS`, one frame in wall time and one in CPU time.
    """
    both = pl.concat(
        [
            frame.with_columns(pl.lit(name).alias("quantity"))
            for name, frame in ((WALL, wall), (CPU, cpu))
        ]
    ).filter(pl.col("level") != "cell")
    named = with_panel(both).with_columns(pl.col("panel").fill_null(TOGETHER))
    single = named.filter(pl.col("level") == "workload")["panel"].n_unique() == 1
    pooled = named.filter(pl.col("level") == "overall")
    return pl.concat(
        [named.filter(pl.col("level") == "workload"), pooled.clear() if single else pooled]
    )


def cost_panel(part: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """One workload: a row per branch, with wall time left and CPU time right, each with its interval.

    The grey bar is the noise floor; full points are significant, hollow ones are inconclusive. An
    interval that leaves the axis ends in an arrow. In: rows of `cost_rows` of one panel.
    """
    theme = style.theme
    looks = styles(style.branches, style.baseline, theme)
    present = part["branch"].unique(maintain_order=True).to_list()
    order = [branch for branch in style.branches if branch in present]
    order += [branch for branch in present if branch not in order]
    colours = [looks[name].colour if name in looks else theme.faint_ink for name in order]
    changes = (part["time_ratio"] - 1).abs()
    widest = SPARE * max(NARROWEST, *changes, *(part["band"].drop_nulls() - 1))
    axis = alt.Axis(
        labelExpr=SIGNED_PERCENT, tickCount=5, grid=True, title="change against the baseline"
    )
    y = alt.Y(
        "branch:N", sort=order, title=None, axis=alt.Axis(labelLimit=400, ticks=False, domain=False)
    )
    colour = alt.Color("branch:N", scale=alt.Scale(domain=order, range=colours), legend=None)
    across = axis, (-widest, widest)
    layered = interval_layers(part, across, y, colour, theme).properties(
        width=WIDTH, height=ROW * len(order)
    )
    faceted: alt.FacetChart = layered.facet(
        column=alt.Column(
            "quantity:N",
            sort=[WALL, CPU],
            title=None,
            header=alt.Header(labelAnchor="start", labelFontSize=SMALLEST),
        ),
        spacing=20,
    )
    return faceted
