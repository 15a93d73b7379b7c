"""Makes the figures that compare branches, with the frames and tables of each figure."""

from __future__ import annotations

import polars as pl

from sweep_analysis.draw import (
    event_plots,
    latency_plots,
    map_plots,
    speedup_plots,
    spent_plots,
)
from sweep_analysis.draw.figure import Figure, figure
from sweep_analysis.draw.forest_plots import Part, forest
from sweep_analysis.draw.plots import ChartStyle, under_each_other
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.schema import PARALLEL, POOL_CELL
from sweep_analysis.say import tables
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import LEAST_SIMULATED
from sweep_analysis.stats.simulated import largest_threads
from sweep_analysis.stats.speedup import DEFINITIONS

MOST_LINES = 5
"""The page shows at most this many pairs of source lines for each branch and workload."""
_NO_COMPARISON = "No branch ran in the same blocks as the baseline, so there is no comparison."
_NOT_SIMULATED = "Only simulated sweeps have these data: `cargo runner sweep --machine NAME`."


@figure("gains", "comparisons")
def gains(analysis: Analysis, style: ChartStyle) -> Figure:
    """Changes of each branch on each workload, wall time beside CPU time."""
    rows = analysis.compared
    numbers = {"results": _results(analysis, rows.filter(pl.col("level") != "cell"))}
    plain = analysis.decisions.plain
    if plain and plain != analysis.baseline:
        # `plain` has the baseline's counters in the fork's scheduler, so the comparison with it shows
        # only the effect of the counters.
        over = analysis.decisions.over_plain.filter(pl.col("level") != "cell")
        numbers[f"results against {plain}"] = _results(analysis, over)
    twin = analysis.sweep.twin
    return Figure(
        "Which branch gains on which workload",
        "Change against the baseline in per cent, over all thread counts of several workers within the CPUs, or else over "
        "the counts that the sweep has. "
        f"Blue is less, orange more, in steps of 3 %. Grey is inside the noise floor ({_band(analysis)}), or the "
        "noise floor is unknown. A bold number is significant after correction for the number of comparisons; other "
        "numbers may be chance. If a clock paces a program, compare its CPU time, not its wall time."
        + (
            f" {twin} is the A/A control, {style.baseline} run twice: its changes are noise."
            if twin
            else ""
        ),
        missing=None if _is_compared(analysis) else _NO_COMPARISON,
        charts=lambda: {"gains": map_plots.gains_figure(rows, style)},
        numbers=numbers,
    )


@figure("cost", "comparisons", "costs")
def cost(analysis: Analysis, style: ChartStyle) -> Figure:
    """Wall time and CPU time with intervals, and the number of idle CPUs."""
    rows = map_plots.pooled_rows(analysis.compared)
    branches = [*style.branches, analysis.sweep.twin]
    costs = analysis.costs.filter(program=PARALLEL)
    return Figure(
        f"Wall time and CPU time relative to {style.baseline or 'the baseline'}",
        "The changes of “Which branch gains on which workload” with 95 % intervals. Left of zero is less. An arrow ends an interval that leaves the "
        f"picture. The grey bar is the noise floor: {_band(analysis)}. A full point is significant, a hollow one is "
        "inconclusive against the baseline. In the table, `CPUs idle` is the smaller of threads and CPUs, minus the "
        "busy CPUs. Without idle CPUs threads hardly sleep, so their counters matter little.",
        missing=None if _is_compared(analysis) else _NO_COMPARISON,
        charts=lambda: {
            "cost": forest(
                [
                    Part([f"{name} against {style.baseline}"], part)
                    for name in branches
                    if name and (part := rows.filter(branch=name)).height
                ]
            )
        },
        numbers={"costs of every configuration": tables.for_people(analysis, "costs", costs)},
    )


@figure("speedup", "speedups")
def speedup(analysis: Analysis, style: ChartStyle) -> Figure:
    """Speed-up by threads."""
    rows = analysis.speedups
    present = [name for name in DEFINITIONS if name in set(rows["definition"])]
    return Figure(
        "Speed-up",
        "The speed-up of each branch by threads of the pool. The dotted line is ideal: the number of threads, up to "
        "the number of CPUs. "
        + (
            ""
            if analysis.sweep.machine
            else "In the shaded part there are more threads than CPUs. "
        )
        + f"The grey band is the 95 % interval of {style.baseline or 'each branch'}; the tables have all intervals. "
        "Efficiency is speed-up over threads. The Karp–Flatt fraction is the serial share that would explain the "
        "speed-up. If it rises with the threads, another cause limits the pool.",
        missing=None
        if rows.height
        else "No trial of a pool has a time and a reference, so there is no speed-up to draw.",
        charts=lambda: {
            f"speedup-{name}": speedup_plots.speedup_figure(rows, name, style) for name in present
        },
        numbers={
            f"speed-up {DEFINITIONS[name]}": tables.for_people(
                analysis, "speedups", rows.filter(definition=name)
            )
            for name in present
        },
    )


@figure("map", "comparisons")
def cells(analysis: Analysis, style: ChartStyle) -> Figure:
    """Maps of every configuration, for each branch."""
    files = {"time": "map", "cpu": "map-cpu"}
    rows = analysis.compared.filter(level="cell")
    drawn = {name: part for name in files if (part := rows.filter(quantity=name)).height}
    return Figure(
        "Where each branch gains and loses, by threads",
        "A map for each branch, first of wall time and then of CPU time, has workloads down and threads across. Each "
        "cell is one configuration. Blue is less, orange more; bold numbers are significant.",
        missing=None if _is_compared(analysis) else _NO_COMPARISON,
        charts=lambda: {
            files[name]: map_plots.map_figure(part, style) for name, part in drawn.items()
        },
        numbers={"every configuration": _results(analysis, rows)},
    )


@figure("spent", "spent")
def spent(analysis: Analysis, style: ChartStyle) -> Figure:
    """The time of all cores by activity."""
    shares = analysis.spent.filter(pl.col("branch").is_in(style.branches))
    return Figure(
        "Where the time went",
        "The time of all cores together by activity and threads, with a bar for each branch. `work` is the program's own "
        "work; `push and pop` is the cost of jobs on their own core; `search` is time without a job; `waiting for lines` "
        "is time in which a core waits for a cache line of another core; `system` is calls to the kernel. The thread that "
        "calls the pool has a core, too, and sleeps on it: with one thread, this is up to half of all time.",
        missing=None if shares.height else _NOT_SIMULATED,
        charts=lambda: {
            "spent": under_each_other(
                shares, lambda part: spent_plots.spent_panel(part, style), style
            )
        },
        numbers=_numbers(analysis, "time of all cores", "spent", shares),
    )


@figure("line-waits", "line-waits")
def line_waits(analysis: Analysis, style: ChartStyle) -> Figure:
    """Waits for cache lines by source line, as a table."""
    rates = largest_threads(analysis.line_waits.filter(pl.col("branch").is_in(style.branches)))
    rates = rates.group_by(POOL_CELL, maintain_order=True).head(MOST_LINES)
    return Figure(
        "Waits by source line",
        f"The {MOST_LINES} pairs of source lines with the longest waits for cache lines, of each workload and "
        "branch at the most threads. A source line waits because another core has written to the cache line, or "
        "holds it: `written by` is the last write before. Shares are of all the time that cores waited for cache lines, "
        "and of all their time. Paths of the pool begin below `rayon-fork/src`. "
        "`cargo runner analysis table SWEEP line-waits` prints all pairs.",
        missing=None if rates.height else _NOT_SIMULATED,
        numbers=_numbers(analysis, "source lines", "line-waits", rates),
    )


@figure("latency", "latencies")
def latency(analysis: Analysis, style: ChartStyle) -> Figure:
    """Latencies by quantile."""
    waits = analysis.waits
    return Figure(
        "Latencies",
        "Quantiles of the latencies that a trial reports, as the median over trials, on a logarithmic axis: 50 % of the "
        "latencies are below p50, 0.1 % are above p99.9. The grey band is the range of "
        f"the trials of {style.baseline or 'the baseline'}. The latency before the call of the pool comes "
        "from the host's timer, not from a branch; it is part of the latency until the work was done.",
        missing=None
        if waits.height
        else "No workload of this sweep reports latencies; ticks, idle, burst, inject and others do.",
        charts=lambda: {
            "latency": under_each_other(
                waits, lambda part: latency_plots.latency_panel(part, style), style
            )
        },
        numbers=_numbers(analysis, "latencies in µs", "latencies", waits),
    )


@figure("events", "events", "lines")
def events(analysis: Analysis, style: ChartStyle) -> Figure:
    """Events of the scheduler per unit of work."""
    drawn = analysis.drawn_events
    return Figure(
        "Writes of each cache line by the scheduler",
        "Events of the scheduler per unit of work, over all threads. Instrumented builds count them in trials of "
        "their own, which are not timed. A write is a read-modify-write of a counter word, whether or not it "
        "succeeded: it invalidates the word's cache line in all other CPUs. Bars show the range of "
        "the trials. Only timed iterations count, so the search before workers sleep after the last job is "
        "left out. Rows of the table group counter words that share a cache line, because a write to one delays the "
        "readers of all.",
        missing=None
        if drawn.height
        else "This sweep has no counts of events; `cargo runner sweep --instrument` counts them.",
        charts=lambda: {
            "events": under_each_other(
                drawn, lambda part: event_plots.event_panel(part, style), style
            )
        },
        numbers=_numbers(analysis, "every cache line of the counters", "lines", analysis.lines),
    )


def _numbers(
    analysis: Analysis, heading: str, name: str, rows: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """`Figure.numbers` of a figure with one table."""
    return {heading: tables.for_people(analysis, name, rows)} if rows.height else {}


def _is_compared(analysis: Analysis) -> bool:
    return bool(set(analysis.compared["branch"]) - {analysis.sweep.twin})


def _band(analysis: Analysis) -> str:
    """The definition of the noise floor, as a part of a sentence."""
    least = f", and at least {LEAST_SIMULATED * 100:.0f} %" if analysis.sweep.machine else ""
    return f"the range of differences between {analysis.sweep.replicates.equal}{least}"


def _results(analysis: Analysis, rows: pl.DataFrame) -> pl.DataFrame:
    named = with_panel(rows).sort("level", maintain_order=True)
    return tables.comparison_table(named, f"{analysis.sweep.replicates.unit}s")
