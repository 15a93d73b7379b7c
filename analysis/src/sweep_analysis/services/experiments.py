"""The figure of a named experiment: what was measured beside what was published.

Figures come in families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.figure import Charts, Figure
from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.read.experiment import SPEEDUP_BY_BRANCH, Experiment
from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.services import packets, servers, wall_times
from sweep_analysis.services.packet_plots import packet_figures
from sweep_analysis.services.server_plots import service_figures
from sweep_analysis.services.wall_time_plots import wall_time_figures
from sweep_analysis.stats.analysis import Analysis


@dataclass(frozen=True)
class Family:
    """Functions and columns that all figures of one kind share.

    Attributes:
        points: the figure as numbers, measured and published.
        published: the published numbers alone.
        charts: the charts by name, from `points`, the experiment, the CPUs of the host and the
            colours.
        about: how to read them, by the figure's name and the CPUs of the host.
        place: columns that identify a published number.
        value: the column with the number.
        ends: the columns with the ends of its interval; none where it has no interval.
        told: further columns that a reader of a published number needs.
        comparable: of `points`, the rows that published and measured numbers may share.
    """

    points: Callable[[Analysis, Experiment], pl.DataFrame]
    published: Callable[[Experiment], pl.DataFrame]
    charts: Callable[[pl.DataFrame, Experiment, int | None, Theme], Mapping[str, alt.VConcatChart]]
    about: Callable[[str, int | None], str]
    place: tuple[str, ...]
    value: str
    ends: tuple[str, ...] = ("low", "high")
    told: tuple[str, ...] = ()
    comparable: Callable[[pl.DataFrame], pl.DataFrame] = lambda points: points


_ABOVE = "Above what was measured here, below what was published; "
_MEANS = f"{_ABOVE}points are means of trials, bars their 95 % intervals."


def _about_dots(_figure: str, cpus: int | None) -> str:
    return (
        f"{_ABOVE}dots are measured or printed, squares derived from printed numbers. Bars are 95 % intervals, cut off "
        f"at the edge. The dotted line is one times faster for each worker{', up to the CPUs' if cpus else ''}."
    )


def _about_packets(figure: str, cpus: int | None) -> str:
    if figure == packets.ANSWERS:
        return "A table: whether every way gave the sequential program's answer."
    if figure == packets.OVERHEAD_BY_WORDS:
        return "A panel for each lock: dots were measured here, bars are their 95 % intervals, diamonds were published."
    return _about_dots(figure, cpus)


PACKETS = Family(
    points=lambda analysis, experiment: (
        packets.answers(analysis.sweep, experiment)
        if experiment.figure == packets.ANSWERS
        else packets.points(analysis.times, analysis.speedups, experiment)
    ),
    published=lambda experiment: packets.published(experiment.name),
    charts=lambda points, experiment, cpus, theme: (
        {}
        if experiment.figure == packets.ANSWERS
        else packet_figures(points, experiment, cpus, theme)
    ),
    about=_about_packets,
    place=("generator", "way", "depth", "words", "threads"),
    value="value",
    told=("kind",),
    comparable=lambda points: points.filter(pl.col("kind") != "bound"),
)

WALL_TIMES = Family(
    points=lambda analysis, experiment: wall_times.points(
        analysis.times, experiment.name, experiment.figure
    ),
    published=lambda experiment: wall_times.published(experiment.name, experiment.figure),
    charts=lambda points, experiment, _, theme: wall_time_figures(points, experiment.figure, theme),
    about=_about_dots,
    place=("place", "panel", "way", "x"),
    value="wall_ms",
)

SERVICE = Family(
    points=lambda analysis, experiment: servers.points(analysis.sweep, experiment),
    published=lambda experiment: servers.points(None, experiment),
    charts=lambda points, experiment, _, theme: service_figures(points, experiment.figure, theme),
    about=lambda _figure, _cpus: _MEANS,
    place=("side", "panel", "way", "threads"),
    value="value_ms",
    comparable=lambda points: points.rename({"low_ms": "low", "high_ms": "high"}),
)

FORUM = Family(
    SERVICE.points,
    SERVICE.published,
    SERVICE.charts,
    SERVICE.about,
    place=("harness", "kind", "posters", "readers"),
    value="difference_percent",
    ends=(),
    # The document's own implementation and its reference are other programs than our two, so
    # only differences between the two can be compared.
    comparable=lambda points: points.join(servers.COMPARED.select("harness", "way"), on="way"),
)

FAMILIES: dict[str, Family] = {
    packets.ANSWERS: PACKETS,
    packets.SPEEDUP_BY_WORDS: PACKETS,
    packets.OVERHEAD_BY_WORDS: PACKETS,
    SPEEDUP_BY_BRANCH: PACKETS,
    **dict.fromkeys(wall_times.AXES, WALL_TIMES),
    servers.SERVICE_BY_THREADS: SERVICE,
    servers.FORUM_GRID: FORUM,
}
"""By the figure's name in `experiments.toml`."""


def points_of(analysis: Analysis) -> pl.DataFrame | None:
    """The experiment's result as rows: answers, or the points of its figure.

    None if the sweep is no experiment.
    """
    experiment = analysis.experiment
    return None if experiment is None else FAMILIES[experiment.figure].points(analysis, experiment)


def experiment_figure(analysis: Analysis, experiment: Experiment) -> Figure:
    """The figure that takes the place of those of branches."""
    family = FAMILIES[experiment.figure]
    points = family.points(analysis, experiment)

    def draw() -> Charts:
        return dict(family.charts(points, experiment, analysis.cpus, LIGHT))

    return Figure(
        f"Experiment {experiment.name}: {experiment.shows}",
        f"After the {experiment.source}. {family.about(experiment.figure, analysis.cpus)}",
        panels=draw,
        titled=True,
        whole=lambda: {f"{experiment.name}-{name}": chart for name, chart in draw().items()},
        numbers={"the experiment": points},
        name=experiment.name,
        needs=("experiment",),
    )


def beside(points: pl.DataFrame, figure: str) -> pl.DataFrame:
    """Published numbers with what was measured in the same place.

    In:  points of a `Family`. Out: one row per published number and branch measured there: columns
    of the place, `published`, `kind` where numbers
         were printed or derived from print, `branch`, `measured`, `low`, `high`. For a board both
         numbers are the difference from its reference in per cent, and there is no interval. Bounds
         have no rows, nor have numbers that nothing measured answers.
    """
    family = FAMILIES[figure]
    rows = family.comparable(points)
    known = rows.filter(pl.col("origin") == PUBLISHED)
    measured = rows.filter(pl.col("origin") == HERE)
    return (
        known.select(*family.place, pl.col(family.value).alias("published"), *family.told)
        .join(
            measured.select(
                *family.place, "branch", pl.col(family.value).alias("measured"), *family.ends
            ),
            on=family.place,
        )
        .drop_nulls(["published", "measured"])
        .sort([*family.place, "branch"])
    )
