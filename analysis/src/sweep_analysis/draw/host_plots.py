"""Draws the clock of the host by threads, and the drift of times. No statistics."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import (
    SIGNED_PERCENT,
    ChartStyle,
    beyond_cpus,
    drawn_by_lot,
    edge_arrows,
    finished,
    thread_axis,
)
from sweep_analysis.stats.drift import Drift

MODES = {"dynamic": "#d55e00", "fixed": "#0072b2"}
"""Colour of each frequency mode."""
CLOCK = (520, 190)
DRIFT = (760, 190)
SPREAD = (0.01, 0.99)
"""Quantiles of the residuals at the ends of the axis; points beyond are arrows at its edge."""
_SIGNED = alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5)


def clock_figure(rows: pl.DataFrame, style: ChartStyle) -> alt.LayerChart:
    """Measured clock by threads, a line for each mode, with a band for the range of the trials.

    In: rows of `frames.CLOCKS` with a measured clock.
    """
    theme = style.theme
    threads = sorted(rows["threads"].unique())
    named = rows.with_columns(
        pl.concat_str("mode", pl.lit(" ("), "freq_state", pl.lit(")")).alias("state")
    )
    states = named.select("state", "mode").unique(maintain_order=True)
    colour = alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(
            domain=states["state"].to_list(),
            range=[MODES.get(mode, theme.ink) for mode in states["mode"]],
        ),
        legend=alt.Legend(orient="bottom", columns=2, labelLimit=400),
    )
    x = thread_axis(threads)
    ends = [min(rows["ghz_low"]) * 0.95, max(rows["ghz_high"]) * 1.05]
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    base = alt.Chart(named)
    up = alt.Axis(format=".2f", tickCount=6)
    layers = [
        *beyond_cpus(threads, style),
        base.mark_area(opacity=0.2).encode(
            x=x,
            y=alt.Y("ghz_low:Q", scale=scale, title="clock in GHz", axis=up),
            y2="ghz_high:Q",
            color=colour,
        ),
        base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=24, filled=True)).encode(
            x=x, y=alt.Y("ghz:Q", scale=scale), color=colour
        ),
    ]
    return finished(alt.LayerChart(layer=layers).properties(width=CLOCK[0], height=CLOCK[1]), theme)


def drift_figure(residuals: pl.DataFrame, trend: Drift | None, theme: Theme) -> alt.LayerChart:
    """A point per block of the sweep, with the trend as a line.

    In: rows of `frames.RESIDUALS`.
    """
    frame = residuals.with_columns((pl.col("residual").exp() - 1).alias("change"))
    ends = _ends(frame["change"])
    scale = _scale(ends)
    blocks = [int(min(frame["block"])), int(max(frame["block"]))]
    x = alt.X(
        "block:Q",
        scale=alt.Scale(domain=blocks, nice=False),
        title="block, in order of measurement",
        axis=alt.Axis(tickCount=6, grid=False),
    )
    layers = [
        *_points(frame, x, ends, theme),
        _zero(frame, theme),
    ]
    if trend is not None:
        half = math.log(trend.ratio) / 2
        line = pl.DataFrame({"block": blocks, "change": [math.expm1(-half), math.expm1(half)]})
        layers.append(_line(line, x, scale))
    return finished(alt.LayerChart(layer=layers).properties(width=DRIFT[0], height=DRIFT[1]), theme)


def _ends(changes: pl.Series) -> tuple[float, float]:
    """The ends of the axis of changes of blocks; blocks beyond them are drawn as arrows at the edge."""
    low, high = (float(changes.quantile(at) or 0.0) for at in SPREAD)
    widest = max(0.02, abs(low), abs(high)) * 1.2
    return -widest, widest


def _scale(ends: tuple[float, float]) -> alt.Scale:
    return alt.Scale(domain=list(ends), nice=False, clamp=True)


def _points(
    frame: pl.DataFrame, x: alt.X, ends: tuple[float, float], theme: Theme
) -> list[alt.Chart]:
    drawn = drawn_by_lot(frame)
    scale = _scale(ends)
    within = alt.Chart(drawn.filter(pl.col("change").is_between(*ends)))
    mark = within.mark_point(size=16, filled=True, opacity=0.55, color=theme.faint_ink)
    y = alt.Y("change:Q", scale=scale, title="time of the block", axis=_SIGNED)
    arrows = edge_arrows(
        drawn, ("change", "change"), ("y", scale, ends), {"x": x, "color": alt.value(theme.ink)}
    )
    return [mark.encode(x=x, y=y), *arrows]


def _zero(frame: pl.DataFrame, theme: Theme) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(frame.head(1)).mark_rule(color=theme.ink, strokeWidth=1).encode(y=alt.datum(0))
    )
    return chart


def _line(ends: pl.DataFrame, x: alt.X, scale: alt.Scale) -> alt.Chart:
    mark = alt.Chart(ends).mark_line(color="#d55e00", strokeWidth=2)
    chart: alt.Chart = mark.encode(x=x, y=alt.Y("change:Q", scale=scale))
    return chart
