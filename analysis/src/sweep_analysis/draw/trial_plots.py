"""Draws what is odd about single trials: outliers by time and branch, cells of several modes. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme, styles
from sweep_analysis.draw.plots import SIGNED_PERCENT, ChartStyle, drawn_by_lot, finished
from sweep_analysis.read.labels import count, with_panel

STRIP = (330, 220)
"""Width and height of the outliers over the sweep in pixels."""
SHARES = 130
"""Width of the shares by branch in pixels."""
MOST_MODES = 12
"""So many rows with several modes are drawn."""
MODES_WIDTH = 420
ROW = 22
"""Height of a branch or a row of modes in pixels."""
RATIOS = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10)
"""Ratios of times that the axis of outliers labels, as far as it reaches."""
CROSS = "M-0.7,-0.9L0,-0.2L0.7,-0.9L0.9,-0.7L0.2,0L0.9,0.7L0.7,0.9L0,0.2L-0.7,0.9L-0.9,0.7L-0.2,0L-0.9,-0.7Z"
"""A thin cross as a path in a square from -1 to 1: hollow points would mean something else."""
MODE_COLOUR = "#0072b2"


def outlier_figure(labelled: pl.DataFrame, shares: pl.DataFrame, style: ChartStyle) -> alt.HConcatChart:
    """Left the labelled trials over the sweep, right the share of each branch's trials that is labelled.

    In: rows of `frames.OUTLIERS` and of `frames.OUTLIER_SHARES`.
    """
    theme = style.theme
    by_both = pl.col("is_beyond_fences") & pl.col("is_far")
    shown = labelled.select("block", "time_ratio", rules=pl.when(by_both).then(pl.lit("both")).otherwise(pl.lit("one")))
    widest = max(1.05, *shown["time_ratio"], *(1 / shown["time_ratio"])) * 1.05
    blocks = [0, int(max(shown["block"]))]
    base = alt.Chart(drawn_by_lot(shown))
    points = base.mark_point(size=22, opacity=0.9, strokeWidth=1.2, filled=True, color=theme.faint_ink).encode(
        x=alt.X("block:Q", title="block, in order of measurement", scale=alt.Scale(domain=blocks, nice=False)),
        y=alt.Y(
            "time_ratio:Q",
            title="time beside the median of the cell",
            scale=alt.Scale(type="log", domain=[1 / widest, widest], nice=False),
            axis=alt.Axis(labelExpr="format(datum.value - 1, '+.0%')", values=list(RATIOS)),
        ),
        shape=alt.Shape("rules:N", scale=alt.Scale(domain=["both", "one"], range=["circle", CROSS]), legend=None),
    )
    one = alt.Chart(shown.head(1)).mark_rule(color=theme.ink).encode(y=alt.datum(1))
    strip = alt.LayerChart(layer=[one, points]).properties(width=STRIP[0], height=STRIP[1])
    return finished(alt.hconcat(strip, _shares(shares, style), spacing=24), theme)


def _shares(shares: pl.DataFrame, style: ChartStyle) -> alt.LayerChart:
    theme = style.theme
    looks = styles(style.branches, style.baseline, theme)
    present = shares["branch"].to_list()
    order = [branch for branch in style.branches if branch in present]
    order += [branch for branch in present if branch not in order]
    colour = alt.Color(
        "branch:N",
        legend=None,
        scale=alt.Scale(
            domain=order, range=[looks[name].colour if name in looks else theme.faint_ink for name in order]
        ),
    )
    base = alt.Chart(shares).encode(
        y=alt.Y("branch:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False)),
        color=colour,
    )
    across = alt.X("share_low:Q", title="share of trials", axis=alt.Axis(format=".0%", tickCount=5))
    layers = [
        base.mark_rule(strokeWidth=1.8).encode(x=across, x2="share_high:Q"),
        base.mark_point(size=44, filled=True, opacity=1).encode(x=alt.X("share:Q", scale=alt.Scale(zero=True))),
    ]
    return alt.LayerChart(layer=layers).properties(width=SHARES, height=ROW * len(order))


def mode_figure(values: pl.DataFrame, theme: Theme) -> alt.LayerChart:
    """A row for each flagged cell, its values as ticks. In: rows of `frames.MODE_VALUES`."""
    named = with_panel(values)
    words = [
        f"{row['panel']}, {'all threads' if row['threads'] is None else count(row['threads'], 'thread')}, "
        f"{row['branch']}{', sequential program' if row['program'] == 'sequential' else ''}, {row['scope']}"
        for row in named.select("panel", "threads", "branch", "program", "scope").rows(named=True)
    ]
    shown = named.select((pl.col("deviation").exp() - 1).alias("change")).with_columns(pl.Series("row", words))
    order = list(dict.fromkeys(words))
    base = alt.Chart(drawn_by_lot(shown))
    ticks = base.mark_tick(color=MODE_COLOUR, opacity=0.45, thickness=1.6, height=ROW - 8).encode(
        x=alt.X("change:Q", title="time beside the others", axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=7)),
        y=alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelLimit=420, ticks=False, domain=False)),
    )
    zero = alt.Chart(shown.head(1)).mark_rule(color=theme.faint_ink).encode(x=alt.datum(0))
    return finished(alt.LayerChart(layer=[zero, ticks]).properties(width=MODES_WIDTH, height=ROW * len(order)), theme)
