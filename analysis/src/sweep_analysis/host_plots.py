"""Draws how steady the host was: its clock by threads, and blocks' times over the sweep. No statistics."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from sweep_analysis.drift import Drift
from sweep_analysis.labels import with_panel
from sweep_analysis.palette import Theme
from sweep_analysis.plots import SIGNED_PERCENT, Look, beyond_cpus, finished, thread_axis

MODES = {"dynamic": "#d55e00", "fixed": "#0072b2"}
"""Colour of each frequency mode."""
CLOCK = (520, 190)
DRIFT = (260, 150)
DRIFTS_A_ROW = 3
SPREAD = (0.01, 0.99)
"""Quantiles of the residuals that the axis shows; further points stand at its edge."""


def clock_figure(rows: pl.DataFrame, look: Look) -> alt.LayerChart:
    """Measured clock by threads, a line for each mode; the band reaches from the least to the most of the trials.

    In: rows of `frames.CLOCKS` with a measured clock.
    """
    theme = look.theme
    threads = sorted(rows["threads"].unique())
    named = rows.with_columns(pl.concat_str("mode", pl.lit(" ("), "freq_state", pl.lit(")")).alias("state"))
    states = named.select("state", "mode").unique(maintain_order=True)
    colour = alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(
            domain=states["state"].to_list(), range=[MODES.get(mode, theme.ink) for mode in states["mode"]]
        ),
        legend=alt.Legend(orient="bottom", columns=2, labelLimit=400),
    )
    x = thread_axis(threads)
    ends = [min(rows["ghz_low"]) * 0.95, max(rows["ghz_high"]) * 1.05]
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    base = alt.Chart(named)
    up = alt.Axis(format=".2f", tickCount=6)
    layers = [
        *beyond_cpus(threads, look),
        base.mark_area(opacity=0.2).encode(
            x=x, y=alt.Y("ghz_low:Q", scale=scale, title="clock in GHz", axis=up), y2="ghz_high:Q", color=colour
        ),
        base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=24, filled=True)).encode(
            x=x, y=alt.Y("ghz:Q", scale=scale), color=colour
        ),
    ]
    return finished(alt.LayerChart(layer=layers).properties(width=CLOCK[0], height=CLOCK[1]), theme)


def drift_figure(residuals: pl.DataFrame, trend: Drift | None, theme: Theme) -> alt.ConcatChart:
    """A point per block over the whole sweep, a chart per workload, with the trend of all of them as a line.

    In: rows of `frames.RESIDUALS`.
    """
    frame = with_panel(residuals).with_columns((pl.col("residual").exp() - 1).alias("change"))
    low, high = (float(frame["change"].quantile(at) or 0.0) for at in SPREAD)
    widest = max(0.02, abs(low), abs(high)) * 1.2
    scale = alt.Scale(domain=[-widest, widest], nice=False, clamp=True)
    blocks = [int(frame["block"].min() or 0), int(frame["block"].max() or 0)]  # type: ignore[arg-type]
    x = alt.X(
        "block:Q",
        scale=alt.Scale(domain=blocks, nice=False),
        title="block, in order of measurement",
        axis=alt.Axis(tickCount=4, grid=False),
    )
    charts = []
    for part in frame.partition_by("panel", maintain_order=True):
        base = alt.Chart(part)
        points = base.mark_point(size=16, filled=True, opacity=0.55, color=theme.faint_ink).encode(
            x=x,
            y=alt.Y(
                "change:Q", scale=scale, title="time of the block", axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5)
            ),
        )
        zero = alt.Chart(part.head(1)).mark_rule(color=theme.ink, strokeWidth=1).encode(y=alt.datum(0))
        layers = [points, zero, *_trend(trend, blocks, x, scale)]
        charts.append(
            alt.LayerChart(layer=layers).properties(width=DRIFT[0], height=DRIFT[1], title=str(part["panel"][0]))
        )
    joined: alt.ConcatChart = alt.concat(*charts, columns=min(DRIFTS_A_ROW, len(charts)), spacing=20)
    return finished(joined, theme)


def _trend(trend: Drift | None, blocks: list[int], x: alt.X, scale: alt.Scale) -> list[alt.Chart]:
    if trend is None:
        return []
    half = math.log(trend.ratio) / 2
    line = pl.DataFrame({"block": blocks, "change": [math.expm1(-half), math.expm1(half)]})
    return [alt.Chart(line).mark_line(color="#d55e00", strokeWidth=2).encode(x=x, y=alt.Y("change:Q", scale=scale))]
