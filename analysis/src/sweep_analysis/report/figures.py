"""The list of all figures of a report.

Page and folder draw from this list, so a figure is added here and nowhere else. A figure without data stays in the
list and says what is missing.
"""

from __future__ import annotations

from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import Look
from sweep_analysis.report import branch_figures, host_figures
from sweep_analysis.report.figure import Charts, Figure
from sweep_analysis.say.findings import Analysis
from sweep_analysis.services import experiments
from sweep_analysis.services import servers as services
from sweep_analysis.services.experiment_plots import experiment_figures


def look_of(analysis: Analysis, theme: Theme) -> Look:
    """What all charts of this sweep share."""
    present = set(analysis.times["branch"]) | set(analysis.events["branch"])
    branches = [branch for branch in analysis.sweep.branches if branch in present]
    return Look(branches, analysis.sweep.baseline, analysis.cpus, theme)


def figures(analysis: Analysis) -> list[Figure]:
    """All figures of a sweep in the order of the page, drawn in the light theme when asked for."""
    look = look_of(analysis, LIGHT)
    if analysis.experiment is not None and analysis.experiment.has_own_figure:
        # A picture for each of its many sets of parameters would bury the one that it is about.
        return [
            _experiment(analysis, analysis.experiment),
            host_figures.clock(analysis, look),
            host_figures.drift(analysis, look),
            host_figures.ledger(analysis),
        ]
    return [
        branch_figures.gains(analysis, look),
        branch_figures.cost(analysis, look),
        branch_figures.speedup(analysis, look),
        branch_figures.cells(analysis, look),
        branch_figures.intervals(analysis, look),
        branch_figures.idle(analysis, look),
        branch_figures.latency(analysis, look),
        host_figures.placement(analysis, look),
        branch_figures.events(analysis, look),
        branch_figures.efficiency(analysis, look),
        branch_figures.law(analysis, look),
        host_figures.clock(analysis, look),
        host_figures.drift(analysis, look),
        host_figures.outliers(analysis, look),
        host_figures.modes(analysis, look),
        host_figures.ledger(analysis),
    ]


def _experiment(analysis: Analysis, experiment: experiments.Experiment) -> Figure:
    points = analysis.points

    def draw() -> Charts:
        if experiment.figure == experiments.ANSWERS:
            return {}
        return dict(experiment_figures(points, experiment, analysis.cpus, LIGHT))

    ends = ", up to the CPUs" if analysis.cpus else ""
    told = f"After the {experiment.source}. Above what was measured here, below what was published; "
    about = (
        "A table: whether every way gave the sequential program's answer."
        if experiment.figure == experiments.ANSWERS
        else told + "points are means of trials, bars their 95 % intervals."
        if experiment.figure in services.FIGURES
        else f"After the {experiment.source}. A panel for each lock: dots were measured here, bars are their 95 % "
        "intervals, diamonds were published."
        if experiment.figure == experiments.OVERHEAD_BY_WORDS
        else told + "dots are measured or printed, squares derived from printed numbers. Bars are 95 % "
        f"intervals, cut off at the edge. The dotted line is one times faster for each worker{ends}."
    )
    return Figure(
        experiment.name,
        f"Experiment {experiment.name}: {experiment.shows}",
        about,
        panels=draw,
        titled=True,
        whole=lambda: {f"{experiment.name}-{name}": chart for name, chart in draw().items()},
        numbers={"the experiment": points},
        data={"experiment": points},
    )
