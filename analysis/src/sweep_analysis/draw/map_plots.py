"""Draws gains and losses of branches as heat maps, whose cells show the change in per cent. No statistics."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    QUANTITIES,
    THREADS,
    WRITTEN_COLUMNS,
    ChartStyle,
    diverging_colours,
    finished,
)
from sweep_analysis.read.labels import with_panel, without_size
from sweep_analysis.stats.compare import FASTER, SLOWER

STEP = (40, 20)
NUMBER = 12
"""Height of the numbers in the cells, and of the names beside them."""
NARROW = 16
FIGURE_WIDTH = 860
"""Width of all maps in one row, with labels, in pixels."""
LETTER = 7
"""Approximate width of a letter of a label in pixels."""
LEAST = 0.0005
"""Smaller changes, which round to ±0.0 %, are grey."""
WHOLE = 0.0995
"""Larger changes are written without a decimal place."""
TOGETHER = "all workloads together"


def pooled_rows(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of each workload, then of all workloads together, in wall and CPU time, with `panel`.

    In: rows of `frames.COMPARISONS`.
    """
    rows = comparisons.filter(
        pl.col("level").is_in(["workload", "overall"]), pl.col("quantity").is_in([*QUANTITIES])
    )
    named = with_panel(rows).with_columns(pl.col("panel").fill_null(TOGETHER))
    return named.sort(pl.col("level") == "overall", maintain_order=True)


def gains_figure(comparisons: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Draw gains: a column per branch, a row per workload; wall time on the left, CPU time on the right.

    Thread counts are pooled as in `compare.POOLED`; the last column is the A/A control.
    In: rows of `frames.COMPARISONS`.
    """
    rows = pooled_rows(comparisons)
    shown = _shown(without_size(rows)).with_columns(
        pl.col("quantity").replace_strict(QUANTITIES, return_dtype=pl.String)
    )
    across = alt.Axis(
        orient="top",
        labelAngle=-90,
        labelLimit=0,
        labelFontSize=NUMBER,
        ticks=False,
        domain=False,
    )
    x = alt.X("branch:N", sort=_order(shown, style), title=None, axis=across)
    faceted: alt.FacetChart = _map(shown, x, style, STEP[0], written=True).facet(
        column=alt.Column("quantity:N", sort=[*QUANTITIES.values()], title=None, header=_HEAD),
        spacing=20,
    )
    return finished(faceted, style.theme)


def map_figure(comparisons: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Draw a map for each branch and for the A/A control: a row per workload, a column per thread count.

    In: rows of `frames.COMPARISONS` in one quantity; only level `cell` is drawn.
    """
    rows = without_size(with_panel(comparisons.filter(pl.col("level") == "cell")))
    shown = _shown(rows)
    order, columns = _order(shown, style), shown["threads"].n_unique()
    is_written = columns <= WRITTEN_COLUMNS
    step = STEP[0] if is_written else NARROW
    x = alt.X(
        "threads:O",
        title=THREADS,
        axis=alt.Axis(labelAngle=0, ticks=False, domain=False, labelOverlap=not is_written),
    )
    width = max(step * columns, *(LETTER * len(name) for name in order)) + 20
    label = max(LETTER * len(name) for name in shown["panel"])
    faceted: alt.FacetChart = (
        _map(shown, x, style, step, written=is_written)
        .facet(
            facet=alt.Facet("branch:N", sort=order, title=None, header=_HEAD),
            columns=max(1, min(len(order), (FIGURE_WIDTH - label) // width)),
            spacing={"row": 14, "column": width - step * columns},
        )
        .resolve_axis(x="independent")
    )  # if the last row of maps is short, a shared axis would be far below it
    return finished(faceted, style.theme)


_HEAD = alt.Header(labelAnchor="start", labelFontSize=NUMBER, labelPadding=4)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """Compute the columns for drawing.

    They are `label` in per cent, `outside` (the change, if outside the noise floor), and `claimed`
    (whether the change is significant).
    """
    change = pl.col("time_ratio") - 1
    is_outside = (pl.col("time_ratio").log().abs() > pl.col("band").log()) & (change.abs() >= LEAST)
    return rows.select(
        *("panel", "threads", "branch", "quantity"),
        change.map_elements(_per_cent, return_dtype=pl.String).alias("label"),
        pl.when(is_outside).then(change).alias("outside"),
        pl.col("verdict").is_in([FASTER, SLOWER]).alias("claimed"),
    )


def _per_cent(change: float) -> str:
    digits = 0 if abs(change) >= WHOLE else 1
    rounded = round(100 * change, digits)
    return f"{'+' if rounded > 0 else '−' if rounded < 0 else '±'}{abs(rounded):.{digits}f}"


def _order(shown: pl.DataFrame, style: ChartStyle) -> list[str]:
    """Return the branches that the style lists, then other branches, such as the A/A control."""
    present = shown["branch"].unique(maintain_order=True).to_list()
    known = [branch for branch in style.branches if branch in present]
    return known + [branch for branch in present if branch not in known]


def _map(
    shown: pl.DataFrame, x: alt.X, style: ChartStyle, width: int, *, written: bool
) -> alt.LayerChart:
    """Draw cells: grey inside the noise floor, coloured outside it. Numbers are bold if the change is significant."""
    theme = style.theme
    panels = shown["panel"].unique(maintain_order=True).to_list()
    axis = alt.Axis(labelLimit=0, labelFontSize=NUMBER, ticks=False, domain=False)
    y = alt.Y("panel:N", sort=panels, title=None, axis=axis)
    base = alt.Chart(shown).encode(x=x, y=y)
    edge: dict[str, Any] = {"stroke": theme.paper, "strokeWidth": 2}
    key = alt.Legend(
        title="change in % (grey: inside the noise floor)",
        titleLimit=300,
        orient="top",
        format="+.0%",
        labelExpr="datum.label ? replace(datum.label, /%/g, '\N{NO-BREAK SPACE}%') : ''",
        gradientLength=240,
        gradientThickness=10,
    )
    layers = [
        base.mark_rect(color=theme.neutral_cell, **edge),
        base.transform_filter("isValid(datum.outside)")
        .mark_rect(**edge)
        .encode(color=alt.Color("outside:Q", scale=diverging_colours(theme), legend=key)),
    ]
    weights: list[tuple[str, Any]] = [("true", "bold"), ("false", "normal")] if written else []
    for claimed, weight in weights:
        numbers = base.transform_filter(f"datum.claimed == {claimed}")
        inks = alt.value(theme.ink), alt.value(theme.faint_ink)
        ink = alt.condition("isValid(datum.outside)", *inks)
        layers.append(
            numbers.mark_text(fontSize=NUMBER, fontWeight=weight).encode(text="label", color=ink)
        )
    whole: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=alt.Step(width), height=alt.Step(STEP[1])
    )
    return whole
