"""Makes the figures about the host and the trials, which show the quality of a sweep."""

from __future__ import annotations

import polars as pl

from sweep_analysis.draw import host_plots
from sweep_analysis.draw.figure import Figure, figure
from sweep_analysis.draw.plots import ChartStyle
from sweep_analysis.say import tables
from sweep_analysis.stats.analysis import Analysis


@figure("frequency", "clocks")
def clock(analysis: Analysis, style: ChartStyle) -> Figure:
    """The measured clock by threads."""
    measured = analysis.clocks.filter(pl.col("trials") > 0)
    return Figure(
        "CPU clock",
        "The runner measures the clock just before and just after each trial, on as many CPUs at once as the trial has "
        "threads, at most on all. The line is the median over trials, the band their range.",
        missing=None if measured.height else "The clock was not measured in this sweep.",
        charts=lambda: {"frequency": host_plots.clock_figure(measured, style)},
        numbers={"the clock in GHz": tables.for_people(analysis, "clocks", analysis.clocks)},
    )


@figure("drift", "residuals")
def drift(analysis: Analysis, style: ChartStyle) -> Figure:
    """Drift of times over the sweep."""
    rows = analysis.residuals
    return Figure(
        "Drift of times over the sweep",
        "Each point is a block, with the change of its time against the mean of all blocks of the same configurations. On a "
        "steady host the points lie around zero. The orange line is the trend. Drift nearly cancels in comparisons of "
        "branches, which are within blocks, but not in speed-ups, which compare blocks. Of more than "
        f"{host_plots.MOST_POINTS} blocks the picture shows a random sample.",
        missing="Simulated times do not drift."
        if analysis.sweep.machine
        else None
        if rows.height
        else "Each configuration has only one block, so a drift would not show.",
        charts=lambda: {"drift": host_plots.drift_figure(rows, analysis.trend, style.theme)},
    )


@figure("ledger", "ledger")
def ledger(analysis: Analysis, _style: ChartStyle) -> Figure:
    """Data that figures leave out, as a table of reasons."""
    return Figure(
        "Data left out of figures",
        "The data that figures leave out, with reasons and amounts.",
        numbers={"data left out": tables.for_people(analysis, "ledger", analysis.ledger)},
    )
