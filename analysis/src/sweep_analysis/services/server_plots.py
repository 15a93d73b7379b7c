"""Draws the figures of the services, what was published below what was measured. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import finished
from sweep_analysis.read.labels import HERE, PUBLISHED, parameter
from sweep_analysis.services.servers import FORUM_GRID

WIDTH = 190
HEIGHT = 170
GRID_STEP = 34

WAYS = {
    "regular, global": "#e69f00",
    "regular, reader-writer": "#56b4e9",
    "lock-free, global": "#999933",
    "lock-free, reader-writer": "#009e73",
    "lock-free sleeping 250 ms, global": "#cc79a7",
    "lock-free sleeping 250 ms, reader-writer": "#d55e00",
    "pool, reader-writer": "#000000",
    "pool": "#000000",
    "threads": "#e69f00",
    "pool, long lines": "#56b4e9",
    "threads, long lines": "#d55e00",
    "own, own harness": "#000000",
    "own, reference harness": "#56b4e9",
    "reference, reference harness": "#e69f00",
}
"""Colour of each queue and store, and of each implementation; the reference of a board has the same in both origins."""

TITLES = {
    "server": "service time of a request, on the server",
    "client": "time of a session of 100 requests, on the client",
    "methods": "median service time of a request, by method",
    "order": "longest service time on the server, by order of requests",
}
"""Titles of the sides of a key-value server's figure."""

PANELS = {
    "server": ["mean", "median", "max", "min"],
    "client": ["mean", "median", "max", "min"],
    "methods": ["GET", "POST", "DELETE"],
}


def service_figures(points: pl.DataFrame, figure: str, theme: Theme) -> dict[str, alt.VConcatChart]:
    """The experiment's charts by name.

    One for each side of a key-value server, or one for a board and its differences.

    In: rows of `services.SERVICE_POINTS`, or of `services.FORUM_POINTS` with figure `FORUM_GRID`.
    """
    if figure == FORUM_GRID:
        return {
            "requests": _stacked([_grid(part, points, theme) for part in _origins(points)], theme),
            "difference": _stacked(
                [_differences(part, points, theme) for part in _origins(points)], theme
            ),
        }
    sides = {side: points.filter(pl.col("side") == side) for side in TITLES}
    order = sides.pop("order")
    figures = {
        side: _stacked([_statistics(one, side, points, theme) for one in _origins(part)], theme)
        for side, part in sides.items()
        if part.height
    }
    if order.height:
        figures["order"] = _stacked([_order(order, points, theme)], theme)
    return figures


def cost_figure(costs: pl.DataFrame, workload: str, quantity: str, theme: Theme) -> alt.FacetChart:
    """Median and range over trials by branch, a panel for each load and number of threads, its axis its own.

    In: rows of `services.costs_by_branch`.
    """
    part = costs.filter(
        (pl.col("workload") == workload) & (pl.col("quantity") == quantity)
    ).with_columns(parameter("load").fill_null("closed").alias("load"))
    part = part.with_columns(pl.format("{} loop, {} threads", "load", "threads").alias("panel"))
    base = alt.Chart(part).encode(y=alt.Y("branch:N", title=None, axis=alt.Axis(labelLimit=300)))
    across = alt.Scale(type="log", nice=False, padding=12)
    rule = base.mark_rule(color=theme.faint_ink).encode(
        x=alt.X("least:Q", title="µs", scale=across), x2="most:Q"
    )
    point = base.mark_point(filled=True, size=60, opacity=1, color="#0072b2").encode(
        x=alt.X("median:Q", scale=across)
    )
    panels = alt.layer(rule, point).properties(width=230, height=110)
    chart: alt.FacetChart = (
        panels.facet(facet=alt.Facet("panel:N", title=None), columns=2)
        .resolve_scale(x="independent")
        .properties(title=f"{workload}: {quantity}; median over trials, and their range")
    )
    return finished(chart, theme)


def _origins(points: pl.DataFrame) -> list[pl.DataFrame]:
    parts = [points.filter(pl.col("origin") == origin) for origin in (HERE, PUBLISHED)]
    return [part for part in parts if part.height]


def _stacked(rows: list[alt.HConcatChart], theme: Theme) -> alt.VConcatChart:
    figure: alt.VConcatChart = alt.vconcat(*rows, spacing=22).resolve_legend(color="shared")
    return finished(figure, theme)


def _colour(points: pl.DataFrame, theme: Theme) -> alt.Color:
    ways = [way for way in WAYS if way in points["way"]]
    ink = ("pool, reader-writer", "pool", "own, own harness")
    return alt.Color(
        "way:N",
        title=None,
        sort=ways,
        scale=alt.Scale(
            domain=ways, range=[theme.ink if way in ink else WAYS[way] for way in ways]
        ),
        legend=alt.Legend(orient="bottom", columns=2, labelLimit=320, symbolType="circle"),
    )


def _row(panels: list[alt.LayerChart], title: str, theme: Theme) -> alt.HConcatChart:
    row: alt.HConcatChart = alt.hconcat(*panels, spacing=16).properties(
        title=alt.TitleParams(title, anchor="start", fontSize=13, color=theme.ink)
    )
    return row


def _panel(layers: list[alt.Chart], title: str, width: int, theme: Theme) -> alt.LayerChart:
    name = alt.TitleParams(title, fontSize=11, fontWeight="normal", color=theme.faint_ink, offset=4)
    panel: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=width, height=HEIGHT, title=name
    )
    return panel


def _statistics(
    part: pl.DataFrame, side: str, points: pl.DataFrame, theme: Theme
) -> alt.HConcatChart:
    """A panel for each statistic.

    Threads across, milliseconds upwards, both in steps of a factor.
    """
    threads = sorted(points["threads"].unique())
    ends = [threads[0], max(threads[-1], threads[0] + 1)]
    axis = alt.Axis(values=threads, format="d", labelOverlap=False)
    x = alt.X(
        "threads:Q",
        title="handlers",
        axis=axis,
        scale=alt.Scale(type="log", base=2, domain=ends, nice=False),
    )
    # An interval that reaches below nothing would have no place on a scale of factors.
    part = part.with_columns(pl.when(pl.col("low_ms") > 0).then(pl.col("low_ms")).alias("low_ms"))
    y = alt.Y(
        "value_ms:Q",
        title="ms",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    colour = _colour(points, theme)
    panels = []
    for panel in PANELS[side]:
        own = part.filter(pl.col("panel") == panel)
        if own.is_empty():
            continue
        base = alt.Chart(own)
        bounded = alt.Chart(own.filter(pl.col("low_ms").is_not_null()))
        layers = [
            bounded.mark_rule(opacity=0.5).encode(
                x=x, y=alt.Y("low_ms:Q", title="ms"), y2="high_ms:Q", color=colour
            ),
            base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour),
            base.mark_point(filled=True, size=26, opacity=1).encode(x=x, y=y, color=colour),
        ]
        panels.append(_panel(layers, panel, WIDTH, theme))
    return _row(panels, f"{part['origin'][0]}: {TITLES[side]}", theme)


def _order(part: pl.DataFrame, points: pl.DataFrame, theme: Theme) -> alt.HConcatChart:
    """A panel for the fewest and the most handlers and one between.

    Requests across, milliseconds upwards.
    """
    threads = sorted(part["threads"].unique())
    shown = sorted({threads[0], threads[len(threads) // 2], threads[-1]})
    panels = []
    for handlers in shown:
        own = part.filter(pl.col("threads") == handlers)
        x = alt.X("request:Q", title="request", axis=alt.Axis(format="d"))
        y = alt.Y(
            "value_ms:Q",
            title="ms",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~g", tickCount=5),
        )
        base = alt.Chart(own).encode(x=x, y=y, color=_colour(points, theme))
        layers = [base.mark_line(strokeWidth=1.6), base.mark_point(filled=True, size=20, opacity=1)]
        panels.append(_panel(layers, own["panel"][0], WIDTH * 3 // 2, theme))
    return _row(panels, f"{part['origin'][0]}: {TITLES['order']}", theme)


def _placed(part: pl.DataFrame) -> pl.DataFrame:
    return part.with_columns(pl.format("{}, {}", "posters", "readers").alias("place"))


def _grid(part: pl.DataFrame, points: pl.DataFrame, theme: Theme) -> alt.HConcatChart:
    """A panel for each kind of request: posters and readers across, requests a second upwards."""
    # Fewer requests than none are not drawn, however few the trials.
    part = _placed(part).with_columns(pl.col("low").clip(lower_bound=0))
    colour = _colour(points, theme)
    panels = []
    for kind in part["kind"].unique(maintain_order=True).sort():
        own = part.filter(pl.col("kind") == kind)
        base = alt.Chart(own)
        x = alt.X("place:N", title="posters, readers", sort=None, axis=alt.Axis(labelAngle=-90))
        y = alt.Y("requests_per_second:Q", title="requests/s", axis=alt.Axis(format="~s"))
        layers = [
            base.mark_rule(opacity=0.6).encode(
                x=x, y=alt.Y("low:Q", title="requests/s"), y2="high:Q", color=colour
            ),
            base.mark_point(filled=True, size=34, opacity=0.9).encode(x=x, y=y, color=colour),
        ]
        panels.append(_panel(layers, kind, GRID_STEP * own["place"].n_unique() * 2 // 3, theme))
    return _row(panels, f"{part['origin'][0]}: requests a second", theme)


def _differences(part: pl.DataFrame, points: pl.DataFrame, theme: Theme) -> alt.HConcatChart:
    """As `_grid`, the difference from the reference in per cent."""
    part = _placed(part.filter(pl.col("difference_percent").is_not_null()))
    colour = _colour(points, theme)
    panels = []
    for kind in part["kind"].unique(maintain_order=True).sort():
        own = part.filter(pl.col("kind") == kind)
        x = alt.X("place:N", title="posters, readers", sort=None, axis=alt.Axis(labelAngle=-90))
        y = alt.Y("difference_percent:Q", title="% more than the reference")
        zero = (
            alt.Chart(pl.DataFrame({"zero": [0.0]}))
            .mark_rule(color=theme.faint_ink)
            .encode(y="zero:Q")
        )
        layers = [
            zero,
            alt.Chart(own).mark_point(filled=True, size=34).encode(x=x, y=y, color=colour),
        ]
        panels.append(_panel(layers, kind, GRID_STEP * own["place"].n_unique() * 2 // 3, theme))
    return _row(panels, f"{part['origin'][0]}: difference from the reference", theme)
