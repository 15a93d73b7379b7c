"""Draws gains and losses of branches as heat maps, whose cells have the change in per cent. No statistics."""

from __future__ import annotations

import json
import re
from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw.cost_plots import CPU, TOGETHER, WALL, cost_rows
from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import (
    THREADS,
    WRITTEN_COLUMNS,
    ChartStyle,
    beyond_in_brackets,
    diverging_colours,
    finished,
)
from sweep_analysis.read.labels import with_panel, without_size
from sweep_analysis.stats.compare import FASTER, SLOWER

STEP = (36, 20)
"""Width and height of a cell in pixels."""
NUMBER = 12
"""Height of the numbers in the cells, and of the names beside them."""
WIDEST = 60
"""Largest width of a cell of the heat map in pixels."""
NARROW = 16
"""Width of a cell without a number in pixels."""
FIGURE_WIDTH = 860
"""Width of all maps in one row, with labels, in pixels."""
LABEL_WIDTH = 110
LETTER = 7
"""Approximate width of a letter of a label in pixels."""
HEAD = 12
"""Height of a letter of a branch's name above its column, in pixels."""
HEAD_LETTERS = 17
"""Maximum number of letters in a line of a branch's name, unless a single word is longer."""
LEAST = 0.0005
"""Smaller changes, which round to ±0.0 %, are grey."""
WHOLE = 0.0995
"""Larger changes are written without a decimal place."""


def broken(name: str, letters: int) -> list[str]:
    """A name in lines of at most `letters` letters, broken after hyphens; a longer word has its own line."""
    lines = [""]
    for word in re.split("(?<=-)", name):
        if lines[-1] and len(lines[-1] + word) > letters:
            lines.append("")
        lines[-1] += word
    return [line for line in lines if line]


def _panels(shown: pl.DataFrame) -> list[str]:
    """Workloads in alphabetical order, then all together."""
    panels = shown["panel"].unique(maintain_order=True).sort().to_list()
    return [name for name in panels if name != TOGETHER] + [TOGETHER] * (TOGETHER in panels)


def gains_figure(wall: pl.DataFrame, cpu: pl.DataFrame, style: ChartStyle) -> alt.HConcatChart:
    """Gains by branch (across) and workload (down), with wall time left and CPU time right.

    Thread counts of several workers within the CPUs are pooled. Cells inside the noise floor are grey; bold
    numbers are significant; the last column is the A/A control. In: rows of `frames.COMPARISONS`, in
    wall time and in CPU time.
    """
    shown = _shown(without_size(cost_rows(wall, cpu)))
    order, panels = _order(shown, style), _panels(shown)
    quantities = [name for name in (WALL, CPU) if name in shown["quantity"]]
    label = max(LETTER * len(name) for name in panels)
    room = (FIGURE_WIDTH - label) // (len(order) * len(quantities))
    width = min(WIDEST, max(STEP[0], room))
    halves = [
        _half(
            shown.filter(pl.col("quantity") == name),
            (order, panels),
            style.theme,
            width,
            labelled=place == 0,
        )
        for place, name in enumerate(quantities)
    ]
    joined: alt.HConcatChart = alt.hconcat(*halves, spacing=14)
    return finished(joined, style.theme)


def map_figure(comparisons: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """Time, or CPU time, relative to the baseline, with a map for each branch and for the A/A control.

    Workloads are down, threads across; thread counts in brackets exceed the CPUs. Cells inside the noise
    floor are grey, bold numbers are significant. In: rows of `frames.COMPARISONS`; only level `cell` is
    drawn.
    """
    frame = without_size(with_panel(comparisons.filter(pl.col("level") == "cell")))
    shown = _shown(frame)
    order = _order(shown, style)
    columns = frame["threads"].n_unique()
    is_wide = columns <= WRITTEN_COLUMNS
    across = alt.Axis(
        labelAngle=0,
        ticks=False,
        domain=False,
        labelExpr=beyond_in_brackets(sorted(frame["threads"].unique()), style),
        labelOverlap=not is_wide,
    )
    place = {
        "x": alt.X("threads:O", title=THREADS, axis=across),
        "y": alt.Y(
            "panel:N",
            sort=frame["panel"].unique(maintain_order=True).to_list(),
            title=None,
            axis=alt.Axis(labelLimit=300, labelFontSize=NUMBER, ticks=False, domain=False),
        ),
    }
    width = STEP[0] if is_wide else NARROW
    layered = alt.layer(*_cells(shown, place, style.theme, written=is_wide)).properties(
        width=alt.Step(width), height=alt.Step(STEP[1])
    )
    label = max(LABEL_WIDTH, *(LETTER * len(name) for name in frame["panel"]))
    lines = {name: broken(name, max(HEAD_LETTERS, width * columns // LETTER)) for name in order}
    each = (
        max(width * columns, *(LETTER * len(line) for name in order for line in lines[name])) + 20
    )
    beside = max(1, (FIGURE_WIDTH - label) // each)
    deepest = max(len(name) for name in lines.values())
    padded = {name: [*[""] * (deepest - len(found)), *found] for name, found in lines.items()}
    heads = alt.Header(
        labelAnchor="start",
        labelFontSize=NUMBER,
        labelPadding=4,
        labelExpr=f"{json.dumps(padded)}[datum.label]",
    )
    faceted: alt.FacetChart = layered.facet(
        facet=alt.Facet("branch:N", sort=order, title=None, header=heads),
        columns=min(beside, len(order)),
        spacing={"row": 14, "column": 20},
    ).resolve_axis(x="independent")  # a shared axis would be far below a short last row
    return finished(faceted, style.theme)


def _shown(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns for drawing: `label` in per cent, `outside` (the change, if outside the noise floor), `claimed`."""
    change = pl.col("time_ratio") - 1
    is_outside = (pl.col("time_ratio").log().abs() > pl.col("band").log()) & (change.abs() >= LEAST)
    kept = [name for name in ("panel", "threads", "branch", "quantity") if name in frame.columns]
    return frame.select(
        *kept,
        change.map_elements(_per_cent, return_dtype=pl.String).alias("label"),
        pl.when(is_outside).then(change).alias("outside"),
        pl.col("verdict").is_in([FASTER, SLOWER]).alias("claimed"),
    )


def _per_cent(change: float) -> str:
    """A short text of a change: `−2.5`, `+14`."""
    rounded = round(100 * change, 0 if abs(change) >= WHOLE else 1)
    return f"{'+' if rounded > 0 else '−' if rounded < 0 else '±'}{abs(rounded):.{0 if abs(change) >= WHOLE else 1}f}"


def _order(shown: pl.DataFrame, style: ChartStyle) -> list[str]:
    """The names in the order of drawing: the branches of the style, then others, such as the A/A control."""
    present = shown["branch"].unique(maintain_order=True).to_list()
    known = [branch for branch in style.branches if branch in present]
    return known + [branch for branch in present if branch not in known]


def _cells(
    shown: pl.DataFrame, place: dict[str, Any], theme: Theme, *, written: bool
) -> list[alt.Chart]:
    """Grey cells, coloured ones outside the noise floor, and their numbers. In: rows of `_shown`."""
    base = alt.Chart(shown)
    edge: dict[str, Any] = {"stroke": theme.paper, "strokeWidth": 2}
    grey = base.mark_rect(color=theme.neutral_cell, **edge).encode(**place)
    key = alt.Legend(
        title="change outside the noise floor (grey: inside)",
        titleLimit=300,
        orient="bottom",
        format="+.0%",
        labelExpr="replace(datum.label, /%/g, '\N{NO-BREAK SPACE}%')",
        gradientLength=240,
        gradientThickness=10,
    )
    coloured = (
        base.transform_filter("isValid(datum.outside)")
        .mark_rect(**edge)
        .encode(**place, color=alt.Color("outside:Q", scale=diverging_colours(theme), legend=key))
    )
    numbers = [
        base.transform_filter(f"datum.claimed == {claimed} && isValid(datum.outside) == {outside}")
        .mark_text(fontSize=NUMBER, fontWeight="bold" if claimed == "true" else "normal", color=ink)
        .encode(**place, text="label")
        for claimed, outside, ink in (
            ("true", "true", theme.ink),
            ("false", "true", theme.ink),
            ("false", "false", theme.faint_ink),
        )
    ]
    return [grey, coloured, *(numbers if written else [])]


def _half(
    shown: pl.DataFrame,
    axes: tuple[list[str], list[str]],
    theme: Theme,
    width: int,
    *,
    labelled: bool,
) -> alt.LayerChart:
    """The map of one quantity, with its name and the names of branches above.

    In: rows of `_shown`; branches and panels; the width of a cell.
    """
    order, panels = axes
    down = (
        alt.Axis(labelLimit=300, labelFontSize=NUMBER, ticks=False, domain=False)
        if labelled
        else None
    )
    place = {
        "x": alt.X("branch:N", sort=order, scale=alt.Scale(domain=order), axis=None),
        "y": alt.Y("panel:N", sort=panels, scale=alt.Scale(domain=panels), title=None, axis=down),
    }
    lines = {name: broken(name, HEAD_LETTERS) for name in order}
    heads = pl.DataFrame({"branch": order, "text": ["\n".join(lines[name]) for name in order]})
    above = []
    for number in sorted({len(found) for found in lines.values()}):
        # The rotated lines of a name are centred above its column.
        mine = heads.filter(
            pl.col("branch").is_in([name for name in order if len(lines[name]) == number])
        )
        above.append(
            alt.Chart(mine)
            .mark_text(
                angle=270,
                align="left",
                baseline="middle",
                fontSize=HEAD,
                lineHeight=HEAD,
                lineBreak="\n",
                dy=-HEAD * (number - 1) / 2,
                color=theme.ink,
            )
            .encode(x=place["x"], y=alt.value(-5), text="text:N")
        )
    letters = max(len(line) for found in lines.values() for line in found)
    title = (
        alt.Chart(heads.head(1))
        .mark_text(align="left", fontSize=13, fontWeight="bold", color=theme.ink)
        .encode(
            x=alt.value(0),
            y=alt.value(-LETTER * letters - 14),
            text=alt.value(f"{shown['quantity'][0]}, change in %"),
        )
    )
    layers = [*_cells(shown, place, theme, written=True), *above, title]
    return alt.LayerChart(layer=layers).properties(width=alt.Step(width), height=alt.Step(STEP[1]))
