"""The list of all figures: what each shows, what it needs, and the numbers behind it.

Page and folder draw from this list, so a figure is added here and nowhere else. A figure without data stays in the
list and says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import altair as alt
import polars as pl

from sweep_analysis import (
    cost_plots,
    event_plots,
    experiments,
    host_plots,
    latency_plots,
    map_plots,
    plots,
    scaling_plots,
    services,
    tables,
)
from sweep_analysis.experiment_plots import experiment_figures
from sweep_analysis.findings import Analysis
from sweep_analysis.labels import with_panel
from sweep_analysis.palette import LIGHT, Theme
from sweep_analysis.plots import Look
from sweep_analysis.service_plots import service_figures
from sweep_analysis.speedup import DEFINITIONS

_Charts = dict[str, alt.TopLevelMixin]


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes:
        name: of its files, and its anchor on the page.
        title: what it shows, in a few words.
        about: how to read it.
        missing: what is missing, if it cannot be drawn; else None. If it cannot, nothing below is asked for.
        panels: its charts by panel for the page; the name is empty if there is only one.
        whole: the same as one chart for a file.
        numbers: tables of its numbers for people, by heading.
        data: full frames behind it, by the name of the file.
        legend: the branches that its lines stand for, if the page shows their key with it.
    """

    name: str
    title: str
    about: str
    missing: str | None = None
    panels: Callable[[], _Charts] = dict
    whole: Callable[[], _Charts] = dict
    numbers: dict[str, pl.DataFrame] = field(default_factory=dict)
    data: dict[str, pl.DataFrame] = field(default_factory=dict)
    legend: tuple[str, ...] = ()


def look_of(analysis: Analysis, theme: Theme) -> Look:
    """What all charts of this sweep share."""
    present = set(analysis.times["branch"]) | set(analysis.events["branch"])
    branches = [branch for branch in analysis.sweep.branches if branch in present]
    return Look(branches, analysis.sweep.baseline, analysis.cpus, theme)


def others(analysis: Analysis) -> pl.DataFrame:
    """Cells of the comparison with branches other than the A/A twin."""
    rows = analysis.comparisons.filter(pl.col("level") == "cell")
    return rows.filter(pl.col("branch") != (analysis.sweep.twin or ""))


def has_own_figure(experiment: experiments.Experiment | None) -> bool:
    """Whether the experiment's figure, or table, takes the place of the figures of branches."""
    return experiment is not None and experiment.figure != experiments.SPEEDUP_BY_BRANCH


def figures(analysis: Analysis) -> list[Figure]:
    """All figures of a sweep in the order of the page, drawn in the light theme when asked for."""
    look = look_of(analysis, LIGHT)
    experiment = experiments.experiment_of(analysis.sweep)
    if experiment is not None and has_own_figure(experiment):
        # A picture for each of its many sets of parameters would bury the one that it is about.
        return [_experiment(analysis, experiment), _clock(analysis, look), _drift(analysis, look)]
    return [
        _speedup(analysis, look),
        _cost(analysis, look),
        _map(analysis, look),
        _intervals(analysis, look),
        _latency(analysis, look),
        _events(analysis, look),
        _efficiency(analysis, look),
        _law(analysis, look),
        _clock(analysis, look),
        _drift(analysis, look),
    ]


def experiment_frame(analysis: Analysis, experiment: experiments.Experiment) -> pl.DataFrame:
    """The experiment's result as rows: answers, or the points of its figure."""
    if experiment.figure == experiments.ANSWERS:
        return experiments.answers(analysis.sweep, experiment)
    if experiment.figure in services.FIGURES:
        return services.points(analysis.sweep, experiment)
    return experiments.points(analysis.times, analysis.speedups, experiment)


def _drawn(frame: pl.DataFrame, look: Look) -> tuple[str, ...]:
    """The branches of a frame in their order."""
    return tuple(branch for branch in look.branches if branch in frame["branch"])


def _per_panel(frame: pl.DataFrame, draw: Callable[[pl.DataFrame], alt.TopLevelMixin]) -> Callable[[], _Charts]:
    named = frame if "panel" in frame.columns else with_panel(frame)
    return lambda: {str(part["panel"][0]): draw(part) for part in named.partition_by("panel", maintain_order=True)}


def _experiment(analysis: Analysis, experiment: experiments.Experiment) -> Figure:
    frame = experiment_frame(analysis, experiment)

    def draw() -> _Charts:
        if experiment.figure == experiments.ANSWERS:
            return {}
        if experiment.figure in services.FIGURES:
            return dict(service_figures(frame, experiment.figure, LIGHT))
        return dict(experiment_figures(frame, experiment, analysis.cpus, LIGHT))

    ends = ", up to the CPUs" if analysis.cpus else ""
    about = (
        "A table: whether every way gave the sequential program's answer."
        if experiment.figure == experiments.ANSWERS
        else f"After the {experiment.source}. Above what was measured here, below what was published; points are "
        "means of trials, bars their 95 % intervals."
        if experiment.figure in services.FIGURES
        else f"After the {experiment.source}. Above what was measured here, below what was published; solid points are "
        "measured or printed, hollow ones derived from printed numbers. Bars are 95 % intervals, cut off at the edge. "
        f"The dotted line is one times faster for each worker{ends}."
    )
    return Figure(
        experiment.name,
        f"Experiment {experiment.name}: {experiment.shows}",
        about,
        panels=draw,
        whole=lambda: {f"{experiment.name}-{name}": chart for name, chart in draw().items()},
        numbers={"the experiment": frame},
        data={"experiment": frame},
    )


def _speedup(analysis: Analysis, look: Look) -> Figure:
    definition = analysis.definition
    shown = analysis.speedups.filter(pl.col("definition") == (definition or ""))
    present = [name for name in DEFINITIONS if name in set(analysis.speedups["definition"])]

    def panel(part: pl.DataFrame) -> alt.TopLevelMixin:
        chart = plots.speedup_panel(part, definition or "", look, legend=False)
        return plots.finished(chart.properties(width=290, height=250), look.theme)

    band = look.baseline or "each branch"
    return Figure(
        "speedup",
        "Speed-up",
        f"How many times faster than the reference each branch is ({DEFINITIONS.get(definition or '', '')}), "
        f"by threads "
        "of the pool. The dotted line is ideal: as many times faster as there are threads, up to the number "
        "of CPUs. In "
        f"the shaded part there are more threads than CPUs. The grey band is the 95 % interval of {band}; those of all "
        "branches are in the numbers.",
        missing=None
        if shown.height
        else "No trial of a pool has a time and a reference, so there is no speed-up to draw.",
        panels=_per_panel(shown, panel),
        whole=lambda: {f"speedup-{name}": plots.speedup_figure(analysis.speedups, name, look) for name in present},
        numbers={
            f"speed-up {DEFINITIONS[name]}": tables.speedup_table(
                with_panel(analysis.speedups.filter(pl.col("definition") == name))
            )
            for name in present
        },
        data={"speedups": analysis.speedups},
        legend=_drawn(shown, look),
    )


_NO_COMPARISON = "No branch ran in the same blocks as the baseline, so there is nothing to compare it with."


def _cost(analysis: Analysis, look: Look) -> Figure:
    pooled = analysis.comparisons.filter(pl.col("level") != "cell")
    drawn = others(analysis).height > 0
    rows = cost_plots.cost_rows(analysis.comparisons, analysis.cpu_comparisons) if drawn else pooled.clear()
    return Figure(
        "cost",
        f"Wall time and CPU time relative to {look.baseline}" if look.baseline else "Wall time and CPU time",
        "All thread counts of a workload together. Left of zero is less; the line is the 95 % interval, cut off at the "
        "edge. The grey bar is the A/A band: what equal builds show. A full point is a claim, a hollow one "
        "cannot be told "
        "from the baseline. A program paced by a clock takes its time whatever the pool does: there CPU time is what "
        "counts.",
        missing=None if drawn else _NO_COMPARISON,
        panels=_per_panel(rows, lambda part: plots.finished(cost_plots.cost_panel(part, look), look.theme)),
        whole=lambda: {"cost": cost_plots.cost_figure(analysis.comparisons, analysis.cpu_comparisons, look)},
        numbers={
            "verdicts by wall time": _verdicts(analysis.comparisons, "cell", same=False).drop("threads"),
            "verdicts by CPU time": _verdicts(analysis.cpu_comparisons, "cell", same=False).drop("threads"),
        },
        data={"comparisons": analysis.comparisons, "comparisons-cpu": analysis.cpu_comparisons},
    )


def _verdicts(comparisons: pl.DataFrame, level: str, *, same: bool) -> pl.DataFrame:
    """The table of verdicts of one level, or of all but it."""
    rows = comparisons.filter((pl.col("level") == level) == same)
    return tables.verdict_table(with_panel(rows).sort("level", maintain_order=True))


def _map(analysis: Analysis, look: Look) -> Figure:
    both = {"wall time": analysis.comparisons, "CPU time": analysis.cpu_comparisons}
    drawn = {name: frame for name, frame in both.items() if frame.height and others(analysis).height}
    twin = analysis.sweep.twin
    return Figure(
        "map",
        "Where each branch gains and loses",
        "A map for each branch, workloads down, threads across; thread counts in brackets exceed the CPUs. Blue takes "
        "less time, orange more, in steps of 3 %; grey is inside the A/A band. A bold number is a claim that "
        "holds after "
        "correction for the number of cells; the others outside the band may be chance."
        + (f" {twin} is {look.baseline} itself, run a second time: what it shows is noise." if twin else ""),
        missing=None if drawn else _NO_COMPARISON,
        panels=lambda: {name: map_plots.map_figure(frame, look) for name, frame in drawn.items()},
        whole=lambda: {
            f"map{'-cpu' if name == 'CPU time' else ''}": map_plots.map_figure(frame, look)
            for name, frame in drawn.items()
        },
        numbers={
            f"every cell by {name}": _verdicts(frame.filter(pl.col("branch") != (twin or "")), "cell", same=True)
            for name, frame in drawn.items()
        },
        data={"comparisons": analysis.comparisons, "comparisons-cpu": analysis.cpu_comparisons},
    )


def _intervals(analysis: Analysis, look: Look) -> Figure:
    cells = others(analysis)
    return Figure(
        "intervals",
        "Branch by branch, with intervals",
        "Change of time in each cell, with its 95 % interval. The grey band is what equal builds show (A/A). "
        "Hollow points "
        "have more threads than CPUs.",
        missing=None if cells.height else _NO_COMPARISON,
        panels=_per_panel(cells, lambda part: plots.interval_figure(part.drop("panel"), look, titled=False)),
        whole=lambda: {
            "ratio": plots.ratio_figure(analysis.comparisons, look),
            "intervals": plots.interval_figure(analysis.comparisons, look),
        },
        data={"comparisons": analysis.comparisons},
    )


def _latency(analysis: Analysis, look: Look) -> Figure:
    waits = analysis.waits
    return Figure(
        "latency",
        "How long work waits",
        "Quantiles of the waits that a trial tells of itself, median over trials, on a logarithmic axis: half of the "
        "waits are shorter than p50, one in a thousand is longer than p99.9. The grey band reaches from the "
        "least to the "
        f"most of the trials of {look.baseline or 'the baseline'}. What is waited before the pool is asked is "
        f"the host's "
        "timer and no branch's doing; it is part of the wait until the work was done.",
        missing=None
        if waits.height
        else "No workload of this sweep tells how long its work waited; ticks, idle, burst, install and inject do.",
        panels=_per_panel(
            waits, lambda part: plots.finished(latency_plots.latency_panel(part, look, legend=False), look.theme)
        ),
        whole=lambda: {"latency": latency_plots.latency_figure(waits, look)},
        numbers={"waits in µs": tables.latency_table(with_panel(waits))},
        data={"latencies": waits},
        legend=_drawn(waits, look),
    )


def _events(analysis: Analysis, look: Look) -> Figure:
    drawn = analysis.drawn_events
    lines, rates = with_panel(analysis.lines), with_panel(drawn)
    return Figure(
        "events",
        "Who writes which line how often",
        "What the scheduler did for each unit of work, over all threads: counted by instrumented builds in "
        "trials of their "
        "own, which are never timed. A write is a read-modify-write of a counter word, whether or not it succeeded: it "
        "takes the word's cache line away from all other CPUs. Bars reach from the least to the most of the "
        "trials. Only "
        "what happened inside the timed regions counts, so the way to sleep after the last job is left out. In the "
        "numbers, counter words that share a cache line stand together: whoever writes one disturbs the "
        "readers of all.",
        missing=None
        if drawn.height
        else "Nothing was counted in this sweep; `cargo runner sweep --instrument` counts.",
        panels=_per_panel(
            drawn, lambda part: plots.finished(event_plots.event_panel(part, look, legend=False), look.theme)
        ),
        whole=lambda: {"events": event_plots.event_figure(drawn, look)},
        numbers={
            "every line of the counters": tables.line_table(lines),
            "what the scheduler did": tables.event_table(rates),
        },
        data={"events": analysis.events, "lines": analysis.lines},
        legend=_drawn(drawn, look),
    )


def _efficiency(analysis: Analysis, look: Look) -> Figure:
    definition = analysis.definition
    shown = analysis.speedups.filter(pl.col("definition") == (definition or ""))
    return Figure(
        "efficiency",
        "Efficiency, and what acts as if it were serial",
        f"Efficiency is speed-up ({DEFINITIONS.get(definition or '', '')}) over threads. The Karp–Flatt "
        f"fraction is the "
        "serial share that would explain the speed-up: if it rises with the threads, something else than a serial part "
        "holds the pool back. In the shaded part the CPUs are what it lacks.",
        missing=None if shown.height else "There is no speed-up, so neither efficiency nor a serial fraction.",
        panels=_per_panel(
            shown, lambda part: plots.finished(scaling_plots.efficiency_panel(part, look, legend=False), look.theme)
        ),
        whole=lambda: {"efficiency": scaling_plots.efficiency_figure(analysis.speedups, definition or "", look)},
        data={"speedups": analysis.speedups},
        legend=_drawn(shown, look),
    )


def _law(analysis: Analysis, look: Look) -> Figure:
    law = "usl"
    rows = analysis.fit_residuals.filter(pl.col("law") == law)
    reasons = analysis.fits.filter(pl.col("law") == law)["reason"].drop_nulls().unique(maintain_order=True).to_list()
    why = f": {'; '.join(reasons[:2])}" if reasons else ""
    return Figure(
        "scaling",
        "A law of scaling, and what it leaves over",
        "The universal scalability law: a serial share of the work (sigma) bounds the speed-up, and what threads "
        "must tell each other (kappa) bends it down. Fitted within the CPUs, by relative errors. Residuals with a "
        "shape, or larger than a few per cent, mean that the law does not hold; then the numbers have no coefficients.",
        missing=None if rows.height else f"No law could be fitted{why}.",
        panels=_per_panel(
            rows, lambda part: plots.finished(scaling_plots.law_panel(part, look, legend=False), look.theme)
        ),
        whole=lambda: {"scaling": scaling_plots.law_figure(analysis.fit_residuals, law, look)},
        numbers={"the fits": tables.fit_table(with_panel(analysis.fits))},
        data={"fits": analysis.fits, "fit-residuals": analysis.fit_residuals},
        legend=_drawn(rows, look),
    )


def _clock(analysis: Analysis, look: Look) -> Figure:
    measured = analysis.clocks.filter(pl.col("trials") > 0)

    return Figure(
        "frequency",
        "The clock that the CPUs had",
        "Measured just before and just after each trial on as many CPUs at once as it has threads; the line "
        "is the median "
        "over trials, the band reaches from the least to the most.",
        missing=None if measured.height else "The clock was not measured in this sweep.",
        panels=lambda: {"": host_plots.clock_figure(measured, look)},
        whole=lambda: {"frequency": host_plots.clock_figure(measured, look)},
        numbers={"the clock in GHz": tables.rounded(analysis.clocks)},
        data={"clocks": analysis.clocks},
    )


def _drift(analysis: Analysis, look: Look) -> Figure:
    rows = analysis.residuals

    return Figure(
        "drift",
        "Did the host get slower or faster meanwhile",
        "Each point is a block: how much more time it took than the other blocks of the same cells. On a "
        "steady host the "
        "points lie around zero all along. The orange line is the trend over the whole sweep. Branches are compared "
        "inside blocks and hardly suffer; speed-ups compare blocks and do.",
        missing=None if rows.height else "No cell was measured in more than one block, so a drift could not be seen.",
        panels=lambda: {"": host_plots.drift_figure(rows, analysis.trend, look.theme)},
        whole=lambda: {"drift": host_plots.drift_figure(rows, analysis.trend, look.theme)},
        data={"residuals": rows},
    )
