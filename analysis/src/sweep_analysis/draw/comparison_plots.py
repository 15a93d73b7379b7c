"""Draws each branch beside the baseline, cell by cell: with intervals, and as a map of claims. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import styles
from sweep_analysis.draw.plots import (
    PANEL_WIDTH,
    PANELS_A_ROW,
    SIGNED_PERCENT,
    THREADS,
    WRITTEN_COLUMNS,
    ChartStyle,
    beyond_in_brackets,
    diverging_colours,
    finished,
    side_by_side,
    ticks,
    under_each_other,
)
from sweep_analysis.read.labels import percent, with_panel
from sweep_analysis.stats.compare import FASTER, SLOWER

HEADED_SPACING = 22
"""Pixels between panels with a head each: so much that a head is nearer to its own panel than to the one above."""
CELL_STEP = (46, 21)
"""Width and height of a cell of the heat map in pixels."""


def interval_figure(comparisons: pl.DataFrame, style: ChartStyle) -> alt.ConcatChart:
    """Change of time against the baseline with its interval, all panels side by side, each with its name.

    In: rows of `frames.COMPARISONS`; only level `cell` is drawn.
    """
    frame = with_panel(comparisons.filter(pl.col("level") == "cell"))
    panels = [
        interval_panel(part, style).properties(title=str(part["panel"][0]))
        for part in frame.partition_by("panel", maintain_order=True)
    ]
    return finished(side_by_side(panels, PANELS_A_ROW), style.theme)


def interval_panel(part: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """One panel: a row per branch, threads across, change of time upwards.

    The grey band is what equal builds show (A/A); full points are claims, hollow ones cannot be told from the baseline,
    and thread counts in brackets exceed the CPUs. In: rows of `frames.COMPARISONS` of level `cell` and one panel.
    """
    looks = styles(style.branches, style.baseline, style.theme)
    present = set(part["branch"])
    order = [branch for branch in style.branches if branch != style.baseline and branch in present]
    frame = part.filter(pl.col("branch").is_in(order))
    shown = frame.with_columns(
        (pl.col("time_ratio") - 1).alias("change"),
        (pl.col("ratio_low") - 1).alias("low"),
        (pl.col("ratio_high") - 1).alias("high"),
        (pl.col("band") - 1).alias("band_high"),
        (1 / pl.col("band") - 1).alias("band_low"),
        pl.col("verdict").is_in([FASTER, SLOWER]).alias("claimed"),
    )
    widest = max(0.05, *shown["change"].abs(), *shown["band_high"].drop_nulls())
    y_scale = alt.Scale(domain=[-1.15 * widest, 1.15 * widest], clamp=True, nice=False)
    axis = alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=3)
    threads = sorted(frame["threads"].unique().to_list())
    across = alt.Axis(labelAngle=0, values=ticks(threads), labelExpr=beyond_in_brackets(threads, style))
    x = alt.X("threads:O", title=THREADS, axis=across)
    colour = alt.Color(
        "branch:N", scale=alt.Scale(domain=order, range=[looks[name].colour for name in order]), legend=None
    )
    theme = style.theme
    base = alt.Chart(shown)
    low_high = {"y": alt.Y("low:Q", scale=y_scale, title=None, axis=axis), "y2": "high:Q"}
    band = {"y": alt.Y("band_low:Q", scale=y_scale, title=None, axis=axis), "y2": "band_high:Q"}
    hollow = alt.condition("datum.claimed", colour, alt.value(theme.paper))
    layered = alt.layer(
        base.mark_bar(color=theme.grid, width=alt.RelativeBandSize(1)).encode(x=x, **band),
        base.mark_rule(color=theme.faint_ink).encode(y=alt.datum(0)),
        base.mark_rule(strokeWidth=1.6).encode(x=x, **low_high, color=colour),
        base.mark_point(size=34, filled=False, opacity=1).encode(
            x=x, y=alt.Y("change:Q", scale=y_scale), stroke=colour, fill=hollow
        ),
    ).properties(width=PANEL_WIDTH, height=56)
    faceted: alt.FacetChart = layered.facet(
        row=alt.Row(
            "branch:N",
            sort=order,
            title=None,
            header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top", labelAnchor="start", labelPadding=2),
        ),
        spacing=HEADED_SPACING,
    )
    return faceted


def ratio_figure(comparisons: pl.DataFrame, style: ChartStyle) -> alt.VConcatChart:
    """Heat maps of all panels under each other, the legend being the text in the cells.

    In: rows of `frames.COMPARISONS`; only level `cell` is drawn.
    """
    cells = comparisons.filter(pl.col("level") == "cell")
    return under_each_other(cells, lambda part: ratio_panel(part, style), style)


def ratio_panel(part: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Time of each branch relative to the baseline: branches down, threads across.

    Only cells with a claim are coloured; grey cells cannot be told from the baseline. In: rows of
    `frames.COMPARISONS` of level `cell` and one panel.
    """
    theme = style.theme
    order = [branch for branch in style.branches if branch != style.baseline]
    twins = [branch for branch in part["branch"].unique(maintain_order=True) if branch not in order]
    within, beyond = "within the CPUs", "over the CPUs"
    shown = part.with_columns(
        pl.col("time_ratio").map_elements(percent, return_dtype=pl.String).alias("label"),
        pl.when(pl.col("oversubscribed")).then(pl.lit(beyond)).otherwise(pl.lit(within)).alias("side"),
        pl.when(pl.col("verdict").is_in([FASTER, SLOWER])).then(pl.col("time_ratio") - 1).alias("claimed"),
    )
    encode = {
        "x": alt.X("threads:O", title=THREADS, axis=alt.Axis(labelAngle=0, ticks=False, domain=False)),
        "y": alt.Y(
            "branch:N",
            sort=[*order, *twins],
            title=None,
            axis=alt.Axis(labelLimit=400, ticks=False, domain=False),
        ),
    }
    diverging = diverging_colours(theme)
    tip = ["branch", "threads", "label", "verdict", "pairs", alt.Tooltip("band:Q", format=".3f")]
    base = alt.Chart(shown)
    grey = base.mark_rect(color=theme.neutral_cell, stroke=theme.paper, strokeWidth=2).encode(**encode, tooltip=tip)
    coloured = (
        base.transform_filter("isValid(datum.claimed)")
        .mark_rect(stroke=theme.paper, strokeWidth=2)
        .encode(**encode, color=alt.Color("claimed:Q", scale=diverging, legend=None), tooltip=tip)
    )
    strong = base.transform_filter("isValid(datum.claimed)").mark_text(
        fontSize=10.5, fontWeight="bold", color=theme.ink
    )
    weak = base.transform_filter("!isValid(datum.claimed)").mark_text(fontSize=10, color=theme.faint_ink)
    columns = part["threads"].n_unique()
    written = [strong.encode(**encode, text="label"), weak.encode(**encode, text="label")]
    narrow = columns > WRITTEN_COLUMNS
    layered = alt.layer(grey, coloured, *([] if narrow else written)).properties(
        width=alt.Step(CELL_STEP[0] * WRITTEN_COLUMNS / columns if narrow else CELL_STEP[0]),
        height=alt.Step(CELL_STEP[1]),
    )
    sides = alt.Column(
        "side:N",
        sort=[within, beyond],
        title=None,
        # In two lines: a side may be as narrow as a single cell.
        header=alt.Header(labelFontStyle="italic", labelExpr="split(replace(datum.label, ' ', '\\n'), '\\n')"),
    )
    faceted: alt.FacetChart = layered.facet(column=sides, spacing=14).resolve_scale(x="independent")
    return faceted
