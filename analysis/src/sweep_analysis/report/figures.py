"""The list of all figures of a report, which page and folder share.

A figure without data is kept in the list, with a sentence on the missing data.
"""

from __future__ import annotations

import altair as alt

from sweep_analysis.draw.figure import LISTED, Figure, labelled
from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import ChartStyle
from sweep_analysis.report import branch_figures, host_figures  # noqa: F401 - they register their figures
from sweep_analysis.services.results import experiment_figure
from sweep_analysis.stats.analysis import Analysis


def chart_style(analysis: Analysis, theme: Theme) -> ChartStyle:
    """The settings that all charts of this sweep share."""
    present = {*analysis.times["branch"].unique(), *analysis.events["branch"].unique()}
    branches = [branch for branch in analysis.sweep.branches if branch in present]
    return ChartStyle(branches, analysis.sweep.baseline, analysis.cpus, theme)


def figures(analysis: Analysis) -> list[Figure]:
    """All figures of a sweep in the order of the page, drawn on demand in the light theme."""
    style = chart_style(analysis, LIGHT)
    experiment = analysis.experiment
    if experiment is not None and experiment.has_own_figure:
        # Pictures of its many sets of parameters would hide the figure of the experiment.
        own = [experiment_figure(analysis, experiment)]
        return own + [listed.make(analysis, style) for listed in LISTED if listed.is_of_every_sweep]
    return [labelled(listed.make(analysis, style), analysis.sweep.label) for listed in LISTED]


def found(analysis: Analysis, name: str) -> tuple[str, alt.TopLevelMixin]:
    """Title and chart of the file `name` of the report's figures.

    Raises:
        KeyError: the report has no such file.
    """
    for it in figures(analysis):
        if it.missing is None and name.startswith(it.name) and name in (charts := it.whole()):
            return it.title, charts[name]
    raise KeyError(name)


def drawn(analysis: Analysis, name: str) -> alt.TopLevelMixin:
    """The chart without its title, for notebooks."""
    return found(analysis, name)[1]
