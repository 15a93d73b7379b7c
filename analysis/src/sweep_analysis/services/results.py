"""Shows an experiment of an older study: its published numbers, beside the measured numbers if there are any."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.read.labels import count
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.request import experiment_named, newest_of
from sweep_analysis.read.written import Experiment
from sweep_analysis.say import tables
from sweep_analysis.say.facts import host
from sweep_analysis.services.plot import charts
from sweep_analysis.services.points import beside, orders, points
from sweep_analysis.stats.analysis import analyse

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


@dataclass(frozen=True)
class Result:
    """One experiment.

    Attributes:
        experiment: the entry of `experiments.toml`.
        points: rows of `points.POINTS`; only published points if there is no sweep.
        summary: a sentence on the sweep, its trials and its host, or that there is no sweep.
        sweep: the name of the sweep; None if there is none.
    """

    experiment: Experiment
    points: pl.DataFrame
    summary: str
    sweep: str | None = None

    def charts(self) -> list[alt.VConcatChart]:
        """A chart for each place, with the measured points above the published points."""
        return list(charts(self.points, self.experiment.figure).values())

    def table(self) -> str:
        """The published and the measured number of each point, as Markdown."""
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
            f"`cargo runner sweep --experiment {experiment.name}` measures it; then commit the sweep."
        )
        return Result(experiment, points(None, experiment), summary)
    analysis = analyse(sweep)
    good = count(analysis.times.height, "good trial")
    summary = (
        f"Sweep {sweep.path.name}: {good}, {analysis.failures.height} failed, on {host(analysis)}."
    )
    return Result(experiment, points(analysis, experiment), summary, sweep.path.name)


def overview(results: list[Result]) -> str:
    """A row per experiment of the studies, with counts of numbers and of orders of two variants, as Markdown."""
    rows = []
    for each in results:
        same, opposite, open_orders = orders(each.points)
        printed = each.points.filter(pl.col("kind").is_in(["printed", "derived"]))
        rows.append(
            {
                "study": STUDIES[each.experiment.name],
                "experiment": each.experiment.name,
                "sweep": each.sweep or "not measured yet",
                "published": printed.height,
                "also measured": beside(each.points).height,
                "same order of two variants": same,
                "opposite order": opposite,
                "intervals overlap": open_orders,
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def orders_in_words(results: list[Result]) -> str:
    """A sentence that compares the measured orders of two variants with the published orders."""
    same, other, unclear = (
        sum(column) for column in zip(*(orders(each.points) for each in results), strict=True)
    )
    return (
        f"In {same + other + unclear} places two variants were both published and measured. Our measurements have the "
        f"published order in {same} places and the opposite order in {other}; {unclear} are inconclusive, because the "
        "intervals overlap."
    )


_COSTS = {
    "server_cpu_per_request": "server CPU, ns",
    "latency_p50": "median latency, ns",
    "post_p50": "median latency of a post, ns",
    "requests_per_second": "requests/s",
}


def costs(sweep: Sweep) -> pl.DataFrame:
    """The costs of a request (medians over trials) by branch and by the parameters that vary."""
    place = ["workload", "parameters", "threads", "program", "branch"]
    long = (
        sweep.trials.select("trial", *place)
        .join(sweep.metrics.filter(pl.col("metric").is_in([*_COSTS])), on="trial")
        .collect()
    )
    wide = long.pivot("metric", index=place, values="value", aggregate_function="median")
    named = [pl.col(name).round(0).alias(it) for name, it in _COSTS.items() if name in wide.columns]
    parts = [_without_common(part) for part in wide.select(*place, *named).partition_by("workload")]
    return pl.concat(parts).sort(place)


def _without_common(rows: pl.DataFrame) -> pl.DataFrame:
    texts = rows["parameters"].cast(pl.String).to_list()
    common = set.intersection(*(set(text.split()) for text in texts))
    varying = [" ".join(word for word in text.split() if word not in common) for text in texts]
    return rows.with_columns(pl.Series("parameters", varying))
