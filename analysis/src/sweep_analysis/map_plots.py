"""Draws where a branch gains and loses: one small map per branch, workloads down, threads across."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.compare import FASTER, SLOWER
from sweep_analysis.labels import percent, with_panel
from sweep_analysis.plots import WRITTEN_COLUMNS, Look, diverging_colours, finished

STEP = (42, 21)
"""Width and height of a cell in pixels."""
NARROW = 16
"""Width of a cell that only has a colour."""
FIGURE_WIDTH = 860
"""Width that maps beside each other share, labels included."""
LABEL_WIDTH = 110
LETTER = 6
"""Width of a letter of a branch's name in pixels, about."""
LEAST = 0.0005
"""Changes that read as ±0.0 % stay grey."""


def map_figure(comparisons: pl.DataFrame, look: Look) -> alt.FacetChart:
    """Time, or CPU time, relative to the baseline, a map for each branch; the twin is the baseline against itself.

    Cells inside the A/A band are grey, bold numbers are claims, thread counts in brackets exceed the CPUs. In: rows of
    `frames.COMPARISONS`; only level `cell` is drawn.
    """
    theme = look.theme
    frame = with_panel(comparisons.filter(pl.col("level") == "cell"))
    present = frame["branch"].unique(maintain_order=True).to_list()
    order = [branch for branch in look.branches if branch in present]
    order += [branch for branch in present if branch not in order]
    change = pl.col("time_ratio") - 1
    is_outside = (pl.col("time_ratio").log().abs() > pl.col("band").log()) & (change.abs() >= LEAST)
    shown = frame.with_columns(
        pl.col("time_ratio").map_elements(percent, return_dtype=pl.String).alias("label"),
        pl.when(is_outside).then(change).alias("outside"),
        pl.col("verdict").is_in([FASTER, SLOWER]).alias("claimed"),
    ).select("panel", "threads", "branch", "label", "outside", "claimed")
    columns = frame["threads"].n_unique()
    is_wide = columns <= WRITTEN_COLUMNS
    cpus = look.cpus or max(frame["threads"])
    across = alt.Axis(
        labelAngle=0,
        ticks=False,
        domain=False,
        labelExpr=f"datum.value > {cpus} ? '(' + datum.value + ')' : datum.value",
        labelOverlap=not is_wide,
    )
    place = {
        "x": alt.X("threads:O", title="threads of the pool", axis=across),
        "y": alt.Y(
            "panel:N",
            sort=frame["panel"].unique(maintain_order=True).to_list(),
            title=None,
            axis=alt.Axis(labelLimit=260, ticks=False, domain=False),
        ),
    }
    base = alt.Chart(shown)
    edge: dict[str, Any] = {"stroke": theme.paper, "strokeWidth": 2}
    grey = base.mark_rect(color=theme.neutral_cell, **edge).encode(**place)
    coloured = (
        base.transform_filter("isValid(datum.outside)")
        .mark_rect(**edge)
        .encode(**place, color=alt.Color("outside:Q", scale=diverging_colours(theme), legend=None))
    )
    written = [
        base.transform_filter(f"datum.claimed == {claimed} && isValid(datum.outside) == {outside}")
        .mark_text(fontSize=10, fontWeight="bold" if claimed == "true" else "normal", color=ink)
        .encode(**place, text="label")
        for claimed, outside, ink in (
            ("true", "true", theme.ink),
            ("false", "true", theme.ink),
            ("false", "false", theme.faint_ink),
        )
    ]
    width = STEP[0] if is_wide else NARROW
    layered = alt.layer(grey, coloured, *(written if is_wide else [])).properties(
        width=alt.Step(width), height=alt.Step(STEP[1])
    )
    label = max(LABEL_WIDTH, *(LETTER * len(name) for name in frame["panel"]))
    each = max(width * columns, *(LETTER * len(name) for name in order)) + 20
    beside = max(1, (FIGURE_WIDTH - label) // each)
    heads = alt.Header(labelAnchor="start", labelFontSize=11, labelPadding=4)
    faceted: alt.FacetChart = layered.facet(
        facet=alt.Facet("branch:N", sort=order, title=None, header=heads),
        columns=min(beside, len(order)),
        spacing={"row": 14, "column": 20},
    )
    return finished(faceted, theme)
