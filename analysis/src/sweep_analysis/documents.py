"""The experiments of the three documents on servers, locks and transfers: measured here beside published.

Also what the services cost on several branches, which no document asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis import document_findings, notebooks, services, tables, wall_times
from sweep_analysis.experiments import Experiment
from sweep_analysis.findings import analyse
from sweep_analysis.labels import HERE, PUBLISHED, parameter
from sweep_analysis.load import Sweep
from sweep_analysis.packets import experiment_named, measured_where, not_measured
from sweep_analysis.palette import LIGHT
from sweep_analysis.schema import PARALLEL
from sweep_analysis.service_plots import service_figures
from sweep_analysis.services import FORUM_GRID
from sweep_analysis.wall_time_plots import wall_time_figures

DOCUMENTS = (
    ("a key-value server", "tables of the server's and of the clients' times, graphs by method", "kv-queues"),
    ("a message board", "tables of posts, reads and requests per thread, with their differences", "forum-grid"),
    ("user-level threads", "table 1, mutex and spin lock by length of the section", "locks-mutex-spin"),
    ("user-level threads", "table 5, twenty threads; the question on several cores", "locks-many-contenders"),
    ("user-level threads", "text at table 5, sections beyond the quantum", "locks-beyond-quantum"),
    ("user-level threads", "table 3, transfers by size", "async-io-size"),
    ("user-level threads", "table 4, transfers by the work beside them", "async-io-work"),
)
"""What is about what, what of it is measured again, and the name of the experiment. There is no table 2."""

COSTS = {"server_cpu_per_request": ("server CPU per request", 1e-3), "latency_p50": ("wait, median", 1e-3)}
"""Figures of a service by branch: title and factor to µs, by the metric's name."""


@dataclass(frozen=True)
class Result:
    """One experiment.

    Attributes:
        experiment: as `experiments.toml` has it.
        points: rows of `services.SERVICE_POINTS`, `services.FORUM_POINTS` or `wall_times.WALL_POINTS`; only published
            ones if there is no sweep.
        sentences: what was measured where, or what is missing.
        sweep: what was measured; None if nothing was.
    """

    experiment: Experiment
    points: pl.DataFrame
    sentences: list[str]
    sweep: Sweep | None = None

    def found(self) -> str:
        """What was found, as Markdown."""
        return notebooks.bullets(document_findings.found(self.experiment.name, self.points) or ["Nothing yet."])

    def charts(self) -> list[alt.VConcatChart]:
        """Measured above published; what has one of the two alone is drawn with that one."""
        figure = self.experiment.figure
        draw = service_figures if figure in services.FIGURES else wall_time_figures
        return list(draw(self.points, figure, LIGHT).values())

    def table(self) -> str:
        """Published numbers beside what was measured in the same place, as Markdown."""
        met = beside(self.points, self.experiment.figure)
        if not met.height:
            return "No published number has a measured one beside it."
        return tables.markdown(tables.rounded(met))


def result_of(name: str) -> Result:
    """An experiment by the newest committed sweep of it, or by what was published alone."""
    return result(experiment_named(name), notebooks.newest_of(name))


def result(experiment: Experiment, sweep: Sweep | None) -> Result:
    """An experiment by `sweep`, or by what was published alone."""
    if sweep is None:
        if experiment.figure in services.FIGURES:
            points = services.points(None, experiment)
        else:
            points = wall_times.published(experiment.name, experiment.figure)
        return Result(experiment, points, [not_measured(experiment)])
    analysis = analyse(sweep)
    if experiment.figure in services.FIGURES:
        points = services.points(sweep, experiment)
    else:
        points = wall_times.points(analysis.times, experiment.name, experiment.figure)
    return Result(experiment, points, [measured_where(analysis)], sweep)


def overview(results: list[Result]) -> str:
    """Every table and figure of the documents, where it was measured again, and whether that agrees, as Markdown.

    Agreement is in the order of two ways (`document_findings.agreement`).
    """
    rows = []
    by_name = {each.experiment.name: each for each in results}
    for document, shown, name in DOCUMENTS:
        each = by_name[name]
        same, other, untold = document_findings.agreement(each.points, each.experiment.figure)
        rows.append(
            {
                "document": document,
                "table or figure": shown,
                "experiment": name,
                "sweep": each.sweep.path.name if each.sweep else "not measured yet",
                "printed numbers": each.points.filter(pl.col("origin") == PUBLISHED).height,
                "measured beside": beside(each.points, each.experiment.figure).height,
                "same order": same,
                "other order": other,
                "order not told": untold,
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def beside(points: pl.DataFrame, figure: str) -> pl.DataFrame:
    """Published numbers with what was measured in the same place.

    In:  `points` of a `Result`.
    Out: columns of the place, `published`, `branch`, `measured`, `low`, `high`; for a board both numbers are the
         difference from its reference in per cent, and there is no interval. Numbers that nothing measured answers have
         no row.
    """
    interval = ["low", "high"]
    if figure == FORUM_GRID:
        # What a document calls its own and the reference are not our two implementations: only differences compare.
        place, value, interval = ["kind", "posters", "readers"], "difference_percent", []
        points = points.filter(pl.col("way").is_in(list(services.REFERENCES)))
    elif figure in services.FIGURES:
        place, value = ["side", "panel", "way", "threads"], "value_ms"
        points = points.rename({"low_ms": "low", "high_ms": "high"})
    else:
        place, value = ["place", "panel", "way", "x"], "wall_ms"
    known = points.filter(pl.col("origin") == PUBLISHED).select(*place, pl.col(value).alias("published"))
    measured = points.filter(pl.col("origin") == HERE)
    return (
        known.join(measured.select(*place, "branch", pl.col(value).alias("measured"), *interval), on=place)
        .drop_nulls(["published", "measured"])
        .sort([*place, "branch"])
    )


def service_costs(sweep: Sweep) -> pl.DataFrame:
    """What a request costs and how long it waits, by branch; the A/A twin is a branch of its own.

    Out: `workload`, `parameters`, `threads`, `figure`, `branch`, `trials`; in µs `median`, `least`, `most` over trials.
    """
    titles = {metric: title for metric, (title, _) in COSTS.items()}
    factors = {metric: factor for metric, (_, factor) in COSTS.items()}
    micros = pl.col("value") * pl.col("metric").replace_strict(factors, return_dtype=pl.Float64)
    place = ["workload", "parameters", "threads", "figure", "branch"]
    return (
        sweep.trials.filter(pl.col("program") == PARALLEL)
        .select("trial", "workload", "parameters", "threads", "branch")
        .join(sweep.metrics.filter(pl.col("metric").is_in(list(COSTS))), on="trial")
        .with_columns(pl.col("metric").replace_strict(titles).alias("figure"), micros.alias("micros"))
        .group_by(place)
        .agg(
            pl.len().alias("trials"),
            pl.col("micros").median().alias("median"),
            pl.col("micros").min().alias("least"),
            pl.col("micros").max().alias("most"),
        )
        .sort(place)
        .collect()
    )


def cost_chart(costs: pl.DataFrame, workload: str, figure: str) -> alt.FacetChart:
    """Median and range over trials by branch, a panel for each load and number of threads.

    In: rows of `service_costs`.
    """
    part = costs.filter((pl.col("workload") == workload) & (pl.col("figure") == figure)).with_columns(
        parameter("load").fill_null("closed").alias("load")
    )
    part = part.with_columns(pl.format("{} loop, {} threads", "load", "threads").alias("panel"))
    base = alt.Chart(part).encode(y=alt.Y("branch:N", title=None, axis=alt.Axis(labelLimit=300)))
    across = alt.Scale(type="log", nice=False, padding=12)
    rule = base.mark_rule(color="#888888").encode(x=alt.X("least:Q", title="µs", scale=across), x2="most:Q")
    point = base.mark_point(filled=True, size=60, opacity=1, color="#0072b2").encode(x=alt.X("median:Q", scale=across))
    panels = alt.layer(rule, point).properties(width=230, height=110)
    chart: alt.FacetChart = (
        panels.facet(facet=alt.Facet("panel:N", title=None), columns=2)
        .resolve_scale(x="independent")
        .properties(title=f"{workload}: {figure}; median over trials, and their range")
    )
    return chart
