"""Axes, colours and fonts that all charts share.

This module computes no statistics: `stats` made the frames that have every number drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT, Theme, styles
from sweep_analysis.read.labels import with_panel
from sweep_analysis.stats.compare import FASTER, SLOWER

_Chart = TypeVar(
    "_Chart",
    alt.Chart,
    alt.LayerChart,
    alt.FacetChart,
    alt.ConcatChart,
    alt.HConcatChart,
    alt.VConcatChart,
)

ARROW = 60
"""Area of an arrow at the edge of an axis, in square pixels."""
THREADS = "threads"
"""Title of every axis of thread counts. It is short, because axes of one or two counts are close together."""
PANEL_WIDTH = 208
PANELS_A_ROW = 3
ROW = 19
"""Height of a row of intervals in pixels."""
SMALLEST = 11
"""Height of the smallest letters of a chart, in pixels at the scale at which it is shown."""
WRITTEN_COLUMNS = 12
"""Maximum number of thread counts of a heat map whose cells have numbers; with more counts, cells have only colours."""
COLOUR_STEPS = (0.03, 0.06)
"""Changes of time at which a cell of a heat map gets a stronger colour."""
SIGNED = "format(datum.value * 100, datum.value == 0 ? '.0f' : '+.0f')"
"""Label of an axis of changes in per cent. The axis has the unit in its title: with units, labels leave out zero."""
PERCENT = "format(datum.value * 100, '.0f') + '\N{NO-BREAK SPACE}%'"
"""Label of an axis of shares."""


QUANTITIES = {"time": "wall time", "cpu": "CPU time"}
"""The quantities of heat maps and forest plots, with their titles."""


@dataclass(frozen=True)
class ChartStyle:
    """Settings that all charts of one report share.

    Attributes:
        branches: names in the order of the manifest.
        baseline: the branch whose line is wider.
        cpus: CPUs of the host, or None if unknown; more threads than that are shaded.
        theme: colours.
    """

    branches: list[str]
    baseline: str | None
    cpus: int | None
    theme: Theme = LIGHT


def side_by_side(
    charts: Sequence[alt.LayerChart | alt.FacetChart], columns: int
) -> alt.ConcatChart:
    """Place charts in rows, each chart with its own axes, and one legend of branches."""
    figure: alt.ConcatChart = (
        alt.concat(*charts, columns=min(columns, len(charts)), spacing=24)
        .resolve_scale(x="independent", y="independent", color="shared", strokeDash="shared")
        .resolve_legend(color="shared", strokeDash="shared")
    )
    return figure


def under_each_other(
    frame: pl.DataFrame, draw: Callable[[pl.DataFrame], _Chart], style: ChartStyle
) -> alt.VConcatChart:
    """Place the charts of panels under each other, each below the panel's name, with one legend of branches.

    In: rows with `schema.PANEL`.
    """
    panels = [
        draw(part).properties(title=str(part["panel"][0]))
        for part in with_panel(frame).partition_by("panel", maintain_order=True)
    ]
    stacked: alt.VConcatChart = alt.vconcat(*panels, spacing=24).resolve_scale(
        color="shared", strokeDash="shared"
    )
    return finished(stacked, style.theme)


def thread_axis(threads: list[int]) -> alt.X:
    """The x axis of thread counts: ascending, on a logarithmic scale."""
    return alt.X(
        "threads:Q",
        scale=alt.Scale(
            type="log", base=2, domain=[threads[0], max(threads[-1], threads[0] * 2)], nice=False
        ),
        axis=alt.Axis(values=ticks(threads), format="d", title=THREADS),
    )


def branch_colours(names: list[str], style: ChartStyle) -> tuple[alt.Color, alt.StrokeDash]:
    """Colour and dash of `names`, by the column `branch`, with a legend in two columns."""
    looks = styles(style.branches, style.baseline, style.theme)
    key = alt.Legend(
        orient="top", columns=2, title=None, symbolType="stroke", symbolSize=500, symbolOpacity=1
    )
    colours = alt.Scale(domain=names, range=[looks[name].colour for name in names])
    dashes = alt.Scale(
        domain=names, range=[[4, 3] if looks[name].dashed else [1, 0] for name in names]
    )
    return (
        alt.Color("branch:N", scale=colours, legend=key, sort=names),
        alt.StrokeDash("branch:N", scale=dashes, legend=key, sort=names),
    )


def diverging_colours(theme: Theme) -> alt.Scale:
    """The colour scale of changes of time, in steps: less time is blue, more time is orange."""
    return alt.Scale(
        type="threshold",
        domain=[-COLOUR_STEPS[1], -COLOUR_STEPS[0], 0, *COLOUR_STEPS],
        range=[*reversed(theme.faster), *theme.slower],
    )


def branch_lines(
    base: alt.Chart, names: list[str], style: ChartStyle, encoding: dict[str, Any]
) -> list[alt.Chart]:
    """Draw a line with points per branch; the baseline's line is wider, and the other lines are drawn over it.

    `encoding` has the channels that `base` lacks.
    """
    groups = [(3.6, [name for name in names if name == style.baseline])]
    groups.append((1.7, [name for name in names if name != style.baseline]))
    return [
        base.transform_filter(alt.FieldOneOfPredicate("branch", group))
        .mark_line(strokeWidth=width, point=alt.OverlayMarkDef(size=18, filled=True))
        .encode(**encoding)
        for width, group in groups
        if group
    ]


def _edge_arrows(
    rows: pl.DataFrame, scale: alt.Scale, ends: tuple[float, float], y: alt.Y, ink: alt.Color
) -> list[alt.Chart]:
    """Draw an arrow at the edge of the axis for each interval beyond it, because a cut line would seem to end there."""
    low, high = ends
    return [
        alt.Chart(rows.filter(is_beyond))
        .mark_point(shape=shape, filled=True, size=ARROW, opacity=1)
        .encode(x=alt.datum(end, scale=scale), y=y, color=ink)
        for is_beyond, end, shape in (
            (pl.col("low") < low, low, "triangle-left"),
            (pl.col("high") > high, high, "triangle-right"),
        )
        if rows.filter(is_beyond).height
    ]


def interval_layers(
    rows: pl.DataFrame,
    across: tuple[alt.Axis, tuple[float, float]],
    y: alt.Y,
    ink: alt.Color,
    theme: Theme,
) -> alt.LayerChart:
    """Draw a change with its 95 % interval in each row; the noise floor is grey, and an arrow ends a cut interval.

    A significant change is a full point, any other change a hollow point. In: rows of `frames.COMPARISONS`; the
    axis of changes and its ends; the colour of a row.
    """
    axis, ends = across
    scale = alt.Scale(domain=list(ends), clamp=True, nice=False)
    shown = rows.with_columns(
        change=pl.col("time_ratio") - 1,
        low=pl.col("ratio_low") - 1,
        high=pl.col("ratio_high") - 1,
        band_high=pl.col("band") - 1,
        band_low=1 / pl.col("band") - 1,
        claimed=pl.col("verdict").is_in([FASTER, SLOWER]),
    )
    base = alt.Chart(shown)

    def between(low: str, high: str) -> dict[str, Any]:
        return {"x": alt.X(f"{low}:Q", scale=scale, axis=axis), "x2": high, "y": y}

    point = {"x": alt.X("change:Q", scale=scale), "y": y, "stroke": ink}
    layers = [
        base.mark_bar(color=theme.noise, height=ROW - 4).encode(**between("band_low", "band_high")),
        base.mark_rule(color=theme.faint_ink).encode(x=alt.datum(0, scale=scale)),
        base.mark_rule(strokeWidth=1.8).encode(**between("low", "high"), color=ink),
        base.mark_point(size=46, opacity=1, strokeWidth=1.8).encode(
            **point, fill=alt.condition("datum.claimed", ink, alt.value(theme.paper))
        ),
        *_edge_arrows(shown, scale, ends, y, ink),
    ]
    return alt.LayerChart(layer=layers)


def ticks(threads: list[int]) -> list[int]:
    """Select the thread counts with a label: all counts if their labels fit, otherwise the powers of two."""
    powers = [count for count in threads if count & (count - 1) == 0]
    return threads if len(threads) <= 8 else powers  # noqa: PLR2004 - more labels overlap at this width


def beyond_cpus(threads: list[int], style: ChartStyle) -> list[alt.Chart]:
    """Draw a line at the number of CPUs, and shade larger thread counts."""
    if style.cpus is None or threads[-1] <= style.cpus:
        return []
    start = max(style.cpus, threads[0])  # all thread counts may exceed the CPUs
    base = alt.Chart(pl.DataFrame({"start": [start], "end": [threads[-1]]}))
    return [
        base.mark_rect(color=style.theme.shade, opacity=0.7).encode(x="start:Q", x2="end:Q"),
        base.mark_rule(color=style.theme.faint_ink, strokeWidth=1).encode(x="start:Q"),
    ]


def finished(chart: _Chart, theme: Theme) -> _Chart:
    """Return the chart with colours and fonts; only for a chart that is not part of another chart."""
    whole: _Chart = chart.copy(deep=False)
    # `aria` is off, because a screen reader reads the figure's table more easily than its points.
    whole.config = alt.Config(
        aria=False,
        background=theme.paper,
        font="Helvetica, Arial, sans-serif",
        padding=10,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=theme.ink,
            titleColor=theme.faint_ink,
            gridColor=theme.grid,
            domainColor=theme.faint_ink,
            tickColor=theme.faint_ink,
            labelFontSize=SMALLEST,
            titleFontSize=SMALLEST,
            titleFontWeight="normal",
            labelSeparation=6,
        ),
        title=alt.TitleConfig(color=theme.ink, fontSize=13, anchor="start", offset=8),
        # `labelLimit` is 0, which means no limit, so that no text of a legend is cut.
        legend=alt.LegendConfig(
            labelColor=theme.ink,
            titleColor=theme.faint_ink,
            labelFontSize=SMALLEST,
            labelLimit=0,
            titleFontSize=SMALLEST,
            symbolOpacity=1,
        ),
        header=alt.HeaderConfig(
            labelColor=theme.faint_ink, labelFontSize=SMALLEST, titleColor=theme.ink
        ),
    )
    return whole
