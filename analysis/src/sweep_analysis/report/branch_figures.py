"""The figures that compare branches: what each shows, what it needs, and the numbers behind it."""

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
"""Lines of speed-up that stay within this ratio of each other say nothing."""
MOST_LINES = 5
"""The page shows at most this many pairs of source lines for each branch and workload."""
_NO_COMPARISON = (
    "No branch ran in the same blocks as the baseline, so there is nothing to compare it with."
)
_NOT_SIMULATED = "Only a simulated machine tells: `cargo runner sweep --machine NAME`."


@figure("gains", "comparisons")
def gains(analysis: Analysis, style: ChartStyle) -> Figure:
    """Which branch gains on which workload, wall time beside CPU time."""
    wall, cpu = analysis.comparisons, analysis.cpu_comparisons
    is_drawn = _others(analysis).height > 0
    twin = analysis.sweep.twin
    return Figure(
        "Which branch gains on which workload",
        "Change against the baseline in per cent, all thread counts of several workers within the CPUs pooled. Blue takes "
        f"less, orange more, in steps of 3 %; grey is inside the noise floor, {_band(analysis)}, and everything where that is not "
        "known. A bold number is a claim that holds after correction for the number of comparisons; the others outside "
        "the band may be chance. A program paced by a clock takes its time whatever the pool does: there CPU time is "
        "what counts."
        + (
            f" {twin} is {style.baseline} itself, run a second time: its changes are noise."
            if twin
            else ""
        ),
        missing=None if is_drawn else _NO_COMPARISON,
        panels=lambda: {"": map_plots.gains_figure(wall, cpu, style)},
        whole=lambda: {"gains": map_plots.gains_figure(wall, cpu, style)},
        numbers={
            "verdicts by wall time": _verdicts(analysis, wall, "cell", same=False).drop("threads"),
            "verdicts by CPU time": _verdicts(analysis, cpu, "cell", same=False).drop("threads"),
        },
    )


@figure("cost", "comparisons", "costs")
def cost(analysis: Analysis, style: ChartStyle) -> Figure:
    """Wall time and CPU time with intervals, and in numbers how many CPUs stand idle."""
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
        "The same with intervals. Left of zero is less; the line is the 95 % interval, with an arrow where it leaves the "
        f"picture. The grey bar is the noise floor: {_band(analysis)}. A full point is a claim, a hollow one is inconclusive against the "
        "baseline. In the numbers, CPUs that stand idle are the smaller of threads and CPUs, less those that were kept "
        "busy: where nothing stands idle, threads never sleep and their counters have little to do.",
        missing=None if is_drawn else _NO_COMPARISON,
        panels=panels,
        whole=whole,
        numbers={"costs of every cell": tables.for_people(analysis, "costs", costs)},
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
        f"How many times faster than the reference each branch is ({DEFINITIONS.get(definition, '')}), by threads of "
        "the pool. The dotted line is ideal: as many times faster as there are threads, up to the number of CPUs. "
        + _of_hosts(analysis, "In the shaded part there are more threads than CPUs. ")
        + f"The grey band is the 95 % interval of {style.baseline or 'each branch'}; those of all branches are in the "
        "numbers. There, efficiency is speed-up over threads, and the Karp–Flatt fraction is the serial share that "
        "would explain the speed-up: if it rises with the threads, something else holds the pool back."
        + (
            f" Not drawn, because no branch and no number of threads changes it by {FLAT * 100 - 100:.0f} %: "
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
    """Every cell of every branch as a map."""
    both = {"wall time": analysis.comparisons, "CPU time": analysis.cpu_comparisons}
    drawn = {
        name: frame for name, frame in both.items() if frame.height and _others(analysis).height
    }
    files = {"wall time": "map", "CPU time": "map-cpu"}
    twin = analysis.sweep.twin
    return Figure(
        "Where each branch gains and loses, by threads",
        "A map for each branch, workloads down, threads across. "
        + _of_hosts(analysis, "Thread counts in brackets exceed the CPUs. ")
        + "Colours and bold numbers as above, here of each cell.",
        missing=None if drawn else _NO_COMPARISON,
        panels=lambda: {name: map_plots.map_figure(frame, style) for name, frame in drawn.items()},
        whole=lambda: {
            files[name]: map_plots.map_figure(frame, style) for name, frame in drawn.items()
        },
        numbers={
            f"every cell by {name}": _verdicts(
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
        "The time of all cores together by activity and threads, a bar for each branch. Work is the program's own; "
        "push and pop is what jobs cost on their own core; a core that searches has no job and looks for one; a core "
        "that waits for a line of memory waits for another core; system is calls to the kernel. The thread that calls "
        "the pool has a core, too, and sleeps on it: with one thread, that is up to half of all time.",
        missing=None if shares.height else _NOT_SIMULATED,
        panels=panels,
        whole=whole,
        numbers={"time of all cores": tables.for_people(analysis, "spent", shares)}
        if shares.height
        else {},
    )


@figure("line-waits", "line-waits")
def line_waits(analysis: Analysis, style: ChartStyle) -> Figure:
    """Waits by source line. A table: names of lines are what one looks for."""
    rates = largest_threads(analysis.line_waits.filter(pl.col("branch").is_in(style.branches)))
    rates = rates.group_by(POOL_CELL, maintain_order=True).head(MOST_LINES)
    return Figure(
        "Waits by source line",
        f"The {MOST_LINES} pairs of lines of source that waited longest for lines of memory, of each workload and "
        "branch with the most threads. A line waits because another core has written to the same line of memory, or "
        "holds it: `written by` is the last write before. Shares are of all the time that cores waited for lines, "
        "and of all their time. Paths of the pool begin below `rayon-fork/src`. "
        "`cargo runner analysis table SWEEP line-waits` prints all.",
        missing=None if rates.height else _NOT_SIMULATED,
        numbers={"lines of source": tables.for_people(analysis, "line-waits", rates)}
        if rates.height
        else {},
    )


@figure("latency", "latencies")
def latency(analysis: Analysis, style: ChartStyle) -> Figure:
    """How long work waits."""
    waits = analysis.waits
    panels, whole = by_panel(
        "latency",
        waits,
        lambda part, legend: latency_plots.latency_panel(part, style, legend=legend),
        style,
    )
    return Figure(
        "How long work waits",
        "Quantiles of the waits that a trial tells of itself, median over trials, on a logarithmic axis: half of the "
        "waits are shorter than p50, one in a thousand is longer than p99.9. The grey band reaches from the least to "
        f"the most of the trials of {style.baseline or 'the baseline'}. The wait before the call of the pool comes "
        "from the host's timer, not from a branch; it is part of the wait until the work was done.",
        missing=None
        if waits.height
        else "No workload of this sweep tells how long its work waited; ticks, idle, burst, inject and others do.",
        panels=panels,
        whole=whole,
        numbers={"waits in µs": tables.for_people(analysis, "latencies", waits)},
        legend=drawn_branches(waits, style),
    )


@figure("placement", "placements")
def placement(analysis: Analysis, _style: ChartStyle) -> Figure:
    """The effect of pinning workers. A table."""
    placed = analysis.placements
    return Figure(
        "Effect of pinning workers",
        "Worker i of the pool kept on the i-th CPU, against wherever the kernel puts it: the change of each quantity "
        "per unit of work, of all branches together with its 95 % interval. Where it is, a quantity of free workers "
        "tells of the kernel's choice, too. A program paced by a clock shows it in the wait, not in wall time.",
        missing=None
        if placed.height
        else "Workers were either all free or all pinned: `--placement both` has this.",
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
        "Events of the scheduler for each unit of work, over all threads: counted by instrumented builds in trials of "
        "their own, which are never timed. A write is a read-modify-write of a counter word, whether or not it "
        "succeeded: it takes the word's cache line away from all other CPUs. Bars reach from the least to the most of "
        "the trials. Only what happened inside the timed regions counts, so the way to sleep after the last job is "
        "left out. In the numbers, counter words that share a cache line stand together: a write to one disturbs the "
        "readers of all.",
        missing=None
        if drawn.height
        else "Nothing was counted in this sweep; `cargo runner sweep --instrument` counts.",
        panels=panels,
        whole=whole,
        numbers={
            "every line of the counters": tables.for_people(analysis, "lines", analysis.lines),
            "what the scheduler did": tables.event_table(with_panel(drawn)),
        },
        legend=drawn_branches(drawn, style),
    )


def _changing(speedups: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The speed-ups without panels of flat lines, as of programs paced by a clock; and those panels' names.

    If there were no others, all stay.
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
    """Cells of the comparison with branches other than the A/A control."""
    rows = analysis.comparisons.filter(pl.col("level") == "cell")
    return rows.filter(pl.col("branch") != (analysis.sweep.twin or ""))


def _band(analysis: Analysis) -> str:
    """A definition of the noise floor, in words."""
    least = f", and at least {LEAST_SIMULATED * 100:.0f} %" if analysis.sweep.machine else ""
    return f"what {analysis.sweep.replicates.equal} show{least}"


def _of_hosts(analysis: Analysis, sentence: str) -> str:
    """A sentence about more threads than CPUs, which a simulated machine never has."""
    return "" if analysis.sweep.machine else sentence


def _verdicts(
    analysis: Analysis, comparisons: pl.DataFrame, level: str, *, same: bool
) -> pl.DataFrame:
    """The table of verdicts of one level, or of all but it."""
    rows = comparisons.filter((pl.col("level") == level) == same)
    named = with_panel(rows).sort("level", maintain_order=True)
    return tables.verdict_table(named, f"{analysis.sweep.replicates.unit}s")
