"""The figures about the host and the trials themselves.

Whether what was measured can be trusted.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.draw import host_plots
from sweep_analysis.draw.figure import Figure, figure
from sweep_analysis.draw.plots import ChartStyle, lot_sentence
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
        numbers={"the clock in GHz": tables.for_people(analysis, "clocks", analysis.clocks)},
    )


@figure("drift", "residuals", is_of_every_sweep=True)
def drift(analysis: Analysis, style: ChartStyle) -> Figure:
    """How times moved over the sweep."""
    rows = analysis.residuals
    return Figure(
        "How times moved over the sweep",
        "Each point is a block, and how much more time it took than the other blocks of the same cells; on a steady "
        "host the points lie around zero all along. The orange line is the trend. Branches are compared inside blocks "
        "and hardly suffer; speed-ups compare blocks and do." + lot_sentence(rows),
        missing="Nothing drifts on a simulated machine."
        if analysis.sweep.machine
        else None
        if rows.height
        else "No cell was measured in more than one block, so a drift could not be seen.",
        panels=lambda: {"": host_plots.drift_figure(rows, analysis.trend, style.theme)},
        whole=lambda: {"drift": host_plots.drift_figure(rows, analysis.trend, style.theme)},
    )


@figure("ledger", "ledger", is_of_every_sweep=True)
def ledger(analysis: Analysis, _style: ChartStyle) -> Figure:
    """Everything that the figures leave out.

    A table, because a list of reasons has no useful picture.
    """
    return Figure(
        "Data left out of figures",
        "Everything that a figure leaves out, why, and how much of it.",
        numbers={"what was left out": tables.for_people(analysis, "ledger", analysis.ledger)},
    )
