"""The figures that compare branches, with the frames and tables of each."""

from __future__ import annotations

import polars as pl

from sweep_analysis.draw import (
    cost_plots,
    event_plots,
    latency_plots,
    map_plots,
    speedup_plots,
    spent_plots,
)
from sweep_analysis.draw.figure import Figure, by_panel, drawn_branches, figure
from sweep_analysis.draw.plots import ChartStyle
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.schema import PARALLEL, POOL_CELL
from sweep_analysis.say import tables
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import LEAST_SIMULATED
from sweep_analysis.stats.simulated import largest_threads
from sweep_analysis.stats.speedup import DEFINITIONS

FLAT = 1.02
"""A panel whose speed-ups all lie within this ratio is not drawn."""
MOST_LINES = 5
"""The page shows at most this many pairs of source lines for each branch and workload."""
_NO_COMPARISON = "No branch ran in the same blocks as the baseline, so there is no comparison."
_NOT_SIMULATED = "Only simulated sweeps have these data: `cargo runner sweep --machine NAME`."


@figure("gains", "comparisons")
def gains(analysis: Analysis, style: ChartStyle) -> Figure:
    """Which branch gains on which workload, wall time beside CPU time."""
    wall, cpu = analysis.comparisons, analysis.cpu_comparisons
    is_drawn = _others(analysis).height > 0
    twin = analysis.sweep.twin
    return Figure(
        "Which branch gains on which workload",
        "Change against the baseline in per cent, pooled over all thread counts of several workers within the CPUs. Blue is "
        f"less, orange more, in steps of 3 %; grey is inside the noise floor ({_band(analysis)}), or the noise floor is "
        "unknown. A bold number is significant after correction for the number of comparisons; other numbers outside "
        "the noise floor may be chance. If a clock paces a program, its wall time does not depend on the pool, so compare "
        "its CPU time."
        + (
            f" {twin} is the A/A control, {style.baseline} run a second time: its changes are noise."
            if twin
            else ""
        ),
        missing=None if is_drawn else _NO_COMPARISON,
        panels=lambda: {"": map_plots.gains_figure(wall, cpu, style)},
        whole=lambda: {"gains": map_plots.gains_figure(wall, cpu, style)},
        numbers={
            "results in wall time": _results(analysis, wall, "cell", same=False).drop("threads"),
            "results in CPU time": _results(analysis, cpu, "cell", same=False).drop("threads"),
        },
    )


@figure("cost", "comparisons", "costs")
def cost(analysis: Analysis, style: ChartStyle) -> Figure:
    """Wall time and CPU time with intervals, and the number of idle CPUs."""
    wall, cpu = analysis.comparisons, analysis.cpu_comparisons
    costs = analysis.costs.filter(program=PARALLEL)
    is_drawn = _others(analysis).height > 0
    rows = cost_plots.cost_rows(wall, cpu) if is_drawn else wall.clear()
    panels, whole = by_panel(
        "cost", rows, lambda part, _: cost_plots.cost_panel(part, style), style
    )
    return Figure(
        f"Wall time and CPU time relative to {style.baseline}"
        if style.baseline
        else "Wall time and CPU time",
        "The same changes with intervals. Left of zero is less; the line is the 95 % interval, with an arrow where it leaves the "
        f"picture. The grey bar is the noise floor: {_band(analysis)}. A full point is significant, a hollow one is inconclusive "
        "against the baseline. In the numbers, `CPUs idle` is the smaller of threads and CPUs, minus the busy CPUs. Without idle "
        "CPUs threads hardly sleep, so their counters matter little.",
        missing=None if is_drawn else _NO_COMPARISON,
        panels=panels,
        whole=whole,
        numbers={"costs of every configuration": tables.for_people(analysis, "costs", costs)},
    )


@figure("speedup", "speedups")
def speedup(analysis: Analysis, style: ChartStyle) -> Figure:
    """Speed-up by threads."""
    definition = analysis.definition or ""
    drawn, flat = _changing(analysis.speedups)
    shown = drawn.filter(pl.col("definition") == definition)
    present = [name for name in DEFINITIONS if name in set(analysis.speedups["definition"])]

    panels, _ = by_panel(
        "speedup",
        shown,
        lambda part, legend: speedup_plots.speedup_panel(
            part, definition, style, legend=legend
        ).properties(width=290, height=250),
        style,
    )

    return Figure(
        "Speed-up",
        f"The speed-up of each branch ({DEFINITIONS.get(definition, '')}), by threads of "
        "the pool. The dotted line is ideal: the speed-up equals the number of threads, up to the number of CPUs. "
        + _of_hosts(analysis, "In the shaded part there are more threads than CPUs. ")
        + f"The grey band is the 95 % interval of {style.baseline or 'each branch'}; the numbers have the intervals of all "
        "branches, efficiency (speed-up over threads), and the Karp–Flatt fraction, which is the serial share that "
        "would explain the speed-up: if it rises with the threads, another cause limits the pool."
        + (
            f" Not drawn, because all their speed-ups are within {FLAT * 100 - 100:.0f} % of each other: "
            f"{', '.join(flat)}."
            if flat
            else ""
        ),
        missing=None
        if shown.height
        else "No trial of a pool has a time and a reference, so there is no speed-up to draw.",
        panels=panels,
        whole=lambda: {
            f"speedup-{name}": speedup_plots.speedup_figure(drawn, name, style) for name in present
        },
        numbers={
            f"speed-up {DEFINITIONS[name]}": tables.for_people(
                analysis, "speedups", analysis.speedups.filter(definition=name)
            )
            for name in present
        },
        legend=drawn_branches(shown, style),
    )


@figure("map", "comparisons")
def cells(analysis: Analysis, style: ChartStyle) -> Figure:
    """A heat map of every configuration, for each branch."""
    both = {"wall time": analysis.comparisons, "CPU time": analysis.cpu_comparisons}
    drawn = {
        name: frame for name, frame in both.items() if frame.height and _others(analysis).height
    }
    files = {"wall time": "map", "CPU time": "map-cpu"}
    twin = analysis.sweep.twin
    return Figure(
        "Where each branch gains and loses, by threads",
        "A map for each branch has workloads down and threads across. "
        + _of_hosts(analysis, "Thread counts in brackets exceed the CPUs. ")
        + "Colours and bold numbers have the meaning above, for each configuration.",
        missing=None if drawn else _NO_COMPARISON,
        panels=lambda: {name: map_plots.map_figure(frame, style) for name, frame in drawn.items()},
        whole=lambda: {
            files[name]: map_plots.map_figure(frame, style) for name, frame in drawn.items()
        },
        numbers={
            f"every configuration in {name}": _results(
                analysis, frame.filter(pl.col("branch") != (twin or "")), "cell", same=True
            )
            for name, frame in drawn.items()
        },
    )


@figure("spent", "spent")
def spent(analysis: Analysis, style: ChartStyle) -> Figure:
    """Where the time went."""
    shares = analysis.spent.filter(pl.col("branch").is_in(style.branches))
    panels, whole = by_panel(
        "spent", shares, lambda part, _: spent_plots.spent_panel(part, style), style
    )
    return Figure(
        "Where the time went",
        "The time of all cores together by activity and threads, with a bar for each branch. `work` is the program's own "
        "work; `push and pop` is the cost of jobs on their own core; `search` is time without a job; `waiting for lines` "
        "is time in which a core waits for a cache line of another core; `system` is calls to the kernel. The thread that "
        "calls the pool has a core, too, and sleeps on it: with one thread, this is up to half of all time.",
        missing=None if shares.height else _NOT_SIMULATED,
        panels=panels,
        whole=whole,
        numbers={"time of all cores": tables.for_people(analysis, "spent", shares)}
        if shares.height
        else {},
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
        numbers={"source lines": tables.for_people(analysis, "line-waits", rates)}
        if rates.height
        else {},
    )


@figure("latency", "latencies")
def latency(analysis: Analysis, style: ChartStyle) -> Figure:
    """Latencies by quantile."""
    waits = analysis.waits
    panels, whole = by_panel(
        "latency",
        waits,
        lambda part, legend: latency_plots.latency_panel(part, style, legend=legend),
        style,
    )
    return Figure(
        "Latencies",
        "Quantiles of the latencies that a trial reports, as the median over trials, on a logarithmic axis: 50 % of the "
        "latencies are below p50, 0.1 % are above p99.9. The grey band is the range of "
        f"the trials of {style.baseline or 'the baseline'}. The latency before the call of the pool comes "
        "from the host's timer, not from a branch; it is part of the latency until the work was done.",
        missing=None
        if waits.height
        else "No workload of this sweep reports latencies; ticks, idle, burst, inject and others do.",
        panels=panels,
        whole=whole,
        numbers={"latencies in µs": tables.for_people(analysis, "latencies", waits)},
        legend=drawn_branches(waits, style),
    )


@figure("placement", "placements")
def placement(analysis: Analysis, _style: ChartStyle) -> Figure:
    """The effect of pinning workers, as a table."""
    placed = analysis.placements
    return Figure(
        "Effect of pinning workers",
        "The change of each quantity per unit of work if worker i is pinned to the i-th CPU, against workers that the "
        "kernel places, for all branches together with the 95 % interval. If it is significant, results of free workers "
        "depend on the kernel's placement. If a clock paces a program, look at its latency, not at wall time.",
        missing=None
        if placed.height
        else "All workers were free, or all were pinned: `--placement both` measures both.",
        numbers={"all branches together": tables.for_people(analysis, "placements", placed)}
        if placed.height
        else {},
    )


@figure("events", "events", "lines")
def events(analysis: Analysis, style: ChartStyle) -> Figure:
    """Events of the scheduler per unit of work."""
    drawn = analysis.drawn_events
    panels, whole = by_panel(
        "events",
        drawn,
        lambda part, legend: event_plots.event_panel(part, style, legend=legend),
        style,
    )
    return Figure(
        "Writes of each cache line by the scheduler",
        "Events of the scheduler per unit of work, over all threads. Instrumented builds count them in trials of "
        "their own, which are not timed. A write is a read-modify-write of a counter word, whether or not it "
        "succeeded: it invalidates the word's cache line in all other CPUs. Bars show the range of "
        "the trials. Only timed iterations count, so the search before workers sleep after the last job is "
        "left out. The numbers group counter words that share a cache line, because a write to one delays the "
        "readers of all.",
        missing=None
        if drawn.height
        else "This sweep has no counts of events; `cargo runner sweep --instrument` counts them.",
        panels=panels,
        whole=whole,
        numbers={
            "every cache line of the counters": tables.for_people(
                analysis, "lines", analysis.lines
            ),
            "events of the scheduler": tables.event_table(with_panel(drawn)),
        },
        legend=drawn_branches(drawn, style),
    )


def _changing(speedups: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The speed-ups without panels of flat lines, and the names of those panels.

    Programs that a clock paces have flat lines. If all panels are flat, all are kept.
    """
    named = with_panel(speedups)
    panel = ["definition", "panel"]
    ratio = pl.col("speedup").max() / pl.col("speedup").min()
    counts = pl.col("threads").n_unique()
    flat = (
        named.group_by(panel, maintain_order=True)
        .agg(ratio.alias("ratio"), counts.alias("counts"))
        .filter(pl.col("ratio") < FLAT, pl.col("counts") > 1)
    )
    rest = named.join(flat, on=panel, how="anti", maintain_order="left")
    if set(rest["definition"]) != set(named["definition"]):
        return named, []
    return rest, flat["panel"].unique(maintain_order=True).to_list()


def _others(analysis: Analysis) -> pl.DataFrame:
    """Comparisons of single configurations, without the A/A control."""
    rows = analysis.comparisons.filter(pl.col("level") == "cell")
    return rows.filter(pl.col("branch") != (analysis.sweep.twin or ""))


def _band(analysis: Analysis) -> str:
    """The definition of the noise floor, as a part of a sentence."""
    least = f", and at least {LEAST_SIMULATED * 100:.0f} %" if analysis.sweep.machine else ""
    return f"the range of differences between {analysis.sweep.replicates.equal}{least}"


def _of_hosts(analysis: Analysis, sentence: str) -> str:
    """A sentence about more threads than CPUs; empty for a simulated machine, which has enough CPUs."""
    return "" if analysis.sweep.machine else sentence


def _results(
    analysis: Analysis, comparisons: pl.DataFrame, level: str, *, same: bool
) -> pl.DataFrame:
    """The table of results of one level, or of all other levels."""
    rows = comparisons.filter((pl.col("level") == level) == same)
    named = with_panel(rows).sort("level", maintain_order=True)
    return tables.comparison_table(named, f"{analysis.sweep.replicates.unit}s")
