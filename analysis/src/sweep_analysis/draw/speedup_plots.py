"""Draws speed-up by threads. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.plots import (
    PANEL_WIDTH,
    PANELS_A_ROW,
    ChartStyle,
    beyond_cpus,
    branch_colours,
    branch_lines,
    finished,
    side_by_side,
    thread_axis,
)
from sweep_analysis.read.labels import with_panel
from sweep_analysis.stats.speedup import DEFINITIONS

PANEL_HEIGHT = 220
LEAST_CEILING = 1e-6
"""Minimum upper end of an axis, so that the axis of a panel without times is not empty."""
FEW_BRANCHES = 2
"""Maximum number of branches in a panel that all show their intervals."""


def speedup_figure(speedups: pl.DataFrame, definition: str, style: ChartStyle) -> alt.ConcatChart:
    """Draw all panels of one definition of speed-up side by side, below a legend of branches.

    In: rows of `frames.SPEEDUPS`.
    """
    frame = with_panel(speedups.filter(pl.col("definition") == definition))
    panels = [
        _panel(part, definition, style).properties(title=str(part["panel"][0]))
        for part in frame.partition_by("panel", maintain_order=True)
    ]
    return finished(side_by_side(panels, PANELS_A_ROW), style.theme)


def _panel(part: pl.DataFrame, definition: str, style: ChartStyle) -> alt.LayerChart:
    """Draw one panel: threads on the x axis, speed-up on the y axis, a line per branch.

    Ten overlapping bands are illegible, so only the baseline's line has a band for its interval. With at most
    two branches, or no baseline, every line has a band. In: rows of `frames.SPEEDUPS` of one panel and one definition.
    """
    part = part.filter(pl.col("branch").is_in(style.branches))
    threads = sorted(part["threads"].unique().to_list())
    colour, dash = branch_colours(style.branches, style)
    x = thread_axis(threads)
    top = max(LEAST_CEILING, *part["speedup"], *part["speedup_high"].fill_nan(None).drop_nulls())
    ceiling = _ceiling(top, _most_useful(threads, style))
    y_scale = alt.Scale(domain=[0, ceiling], nice=False, clamp=True)
    title = ["speed-up", DEFINITIONS[definition]]
    few = part["branch"].n_unique() <= FEW_BRANCHES or style.baseline is None
    banded = part if few else part.filter(pl.col("branch") == style.baseline)
    bands = (
        alt.Chart(banded)
        .mark_area(opacity=0.18)
        .encode(
            x=x,
            y=alt.Y("speedup_low:Q", scale=y_scale, title=title),
            y2="speedup_high:Q",
            color=colour,
        )
    )
    encoding = {
        "x": x,
        "y": alt.Y("speedup:Q", scale=y_scale, title=title, axis=alt.Axis(tickCount=5)),
        "color": colour,
        "strokeDash": dash,
        "order": "threads:Q",
    }
    lines = branch_lines(alt.Chart(part), style.branches, style, encoding)
    layers = [
        *beyond_cpus(threads, style),
        *_ideal(threads, ceiling, style, y_scale),
        bands,
        *lines,
    ]
    panel = alt.LayerChart(layer=layers)
    return panel.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _most_useful(threads: list[int], style: ChartStyle) -> int:
    return min(threads[-1], style.cpus or threads[-1])


def _ceiling(top: float, ideal: int) -> float:
    """Upper end of the axis, with room for text.

    The axis includes the ideal speed-up unless all curves are far below the ideal. So most panels of
    one host have equal axes.
    """
    return 1.1 * (max(top, ideal) if top * 2 >= ideal else top)


def _ideal(
    threads: list[int], ceiling: float, style: ChartStyle, y_scale: alt.Scale
) -> list[alt.Chart]:
    """Draw the line of ideal speed-up: the number of threads, up to the number of CPUs."""
    most = _most_useful(threads, style)
    points = sorted(
        {float(count) for count in [*threads, most, ceiling] if threads[0] <= count <= threads[-1]}
    )
    line = pl.DataFrame({"threads": points, "ideal": [min(count, float(most)) for count in points]})
    line = line.filter(pl.col("ideal") <= ceiling)
    mark = alt.Chart(line).mark_line(
        color=style.theme.faint_ink, strokeDash=[1, 3], strokeWidth=1.5
    )
    return [mark.encode(x="threads:Q", y=alt.Y("ideal:Q", scale=y_scale))]
