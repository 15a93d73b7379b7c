"""Makes the figures of a report, which page, folder and notebooks share.

A figure without data stays in the list, with a sentence on the missing data.
"""

from __future__ import annotations

import altair as alt

from sweep_analysis.draw.figure import LISTED, Figure, labelled
from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import ChartStyle
from sweep_analysis.report import branch_figures, host_figures  # noqa: F401 - they register their figures
from sweep_analysis.stats.analysis import Analysis


def chart_style(analysis: Analysis, theme: Theme) -> ChartStyle:
    """The settings that all charts of this sweep share."""
    present = {*analysis.times["branch"].unique(), *analysis.events["branch"].unique()}
    branches = [branch for branch in analysis.sweep.branches if branch in present]
    return ChartStyle(branches, analysis.sweep.baseline, analysis.cpus, theme)


def figures(analysis: Analysis) -> list[Figure]:
    """All figures of a sweep in the order of the page, drawn on demand in the light theme."""
    style = chart_style(analysis, LIGHT)
    return [labelled(make(analysis, style), analysis.sweep.label) for make in LISTED.values()]


def drawn(analysis: Analysis, name: str) -> alt.TopLevelMixin:
    """Return the chart that the report writes to the file `name`, for notebooks.

    Raises:
        KeyError: the report has no such file.
    """
    for it in figures(analysis):
        if it.missing is None and name.startswith(it.name) and name in (charts := it.charts()):
            return charts[name]
    raise KeyError(name)
