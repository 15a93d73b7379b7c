"""The figures about the host and the trials themselves.

Whether what was measured can be trusted.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.draw import host_plots
from sweep_analysis.draw.figure import Charts, Figure, figure
from sweep_analysis.draw.plots import ChartStyle, lot_sentence
from sweep_analysis.read.labels import count, with_panel
from sweep_analysis.say import tables
from sweep_analysis.stats.analysis import Analysis


@figure("frequency", "clocks", is_of_every_sweep=True)
def clock(analysis: Analysis, style: ChartStyle) -> Figure:
    """The measured clock by threads."""
    measured = analysis.clocks.filter(pl.col("trials") > 0)
    return Figure(
        "The clock that the CPUs had",
        "Measured just before and just after each trial on as many CPUs at once as it has threads; the line is the "
        "median over trials, the band reaches from the least to the most.",
        missing=None if measured.height else "The clock was not measured in this sweep.",
        panels=lambda: {"": host_plots.clock_figure(measured, style)},
        whole=lambda: {"frequency": host_plots.clock_figure(measured, style)},
        numbers={"the clock in GHz": tables.rounded(analysis.clocks)},
    )


@figure("drift", "residuals", "places", is_of_every_sweep=True)
def drift(analysis: Analysis, style: ChartStyle) -> Figure:
    """Effects on times other than the branch: the moment, the place in the block, the clock."""
    rows, theme = analysis.residuals, style.theme

    def charts() -> Charts:
        found: Charts = {"over the sweep": host_plots.drift_figure(rows, analysis.trend, theme)}
        if analysis.places.height > 1:
            found["by place in the block"] = host_plots.place_figure(
                analysis.places, analysis.place_trend, theme
            )
        if analysis.clock_effect is not None:
            found["by measured clock"] = host_plots.clock_effect_figure(
                rows, analysis.clock_effect, theme
            )
        return found

    files = {
        "over the sweep": "drift",
        "by place in the block": "places",
        "by measured clock": "clock-effect",
    }
    return Figure(
        "What moved times beside branches",
        "Over the sweep: each point is a block, and how much more time it took than the other blocks of the same "
        "cells; on a steady host the points lie around zero all along. By place: the time of the first, second, … "
        "trial of a block beside the others of the block, with 95 % intervals; the order is random, so no branch gains "
        "by it, but it adds noise. By clock: were the clock all that moves times, points would lie on the dotted line. "
        "Orange lines are trends. Branches are compared inside blocks and hardly suffer; speed-ups compare blocks "
        "and do." + lot_sentence(rows),
        missing="Nothing drifts on a simulated machine."
        if analysis.sweep.machine
        else None
        if rows.height
        else "No cell was measured in more than one block, so a drift could not be seen.",
        panels=charts,
        whole=lambda: {files[name]: chart for name, chart in charts().items()},
        numbers={"by place in the block": tables.place_table(analysis.places)}
        if rows.height
        else {},
    )


@figure("outliers", "outliers", "outlier-shares")
def outliers(analysis: Analysis, _style: ChartStyle) -> Figure:
    """Trials far from their cell: when, and on which branch. Tables."""
    labelled = analysis.outliers
    return Figure(
        "Trials far from the others of their cell",
        "By two rules, Tukey's fences and scaled MADs. "
        + (
            ""
            if analysis.sweep.machine
            else "In neighbouring blocks they are the host's doing, alone the program's. "
        )
        + "By branch with 95 % intervals: one above the others has a tail of its own, which medians do not show. Of "
        "well-behaved trials a few per cent are labelled. None is left out of any figure.",
        missing=None
        if labelled.height
        else "No trial lies far from the others of its cell, or cells have too few.",
        numbers={
            "by branch": tables.rounded(analysis.outlier_shares),
            "every one": tables.outlier_table(with_panel(labelled)),
        },
    )


@figure("modes", "modes")
def modes(analysis: Analysis, _style: ChartStyle) -> Figure:
    """Cells with several typical times. A table."""
    tested = analysis.modes.filter(pl.col("p_value").is_not_null())
    flagged = tested.filter("several").sort("p_bh", -pl.col("gap").log().abs())
    none = (
        f"None of {count(tested.height, 'cell')} tested has several typical times."
        if tested.height
        else "No cell has enough values to ask whether it has several typical times."
    )
    return Figure(
        "Cells with several typical times",
        f"In {flagged.height} of {tested.height} tested, values fall into groups, and a median tells only which group "
        "is larger: a small change can move it from one to the other.",
        missing=None if flagged.height else none,
        numbers={"those flagged": tables.mode_table(with_panel(flagged))},
    )


@figure("ledger", "ledger", is_of_every_sweep=True)
def ledger(analysis: Analysis, _style: ChartStyle) -> Figure:
    """Everything that the figures leave out.

    A table, because a list of reasons has no useful picture.
    """
    return Figure(
        "What was left out of which figure",
        "Everything that a figure leaves out, why, and how much of it.",
        numbers={"what was left out": tables.ledger_table(analysis.ledger)},
    )
