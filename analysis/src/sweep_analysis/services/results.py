"""An experiment of an older study: its measured numbers, if there are any, beside the published ones."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.figure import Charts, Figure
from sweep_analysis.read.labels import HERE, count
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.request import ANSWERS, experiment_named, newest_of
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.read.written import Experiment
from sweep_analysis.say import tables
from sweep_analysis.say.facts import host
from sweep_analysis.services.plot import charts
from sweep_analysis.services.points import FIGURES, LOSS, beside, orders, points
from sweep_analysis.stats.analysis import Analysis, analyse

STUDIES = {
    "packets-idle-lock-overhead": "packets, experiment 1",
    "packets-speedup-uniform": "packets, experiment 2",
    "packets-speedup-exponential": "packets, experiment 3",
    "packets-awesome": "packets, experiment 4",
    "kv-queues": "a key-value server, all tables",
    "forum-grid": "a message board, all tables",
    "locks-mutex-spin": "user-level threads, table 1",
    "locks-many-contenders": "user-level threads, table 5",
    "locks-beyond-quantum": "user-level threads, text at table 5",
    "async-io-size": "user-level threads, table 3",
    "async-io-work": "user-level threads, table 4",
}
"""The part of a study that each experiment repeats. The study of user-level threads has no table 2."""

MOST_WIDE = 0.2
"""Widest interval, as a share of the number, that may confirm a published number: ±10 %. A guess."""
MOST_POINTS = 5.0
"""Widest interval of lost throughput in percentage points, because an interval from −127 to 24 confirms any number."""


@dataclass(frozen=True)
class Result:
    """One experiment.

    Attributes:
        experiment: from `experiments.toml`.
        points: rows of `points.POINTS`; only published ones if there is no sweep.
        summary: a sentence on the sweep, its trials and its host, or that there is no sweep.
        sweep: the name of the sweep; None if there is none.
    """

    experiment: Experiment
    points: pl.DataFrame
    summary: str
    sweep: str | None = None

    def charts(self) -> list[alt.VConcatChart]:
        """A chart for each place, with the measured points above the published ones."""
        return list(charts(self.points, self.experiment.figure).values())

    def table(self) -> str:
        """Published and measured numbers of the same point, as Markdown."""
        met = beside(self.points)
        if met.is_empty():
            return "No published number has a measured counterpart."
        return tables.markdown(tables.rounded(met))


def result_of(name: str) -> Result:
    """The result of an experiment from its newest committed sweep, or only the published numbers."""
    return result(experiment_named(name), newest_of(name))


def result(experiment: Experiment, sweep: Sweep | None) -> Result:
    """The result of an experiment from `sweep`, or only the published numbers."""
    if sweep is None:
        summary = (
            f"Not measured yet: no sweep of {experiment.name} is committed, so the chart has only published numbers. "
            f"`cargo runner sweep --experiment {experiment.name}` measures it."
        )
        return Result(experiment, points(None, experiment), summary)
    analysis = analyse(sweep)
    good = count(analysis.times.height, "good trial")
    summary = (
        f"Sweep {sweep.path.name}: {good}, {analysis.failures.height} failed, on {host(analysis)}."
    )
    return Result(experiment, points(analysis, experiment), summary, sweep.path.name)


def numbers(met: pl.DataFrame, figure: str) -> tuple[int, int, int]:
    """The numbers of published numbers that are confirmed, not confirmed, and inconclusive.

    A number is confirmed if it is inside the measured interval, and this interval is narrow. It is not
    confirmed if it is outside. In: rows of `beside`. Numbers without an interval are inconclusive.
    """
    width = pl.col("high") - pl.col("low")
    most = MOST_POINTS if figure == LOSS else MOST_WIDE * pl.col("measured").abs()
    inside = pl.col("published").is_between(pl.col("low"), pl.col("high"))
    again = met.filter(inside, width <= most).height
    other = met.filter(~inside).height
    return again, other, met.height - again - other


def overview(results: list[Result]) -> str:
    """A row per experiment of the studies with counts of published, measured and confirmed numbers, as Markdown."""
    rows = []
    for each in results:
        met = beside(each.points)
        again, differ, open_numbers = numbers(met, each.experiment.figure)
        same, opposite, open_orders = orders(each.points)
        printed = each.points.filter(
            pl.col("kind").is_in(["printed", "derived"]), ~pl.col("place").str.contains(": more")
        )
        rows.append(
            {
                "study": STUDIES[each.experiment.name],
                "experiment": each.experiment.name,
                "sweep": each.sweep or "not measured yet",
                "published": printed.height,
                "also measured": met.height,
                "confirmed": again,
                "not confirmed": differ,
                "inconclusive": open_numbers,
                "same order of two variants": same,
                "opposite order": opposite,
                "intervals overlap": open_orders,
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def orders_in_words(results: list[Result]) -> str:
    """Sentences on the order of two variants against the studies, and on the pool against the packet study's queues."""
    same, other, unclear = (
        sum(column) for column in zip(*(orders(each.points) for each in results), strict=True)
    )
    return (
        f"In {same + other + unclear} places two variants were both published and measured. Our measurements have the "
        f"published order in {same} places and the opposite order in {other}; {unclear} are inconclusive, because the "
        "intervals overlap. "
        f"{_pool_against_queues(results)}"
    )


def _pool_against_queues(results: list[Result]) -> str:
    frames = [each.points for each in results if each.experiment.figure == "speedup-by-words"]
    place = ["place", "panel", "x"]
    rows = pl.concat(frames).filter(origin=HERE).select(*place, "way", "low", "high")
    rows = rows.drop_nulls().unique([*place, "way"])
    both = rows.filter(way="pool").join(rows.filter(way="lock-free"), on=place, suffix="_other")
    ahead = both.filter(pl.col("low") > pl.col("high_other")).height
    behind = both.filter(pl.col("high") < pl.col("low_other")).height
    return (
        f"A work-stealing pool is faster than queues of single workers in {ahead} of {both.height} places, and slower in "
        f"{behind}; in the others the intervals overlap."
    )


def costs(sweep: Sweep) -> pl.DataFrame:
    """Costs of a request by branch and by the parameters that vary; the A/A control counts as a branch.

    Out: medians over trials, and the range of the server's CPU time.
    """
    named = {
        "server_cpu_per_request": ("server CPU, µs", 1e-3),
        "latency_p50": ("median latency, µs", 1e-3),
        "post_p50": ("median latency of a post, µs", 1e-3),
        "requests_per_second": ("requests/s", 1.0),
    }
    place = ["workload", "parameters", "threads", "program", "branch"]
    factor = pl.col("metric").replace_strict({name: it[1] for name, it in named.items()})
    title = pl.col("metric").replace_strict({name: it[0] for name, it in named.items()})
    long = (
        sweep.trials.select("trial", *place)
        .join(sweep.metrics.filter(pl.col("metric").is_in(list(named))), on="trial")
        .with_columns(title.alias("metric"), pl.col("value") * factor)
        .collect()
    )
    first = pl.col("value").filter(pl.col("metric") == named["server_cpu_per_request"][0])
    ranges = long.group_by(place).agg(
        pl.col("trial").n_unique().alias("trials"),
        first.min().alias("least"),
        first.max().alias("most"),
    )
    wide = long.pivot("metric", index=place, values="value", aggregate_function="median")
    # The order of rows differs from run to run, and so does that of the new columns.
    wide = wide.select(*place, *(it for it, _ in named.values() if it in wide.columns))
    program = pl.when(program=PARALLEL).then(pl.lit("")).otherwise(pl.lit("no hand-off"))
    found = wide.join(ranges, on=place).with_columns(program.alias("program"))
    return pl.concat([_without_common(part) for part in found.partition_by("workload")]).sort(place)


def _without_common(rows: pl.DataFrame) -> pl.DataFrame:
    """Remove the parameters that all rows have in common."""
    texts = rows["parameters"].cast(pl.String).to_list()
    common = set.intersection(*(set(text.split()) for text in texts))
    varying = [" ".join(word for word in text.split() if word not in common) for text in texts]
    return rows.with_columns(pl.Series("parameters", varying))


def points_of(analysis: Analysis) -> pl.DataFrame | None:
    """The rows of the experiment's figure; None if the sweep is not an experiment of a study."""
    experiment = analysis.experiment
    is_known = experiment is not None and experiment.figure in {*FIGURES, ANSWERS}
    return points(analysis, experiment) if experiment is not None and is_known else None


def experiment_figure(analysis: Analysis, experiment: Experiment) -> Figure:
    """The figure of an experiment, which replaces the figures of branches."""
    rows = points(analysis, experiment)

    def draw() -> Charts:
        return dict(charts(rows, experiment.figure)) if experiment.figure in FIGURES else {}

    about = (
        "The table shows whether every variant gave the sequential program's answer."
        if experiment.figure == ANSWERS
        else "The upper row has measured numbers, the lower row published ones. Bars are 95 % intervals."
    )
    return Figure(
        f"Experiment {experiment.name}: {experiment.shows}",
        f"After the {experiment.source}. {about}",
        panels=draw,
        titled=True,
        whole=lambda: {
            f"{experiment.name}-{at}": chart for at, chart in enumerate(draw().values(), start=1)
        },
        numbers={"the experiment": rows},
        name=experiment.name,
        needs=("experiment",),
    )
