"""Draws the host's clock frequency by threads, and the drift of times. No statistics."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import (
    SIGNED,
    ChartStyle,
    beyond_cpus,
    finished,
    thread_axis,
)
from sweep_analysis.stats.drift import Drift

MODES = {"dynamic": "#d55e00", "fixed": "#0072b2"}
"""Colour of each frequency mode."""
CLOCK = (520, 190)
DRIFT = (760, 190)
SPREAD = (0.01, 0.99)
"""The axis shows at least the residuals between these quantiles."""
MOST_POINTS = 3000
"""Maximum number of blocks of the picture, chosen at random."""


def clock_figure(rows: pl.DataFrame, style: ChartStyle) -> alt.LayerChart:
    """Draw the measured clock by threads: a line for each frequency mode, with a band for the range of the trials.

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
    """Draw a point per block of the sweep, and the trend as a line; a point beyond the axis is drawn at the axis's end.

    In: rows of `frames.RESIDUALS`.
    """
    rows = residuals.sample(min(MOST_POINTS, residuals.height), seed=2022)
    frame = rows.with_columns((pl.col("residual").exp() - 1).alias("change"))
    widest = 1.2 * max(0.02, *(abs(frame["change"].quantile(at) or 0.0) for at in SPREAD))
    scale = alt.Scale(domain=[-widest, widest], nice=False, clamp=True)
    blocks = [int(min(residuals["block"])), int(max(residuals["block"]))]
    x = alt.X(
        "block:Q",
        scale=alt.Scale(domain=blocks, nice=False),
        title="block, in order of measurement",
        axis=alt.Axis(tickCount=6, grid=False),
    )
    signed = alt.Axis(labelExpr=SIGNED, tickCount=5)
    y = alt.Y("change:Q", scale=scale, title="change of the block's time, %", axis=signed)
    layers = [
        alt.Chart(frame)
        .mark_point(size=16, filled=True, opacity=0.55, color=theme.faint_ink)
        .encode(x=x, y=y),
        alt.Chart(frame.head(1)).mark_rule(color=theme.ink, strokeWidth=1).encode(y=alt.datum(0)),
    ]
    if trend is not None:
        half = math.log(trend.ratio) / 2
        line = pl.DataFrame({"block": blocks, "change": [math.expm1(-half), math.expm1(half)]})
        mark = alt.Chart(line).mark_line(color="#d55e00", strokeWidth=2)
        layers.append(mark.encode(x=x, y=alt.Y("change:Q", scale=scale)))
    return finished(alt.LayerChart(layer=layers).properties(width=DRIFT[0], height=DRIFT[1]), theme)
