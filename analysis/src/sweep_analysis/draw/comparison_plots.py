"""Draws each branch beside the baseline, cell by cell, as a map of claims. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    SMALLEST,
    THREADS,
    WRITTEN_COLUMNS,
    ChartStyle,
    diverging_colours,
    under_each_other,
)
from sweep_analysis.read.labels import percent
from sweep_analysis.stats.compare import FASTER, SLOWER

CELL_STEP = (48, 21)
"""Width and height of a cell of the heat map in pixels."""


def ratio_figure(comparisons: pl.DataFrame, style: ChartStyle) -> alt.VConcatChart:
    """Heat maps of all panels under each other, the legend being the text in the cells.

    In: rows of `frames.COMPARISONS`; only level `cell` is drawn.
    """
    cells = comparisons.filter(pl.col("level") == "cell")
    return under_each_other(cells, lambda part: ratio_panel(part, style), style)


def ratio_panel(part: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Time of each branch relative to the baseline: branches down, threads across.

    Only significant cells are coloured; grey cells are inconclusive or not judged.

    In: rows of `frames.COMPARISONS` of level `cell` and one panel.
    """
    theme = style.theme
    order = [branch for branch in style.branches if branch != style.baseline]
    twins = [branch for branch in part["branch"].unique(maintain_order=True) if branch not in order]
    within, beyond = "within the CPUs", "over the CPUs"
    shown = part.with_columns(
        pl.col("time_ratio").map_elements(percent, return_dtype=pl.String).alias("label"),
        pl.when(pl.col("oversubscribed"))
        .then(pl.lit(beyond))
        .otherwise(pl.lit(within))
        .alias("side"),
        pl.when(pl.col("verdict").is_in([FASTER, SLOWER]))
        .then(pl.col("time_ratio") - 1)
        .alias("claimed"),
    )
    encode = {
        "x": alt.X(
            "threads:O", title=THREADS, axis=alt.Axis(labelAngle=0, ticks=False, domain=False)
        ),
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
    grey = base.mark_rect(color=theme.neutral_cell, stroke=theme.paper, strokeWidth=2).encode(
        **encode, tooltip=tip
    )
    coloured = (
        base.transform_filter("isValid(datum.claimed)")
        .mark_rect(stroke=theme.paper, strokeWidth=2)
        .encode(**encode, color=alt.Color("claimed:Q", scale=diverging, legend=None), tooltip=tip)
    )
    strong = base.transform_filter("isValid(datum.claimed)").mark_text(
        fontSize=SMALLEST, fontWeight="bold", color=theme.ink
    )
    weak = base.transform_filter("!isValid(datum.claimed)").mark_text(
        fontSize=SMALLEST, color=theme.faint_ink
    )
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
        header=alt.Header(
            labelFontStyle="italic", labelExpr="split(replace(datum.label, ' ', '\\n'), '\\n')"
        ),
    )
    faceted: alt.FacetChart = layered.facet(column=sides, spacing=14).resolve_scale(x="independent")
    return faceted
