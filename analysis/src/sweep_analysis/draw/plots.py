"""From frame to chart. No statistics: every number drawn is a column of a frame made elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT, Theme, styles
from sweep_analysis.read.labels import count, percent, with_panel
from sweep_analysis.stats.compare import FASTER, SLOWER
from sweep_analysis.stats.speedup import DEFINITIONS

_Chart = TypeVar(
    "_Chart", alt.Chart, alt.LayerChart, alt.FacetChart, alt.ConcatChart, alt.HConcatChart, alt.VConcatChart
)

THREADS = "threads"
"""Title of every axis of thread counts: short, because axes of one or two counts stand close beside each other."""
PANEL_WIDTH = 208
PANEL_HEIGHT = 220
PANELS_A_ROW = 3
FEW_BRANCHES = 2
"""Up to so many branches in a panel, each shows its interval."""
HEADED_SPACING = 22
"""Pixels between panels with a head each: so much that a head is nearer to its own panel than to the one above."""
CELL_STEP = (46, 21)
"""Width and height of a cell of the heat map in pixels."""
WORDS_SHARE = 0.28
"""Share of a panel's width that the words `over N CPUs` take."""
WRITTEN_COLUMNS = 12
"""Up to so many thread counts, cells of the heat map say their number; with more they only have a colour."""
COLOUR_STEPS = (0.03, 0.06)
"""Changes of time at which a cell of a heat map gets its next stronger colour."""
SIGNED_PERCENT = "datum.value == 0 ? '0 %' : format(datum.value, '+.0%')"
"""Label of an axis of changes."""


@dataclass(frozen=True)
class Look:
    """What all charts of one report share.

    Attributes:
        branches: names in their order, the baseline first or wherever the manifest has it.
        baseline: the branch drawn in bold.
        cpus: CPUs of the host, or None if unknown; more threads than that are shaded.
        theme: colours.
    """

    branches: list[str]
    baseline: str | None
    cpus: int | None
    theme: Theme = LIGHT


def speedup_figure(speedups: pl.DataFrame, definition: str, look: Look) -> alt.ConcatChart:
    """All panels of one definition of speed-up side by side, with a legend of branches below.

    In: rows of `frames.SPEEDUPS`.
    """
    frame = with_panel(speedups.filter(pl.col("definition") == definition))
    panels = [
        speedup_panel(part, definition, look, legend=True).properties(title=str(part["panel"][0]))
        for part in frame.partition_by("panel", maintain_order=True)
    ]
    return finished(side_by_side(panels, PANELS_A_ROW), look.theme)


def side_by_side(charts: Sequence[alt.LayerChart | alt.FacetChart], columns: int) -> alt.ConcatChart:
    """Charts with axes of their own and one legend of branches."""
    figure: alt.ConcatChart = (
        alt.concat(*charts, columns=min(columns, len(charts)), spacing=24)
        .resolve_scale(x="independent", y="independent", color="shared", strokeDash="shared")
        .resolve_legend(color="shared", strokeDash="shared")
    )
    return figure


def under_each_other(frame: pl.DataFrame, draw: Callable[[pl.DataFrame], _Chart], look: Look) -> alt.VConcatChart:
    """One chart per panel with its name above, one legend of branches. In: rows with `schema.PANEL`."""
    panels = [
        draw(part).properties(title=str(part["panel"][0]))
        for part in with_panel(frame).partition_by("panel", maintain_order=True)
    ]
    stacked: alt.VConcatChart = alt.vconcat(*panels, spacing=24).resolve_scale(color="shared", strokeDash="shared")
    return finished(stacked, look.theme)


def thread_axis(threads: list[int]) -> alt.X:
    """Threads across, ascending, on an axis of factors."""
    return alt.X(
        "threads:Q",
        scale=alt.Scale(type="log", base=2, domain=[threads[0], max(threads[-1], threads[0] * 2)], nice=False),
        axis=alt.Axis(values=ticks(threads), format="d", title=THREADS),
    )


def speedup_panel(part: pl.DataFrame, definition: str, look: Look, *, legend: bool) -> alt.LayerChart:
    """One panel: threads across, speed-up upwards, one line per branch, the interval of the emphasised one.

    Ten bands on each other are mud, so where a baseline is drawn only it has one, unless there are at most two
    branches. In: rows of `frames.SPEEDUPS` of one panel and one definition.
    """
    looks = styles(look.branches, look.baseline, look.theme)
    part = part.filter(pl.col("branch").is_in(look.branches))
    threads = sorted(part["threads"].unique().to_list())
    names = list(looks)
    scale = alt.Scale(domain=names, range=[looks[name].colour for name in names])
    dashes = alt.Scale(domain=names, range=[[4, 3] if looks[name].dashed else [1, 0] for name in names])
    key = (
        alt.Legend(
            orient="bottom",
            columns=2,
            title=None,
            labelLimit=400,
            symbolType="stroke",
            symbolSize=500,
            symbolStrokeWidth=2.5,
            symbolOpacity=1,
        )
        if legend
        else None
    )
    x = thread_axis(threads)
    top = max(1.0, *part["speedup"], *part["speedup_high"].fill_nan(None).drop_nulls())
    ceiling = _ceiling(top, _most_useful(threads, look))
    y_scale = alt.Scale(domain=[0, ceiling], nice=False, clamp=True)
    title = ["speed-up", DEFINITIONS[definition]]
    base = alt.Chart(part)
    colour = alt.Color("branch:N", scale=scale, legend=key, sort=names)
    few = part["branch"].n_unique() <= FEW_BRANCHES or look.baseline is None
    banded = part if few else part.filter(pl.col("branch") == look.baseline)
    bands = (
        alt.Chart(banded)
        .mark_area(opacity=0.18)
        .encode(x=x, y=alt.Y("speedup_low:Q", scale=y_scale, title=title), y2="speedup_high:Q", color=colour)
    )
    lines = [
        base.transform_filter(alt.FieldOneOfPredicate("branch", group))
        .mark_line(strokeWidth=width, point=alt.OverlayMarkDef(size=16, filled=True))
        .encode(
            x=x,
            y=alt.Y("speedup:Q", scale=y_scale, title=title, axis=alt.Axis(tickCount=5)),
            color=colour,
            strokeDash=alt.StrokeDash("branch:N", scale=dashes, legend=key, sort=names),
            order="threads:Q",
            tooltip=["branch", "threads", alt.Tooltip("speedup:Q", format=".3f"), "trials"],
        )
        for width, group in (
            (4.0, [name for name in names if looks[name].emphasised]),  # below the others, so wider
            (1.7, [name for name in names if not looks[name].emphasised]),
        )
    ]
    layers = [*beyond_cpus(threads, look), *_ideal(threads, ceiling, look, y_scale), bands, *lines]
    panel = alt.LayerChart(layer=layers)
    return panel.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)


def branch_colours(names: list[str], look: Look, *, legend: bool) -> tuple[alt.Color, alt.StrokeDash]:
    """Colour and dash of `names`, by the column `branch`, with their legend in two columns if wanted."""
    looks = styles(look.branches, look.baseline, look.theme)
    key = (
        alt.Legend(orient="bottom", columns=2, title=None, labelLimit=400, symbolType="stroke", symbolSize=500)
        if legend
        else None
    )
    colours = alt.Scale(domain=names, range=[looks[name].colour for name in names])
    dashes = alt.Scale(domain=names, range=[[4, 3] if looks[name].dashed else [1, 0] for name in names])
    return (
        alt.Color("branch:N", scale=colours, legend=key, sort=names),
        alt.StrokeDash("branch:N", scale=dashes, legend=key, sort=names),
    )


def interval_figure(comparisons: pl.DataFrame, look: Look) -> alt.ConcatChart:
    """Change of time against the baseline with its interval, all panels side by side, each with its name.

    In: rows of `frames.COMPARISONS`; only level `cell` is drawn.
    """
    frame = with_panel(comparisons.filter(pl.col("level") == "cell"))
    panels = [
        interval_panel(part, look).properties(title=str(part["panel"][0]))
        for part in frame.partition_by("panel", maintain_order=True)
    ]
    return finished(side_by_side(panels, PANELS_A_ROW), look.theme)


def interval_panel(part: pl.DataFrame, look: Look) -> alt.FacetChart:
    """One panel: a row per branch, threads across, change of time upwards.

    The grey band is what equal builds show (A/A); full points are claims, hollow ones cannot be told from the baseline,
    and thread counts in brackets exceed the CPUs. In: rows of `frames.COMPARISONS` of level `cell` and one panel.
    """
    looks = styles(look.branches, look.baseline, look.theme)
    present = set(part["branch"])
    order = [branch for branch in look.branches if branch != look.baseline and branch in present]
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
    across = alt.Axis(labelAngle=0, values=ticks(threads), labelExpr=beyond_in_brackets(threads, look))
    x = alt.X("threads:O", title=THREADS, axis=across)
    colour = alt.Color(
        "branch:N", scale=alt.Scale(domain=order, range=[looks[name].colour for name in order]), legend=None
    )
    theme = look.theme
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


def ratio_figure(comparisons: pl.DataFrame, look: Look) -> alt.VConcatChart:
    """Heat maps of all panels under each other, the legend being the text in the cells.

    In: rows of `frames.COMPARISONS`; only level `cell` is drawn.
    """
    cells = comparisons.filter(pl.col("level") == "cell")
    return under_each_other(cells, lambda part: ratio_panel(part, look), look)


def ratio_panel(part: pl.DataFrame, look: Look) -> alt.FacetChart:
    """Time of each branch relative to the baseline: branches down, threads across.

    Only cells with a claim are coloured; grey cells cannot be told from the baseline. In: rows of
    `frames.COMPARISONS` of level `cell` and one panel.
    """
    theme = look.theme
    order = [branch for branch in look.branches if branch != look.baseline]
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


def diverging_colours(theme: Theme) -> alt.Scale:
    """Colours of changes of time: less is blue, more is orange, in steps."""
    return alt.Scale(
        type="threshold",
        domain=[-COLOUR_STEPS[1], -COLOUR_STEPS[0], 0, *COLOUR_STEPS],
        range=[*reversed(theme.faster), *theme.slower],
    )


def branch_lines(base: alt.Chart, names: list[str], look: Look, encoding: dict[str, Any]) -> list[alt.Chart]:
    """Lines with points, one per branch; the baseline's is wider and below the others. `encoding` has x, y, colour."""
    groups = [(3.6, [name for name in names if name == look.baseline])]
    groups.append((1.7, [name for name in names if name != look.baseline]))
    return [
        base.transform_filter(alt.FieldOneOfPredicate("branch", group))
        .mark_line(strokeWidth=width, point=alt.OverlayMarkDef(size=18, filled=True))
        .encode(**encoding)
        for width, group in groups
        if group
    ]


def beyond_in_brackets(threads: list[int], look: Look) -> str:
    """Vega expression of the label of a thread count: in brackets if it exceeds the CPUs."""
    most = look.cpus or threads[-1]
    return f"datum.value > {most} ? '(' + datum.value + ')' : datum.value"


def ticks(threads: list[int]) -> list[int]:
    """Thread counts to label: all while they fit, else the powers of two."""
    powers = [count for count in threads if count & (count - 1) == 0]
    return threads if len(threads) <= 8 else powers  # noqa: PLR2004 - more labels overlap at this width


def beyond_cpus(threads: list[int], look: Look) -> list[alt.Chart]:
    """A rule at the CPU count and a shade over everything with more threads."""
    if look.cpus is None or threads[-1] <= look.cpus:
        return []
    start = max(look.cpus, threads[0])  # more threads than CPUs may be all there are
    edges = pl.DataFrame({"start": [start], "end": [threads[-1]], "text": [f"over {count(look.cpus, 'CPU')}"]})
    theme = look.theme
    base = alt.Chart(edges)
    # The words stand in the shade, or before it where it is too narrow for them.
    share = math.log2(threads[-1] / look.cpus) / math.log2(threads[-1] / threads[0]) if threads[0] < look.cpus else 1.0
    wide = share > WORDS_SHARE
    return [
        base.mark_rect(color=theme.shade, opacity=0.7).encode(x="start:Q", x2="end:Q"),
        base.mark_rule(color=theme.faint_ink, strokeWidth=1).encode(x="start:Q"),
        base.mark_text(
            align="left" if wide else "right",
            dx=4 if wide else -4,
            baseline="top",
            dy=4,
            color=theme.faint_ink,
            fontSize=10,
        ).encode(x="start:Q", y=alt.value(0), text="text:N"),
    ]


def _most_useful(threads: list[int], look: Look) -> int:
    """The largest speed-up that this many threads can give on the host."""
    return min(threads[-1], look.cpus or threads[-1])


def _ceiling(top: float, ideal: int) -> float:
    """Upper end of the axis: leaves room for the words, and shows the ideal where it is in sight of the curves.

    So panels of one host share their axis, unless a program stays far below the ideal.
    """
    return 1.1 * (max(top, ideal) if top * 2 >= ideal else top)


def _ideal(threads: list[int], ceiling: float, look: Look, y_scale: alt.Scale) -> list[alt.Chart]:
    """The line of ideal speed-up: as many times faster as there are threads, and never more than CPUs."""
    most = _most_useful(threads, look)
    points = sorted({float(count) for count in [*threads, most, ceiling] if threads[0] <= count <= threads[-1]})
    line = pl.DataFrame({"threads": points, "ideal": [min(count, float(most)) for count in points]})
    line = line.filter(pl.col("ideal") <= ceiling)
    mark = alt.Chart(line).mark_line(color=look.theme.faint_ink, strokeDash=[1, 3], strokeWidth=1.5)
    return [mark.encode(x="threads:Q", y=alt.Y("ideal:Q", scale=y_scale))]


MOST_POINTS = 3000
"""More points than so many cannot be told apart in a picture; of them so many are drawn by lot."""


def drawn_by_lot(points: pl.DataFrame) -> pl.DataFrame:
    """At most `MOST_POINTS` rows, in their order."""
    if points.height <= MOST_POINTS:
        return points
    lots = pl.int_range(pl.len()).shuffle(seed=2022) < MOST_POINTS
    return points.filter(lots)


def lot_sentence(points: pl.DataFrame) -> str:
    """What to say beside a picture of `drawn_by_lot`; nothing if all points are drawn."""
    return f" Of {points.height} points {MOST_POINTS} are drawn, by lot." if points.height > MOST_POINTS else ""


def finished(chart: _Chart, theme: Theme) -> _Chart:
    """Paper, ink and fonts; only a chart that is not part of another can be finished."""
    whole: _Chart = chart.copy(deep=False)
    # In one step: each `configure_…` would copy the whole chart. Thousands of marks, each with a sentence of its own,
    # tell a screen reader less than the table beside them.
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
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
        ),
        title=alt.TitleConfig(color=theme.ink, fontSize=13, anchor="start", offset=8),
        legend=alt.LegendConfig(labelColor=theme.ink, titleColor=theme.faint_ink, labelFontSize=11),
        header=alt.HeaderConfig(labelColor=theme.faint_ink, labelFontSize=10),
    )
    return whole
