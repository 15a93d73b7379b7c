"""Draws the figures of the packet study, what was published beside what was measured.

No statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import SMALLEST, finished
from sweep_analysis.read.experiment import Experiment
from sweep_analysis.read.labels import HERE, PUBLISHED, count
from sweep_analysis.services.packets import OVERHEAD_BY_WORDS

WIDTH = 190
HEIGHT = 170
MARGIN = 1.2
"""An axis of words is longer by this factor at both ends, so that no interval lies on the other axis."""
SPARE = 1.15
"""Room above the highest point, as a factor. Intervals that reach further are cut off: they would flatten the rest."""

WAYS = {
    "lock-free": "#000000",
    "home-queue, tas": "#e69f00",
    "home-queue, mutex": "#56b4e9",
    "home-queue, mcs": "#009e73",
    "home-queue, anderson": "#0072b2",
    "awesome, tas": "#999933",
    "awesome, mutex": "#d55e00",
    "awesome, mcs": "#882255",
    "awesome, anderson": "#cc79a7",
    "awesome, mutex and anderson averaged": "#d55e00",
    "pool": "#117733",
    "pool-batch": "#44aa99",
    "serial": "#888888",
}
"""Colour of each way to hand packets on; the first is the paper's opposite."""


def packet_figures(
    points: pl.DataFrame, experiment: Experiment, cpus: int | None, theme: Theme
) -> dict[str, alt.VConcatChart]:
    """One chart for each generator and depth, a panel for each number of words.

    In: rows of `packets.POINTS`.

    Measured above, published below; one of the two alone is drawn alone.
    """
    figures = {}
    measured = points.filter(pl.col("origin") == HERE)
    places = (
        (measured if measured.height else points.filter(pl.col("kind") != "bound"))
        .select("generator", "depth")
        .unique(maintain_order=True)
    )
    for generator, depth in places.rows():
        same = (pl.col("generator") == generator) & (pl.col("depth") == depth)
        part = measured.filter(same)
        known = points.filter(same & (pl.col("origin") == PUBLISHED))
        title = f"{generator} sources, queues of {depth}"
        draw = _overheads if experiment.figure == OVERHEAD_BY_WORDS else _speedups
        both = pl.concat([part, known])
        across = sorted(both["words" if draw is _overheads else "threads"].drop_nulls().unique())
        ways = [way for way in WAYS if way in both["way"]]
        # A few published numbers share the chart of the measured ones; published curves have charts
        # of their own.
        few = draw is _overheads or known.filter(pl.col("kind") != "bound").is_empty()
        place = "published (14 cores)"
        rows = []
        if part.height:
            told = f"measured here, and {place}" if few and known.height else "measured here"
            rows.append(
                _row(
                    both if few else part,
                    f"{title}: {told}",
                    _Frame(across, ways, cpus, theme),
                    draw,
                )
            )
        if known.height and not (few and rows):
            rows.append(_row(known, f"{title}: {place}", _Frame(across, ways, None, theme), draw))
        chart = alt.vconcat(*rows, spacing=22).resolve_legend(color="shared", strokeDash="shared")
        figures[f"{generator}-depth-{depth}"] = finished(chart, theme)
    return figures


@dataclass(frozen=True)
class _Frame:
    """Settings that the panels of one origin share.

    Attributes:
        across: values of the horizontal axis, ascending, the same for all origins.
        ways: all that are drawn, the same for all origins, since rows share one list of colours.
        cpus: CPUs of the host, or None where they do not matter.
        theme: colours.
    """

    across: list[int]
    ways: list[str]
    cpus: int | None
    theme: Theme

    def x(self, column: str, title: str, margin: float = 1) -> alt.X:
        """The horizontal axis, in steps of doubling, a factor of `margin` longer at both ends."""
        ends = [self.across[0] / margin, max(self.across[-1], self.across[0] + 1) * margin]
        axis = alt.Axis(values=self.across, format="d", labelOverlap=False)
        return alt.X(
            f"{column}:Q",
            title=title,
            axis=axis,
            scale=alt.Scale(type="log", base=2, domain=ends, nice=False),
        )


_Draw = Callable[[pl.DataFrame, alt.Color, _Frame], list[alt.LayerChart]]


def _row(part: pl.DataFrame, title: str, frame: _Frame, draw: _Draw) -> alt.HConcatChart:
    """The panels of one origin; they share their vertical axis."""
    theme = frame.theme
    ways = frame.ways
    ink = {"lock-free": theme.ink}
    colour = alt.Color(
        "way:N",
        title=None,
        sort=ways,
        scale=alt.Scale(domain=ways, range=[ink.get(way, WAYS[way]) for way in ways]),
        legend=alt.Legend(
            orient="bottom", columns=3, labelLimit=300, symbolType="stroke", symbolSize=300
        ),
    )
    row: alt.HConcatChart = alt.hconcat(*draw(part, colour, frame), spacing=16).properties(
        title=alt.TitleParams(title, anchor="start", fontSize=13, color=theme.ink)
    )
    return row


def _speedups(part: pl.DataFrame, colour: alt.Color, frame: _Frame) -> list[alt.LayerChart]:
    drawn = part.filter(pl.col("words").is_not_null())
    ceiling = SPARE * max(1.0, *part["value"])
    threads, cpus, theme = frame.across, frame.cpus, frame.theme
    y = alt.Scale(domain=[0, ceiling], nice=False, clamp=True)
    x = frame.x("threads", "threads, dispatcher included")
    up = alt.Y("value:Q", title="speed-up over serial", scale=y)
    ideal = pl.DataFrame(
        {"threads": [float(n) for n in threads], "value": [float(n - 1) for n in threads]}
    )
    ideal = ideal.with_columns(pl.col("value").clip(upper_bound=float(cpus or threads[-1])))
    panels = []
    for words in [*drawn["words"].unique().sort()] or [None]:
        own = drawn.filter(pl.col("words") == words) if words is not None else drawn
        layers = [
            alt.Chart(ideal.filter(pl.col("value") <= ceiling))
            .mark_line(color=theme.faint_ink, strokeDash=[1, 3])
            .encode(x=x, y=up)
        ]
        if cpus is not None and threads[0] <= cpus < threads[-1]:
            edge = pl.DataFrame(
                {"threads": [cpus], "end": [threads[-1]], "text": [f"over {count(cpus, 'CPU')}"]}
            )
            base = alt.Chart(edge)
            layers.append(
                base.mark_rect(color=theme.shade, opacity=0.7).encode(x="threads:Q", x2="end:Q")
            )
            layers.append(
                base.mark_text(
                    align="left",
                    dx=4,
                    dy=-4,
                    baseline="bottom",
                    color=theme.faint_ink,
                    fontSize=SMALLEST,
                ).encode(x="threads:Q", y=alt.value(HEIGHT), text="text:N")
            )
        layers += [*_bands(own, x, y, colour), *_lines(own, x, up, colour)]
        layers += _bounds(part, x, y, theme)
        name = "all W" if words is None else f"W = {words}"
        panels.append(_panel(layers, name, theme))
    return panels


def _overheads(part: pl.DataFrame, colour: alt.Color, frame: _Frame) -> list[alt.LayerChart]:
    """A panel for each lock, with whole intervals: in one panel they would stand on each other."""
    theme = frame.theme
    ends = pl.concat([part[name] for name in ("value", "low", "high")]).drop_nulls()
    y = alt.Scale(domain=[SPARE * min(0.0, *ends), SPARE * max(1.0, *ends)], nice=False)
    x = frame.x("words", "mean words per packet (W)", MARGIN)
    up = alt.Y("value:Q", title="throughput lost against lock-free, %", scale=y)
    panels = []
    for way in [way for way in WAYS if way in part["way"]]:
        own = part.filter((pl.col("way") == way) & (pl.col("kind") != "bound"))
        measured, known = (
            own.filter(pl.col("origin") == HERE),
            own.filter(pl.col("origin") == PUBLISHED),
        )
        zero = alt.Chart(own.head(1)).mark_rule(color=theme.faint_ink).encode(y=alt.datum(0))
        printed = alt.Chart(known).mark_point(
            size=70, filled=True, opacity=1, shape="diamond", color=theme.ink
        )
        layers = [
            zero,
            *_bands(measured, x, y, colour),
            *_lines(measured, x, up, colour),
            printed.encode(x=x, y=up),
            *_bounds(part.filter((pl.col("way") == way) | pl.col("way").is_null()), x, y, theme),
        ]
        panels.append(_panel(layers, f"{way}, one worker", theme))
    return panels


def _bands(own: pl.DataFrame, x: alt.X, y: alt.Scale, colour: alt.Color) -> list[alt.Chart]:
    known = own.filter(pl.col("low").is_not_null())
    if known.is_empty():
        return []
    return [
        alt.Chart(known)
        .mark_rule(strokeWidth=1.5, opacity=0.7)
        .encode(x=x, y=alt.Y("low:Q", scale=y), y2="high:Q", color=colour)
    ]


def _lines(own: pl.DataFrame, x: alt.X, y: alt.Y, colour: alt.Color) -> list[alt.Chart]:
    """Dots were measured or printed, squares derived from what was printed."""
    base = alt.Chart(own)
    marks = (("circle", "datum.kind != 'derived'"), ("square", "datum.kind == 'derived'"))
    return [
        base.mark_line(strokeWidth=1.7).encode(x=x, y=y, color=colour),
        *(
            base.transform_filter(kind)
            .mark_point(size=26, filled=True, opacity=1, shape=shape)
            .encode(x=x, y=y, color=colour)
            for shape, kind in marks
        ),
    ]


def _bounds(part: pl.DataFrame, x: alt.X, y: alt.Scale, theme: Theme) -> list[alt.Chart]:
    """Published upper bounds.

    A triangle at one number of words, or a dashed rule for all.
    """
    text = pl.concat_str(
        pl.lit("published: nothing above "), pl.col("value").cast(pl.String)
    ).alias("text")
    bounds = part.filter(pl.col("kind") == "bound").with_columns(text)
    up = alt.Y("value:Q", scale=y)
    layers = []
    for_all, for_one = (
        bounds.filter(pl.col("words").is_null()),
        bounds.filter(pl.col("words").is_not_null()),
    )
    if for_all.height:
        base = alt.Chart(for_all)
        layers.append(base.mark_rule(strokeDash=[5, 3], color=theme.ink).encode(y=up))
        layers.append(
            base.mark_text(align="left", x=4, dy=8, color=theme.ink, fontSize=SMALLEST).encode(
                y=up, text="text:N"
            )
        )
    if for_one.height:
        base = alt.Chart(for_one)
        layers.append(
            base.mark_point(shape="triangle-down", color=theme.ink, size=60).encode(x=x, y=up)
        )
        layers.append(
            base.mark_text(align="right", dx=-4, dy=-9, color=theme.ink, fontSize=SMALLEST).encode(
                x=x, y=up, text="text:N"
            )
        )
    return layers


def _panel(layers: list[alt.Chart], title: str, theme: Theme) -> alt.LayerChart:
    name = alt.TitleParams(title, fontSize=11, fontWeight="normal", color=theme.faint_ink, offset=4)
    panel: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=WIDTH, height=HEIGHT, title=name
    )
    return panel
