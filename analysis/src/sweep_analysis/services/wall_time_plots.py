"""Draws wall times by one parameter, what was published below what was measured. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import finished
from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.services.wall_times import AXES

WIDTH = 210
HEIGHT = 170
BAR = 14
"""Height of a bar in pixels."""

WAYS = {
    "mutex": "#0072b2",
    "spin": "#d55e00",
    "synchronous": "#d55e00",
    "asynchronous": "#0072b2",
    "asynchronous, threads": "#009e73",
    "asynchronous, io-uring": "#56b4e9",
    "pool": "#117733",
}
"""Colour of each lock and each way of input and output."""


def wall_time_figures(
    points: pl.DataFrame, figure: str, theme: Theme
) -> dict[str, alt.VConcatChart]:
    """One chart for each place.

    It has measured wall times, measured CPU times (except in `wall-by-section`), and published wall
    times. A place with only measured or only published times shows those.

    If all points have the same value of the parameter, they make one chart of bars.

    In: rows of `wall_times.WALL_POINTS`.
    """
    if points["x"].n_unique() == 1:
        return {"ways": finished(alt.vconcat(_bars(points, figure, theme)), theme)}
    figures = {}
    for (place,), part in points.group_by(["place"], maintain_order=True):
        measured = part.filter(pl.col("origin") == HERE)
        known = part.filter(pl.col("origin") == PUBLISHED)
        rows = []
        if measured.height:
            rows.append(
                _row(measured, figure, "wall_ms", f"{place}: wall time, measured here", theme)
            )
        if measured.height and figure != "wall-by-section":
            rows.append(
                _row(measured, figure, "cpu_ms", f"{place}: CPU time, measured here", theme)
            )
        if known.height:
            rows.append(_row(known, figure, "wall_ms", f"{place}: wall time, published", theme))
        chart = alt.vconcat(*rows, spacing=22).resolve_scale(color="shared")
        figures[_slug(str(place))] = finished(chart, theme)
    return figures


def _row(
    part: pl.DataFrame, figure: str, column: str, title: str, theme: Theme
) -> alt.HConcatChart:
    """A panel for each value of what panels hold constant, all on one pair of logarithmic axes."""
    ways = [way for way in WAYS if way in part["way"]]
    colour = alt.Color(
        "way:N",
        title=None,
        sort=ways,
        scale=alt.Scale(domain=ways, range=[WAYS[way] for way in ways]),
        legend=alt.Legend(orient="bottom", symbolType="stroke", symbolSize=300),
    )
    across: list[int] = part["x"].unique().sort().to_list()
    ends = [across[0], across[-1]] if len(across) > 1 else [across[0] / 2, across[0] * 2]
    ticks = alt.Axis(values=across, format="~s", labelOverlap="greedy")
    x = alt.X(
        "x:Q",
        title=AXES[figure].title,
        axis=ticks,
        scale=alt.Scale(type="log", domain=ends, nice=False),
    )
    y = alt.Y(f"{column}:Q", title="ms", scale=alt.Scale(type="log"))
    panels = []
    for panel in sorted(part["panel"].unique(), key=_number):
        own = part.filter(pl.col("panel") == panel)
        base = alt.Chart(own).encode(x=x, color=colour, detail=["branch:N"])
        layers = [
            base.mark_line(strokeWidth=1.7).encode(y=y),
            base.mark_point(size=26, filled=True, opacity=1).encode(y=y),
        ]
        if column == "wall_ms" and own["low"].is_not_null().any():
            layers.insert(
                0, base.mark_rule(strokeWidth=1, opacity=0.6).encode(y=alt.Y("low:Q"), y2="high:Q")
            )
        name = alt.TitleParams(
            panel, fontSize=11, fontWeight="normal", color=theme.faint_ink, offset=4
        )
        panels.append(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=name))
    row: alt.HConcatChart = alt.hconcat(*panels, spacing=16).resolve_scale(y="shared")
    return row.properties(
        title=alt.TitleParams(title, anchor="start", fontSize=13, color=theme.ink)
    )


def _bars(points: pl.DataFrame, figure: str, theme: Theme) -> alt.LayerChart:
    """A row for each place and origin, a bar for each way in it.

    Points on a curve of one point would tell nothing.
    """
    ways = [way for way in WAYS if way in points["way"]]
    shown = points.with_columns(row=pl.format("{}, {}, {}", "place", "panel", "origin"))
    y = alt.Y(
        "row:N", sort=None, title=None, axis=alt.Axis(labelLimit=400, ticks=False, domain=False)
    )
    beside = alt.YOffset("way:N", sort=ways)
    colour = alt.Color(
        "way:N",
        title=None,
        sort=ways,
        scale=alt.Scale(domain=ways, range=[WAYS[way] for way in ways]),
        legend=alt.Legend(orient="bottom"),
    )
    x = alt.X("wall_ms:Q", title="wall time in ms")
    base = alt.Chart(shown).encode(y=y, yOffset=beside)
    layers = [
        base.mark_bar(opacity=0.85).encode(x=x, color=colour),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5, color=theme.ink)
        .encode(x=alt.X("low:Q"), x2="high:Q"),
    ]
    title = f"{AXES[figure].title}: {points['x'][0]}"
    return alt.LayerChart(layer=layers).properties(
        width=2 * WIDTH, height=alt.Step(BAR), title=title
    )


def _number(panel: str) -> tuple[int, str]:
    """Sorts panels by the number that they begin with."""
    first = panel.split(maxsplit=1)[0]
    return (int(first) if first.isdigit() else 0, panel)


def _slug(place: str) -> str:
    return "-".join(word.strip(",:").lower() for word in place.split())
