"""The figures of the packet study, with what was published beside what was measured.

An experiment's cells differ in parameters of the workload; here they become columns: the *way*
packets are handed on (strategy, and lock where it has one), the mean `words` of a packet, the
`depth` of a queue, the `generator`.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
import polars as pl

from sweep_analysis.read.experiment import Experiment
from sweep_analysis.read.labels import HERE, PUBLISHED, parameter, without
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, SEQUENTIAL
from sweep_analysis.stats.location import described
from sweep_analysis.stats.units import by_unit, of_builds

ANSWERS = "answers"
"""Figure of experiments about correctness: a table."""

SPEEDUP_BY_WORDS = "speedup-by-words"
"""Speed-up by threads, a panel for each number of words."""

OVERHEAD_BY_WORDS = "overhead-by-words"
"""Loss of throughput against `lock-free` by number of words."""

LOCKED = ("home-queue", "awesome")
"""Strategies in which the lock means something."""

REFERENCE = "lock-free"
"""The way whose throughput others lose against."""

POINTS = pl.Schema(
    {
        "origin": pl.String,  # `HERE` or `PUBLISHED`
        "branch": pl.String,  # null where published
        "generator": pl.String,
        "way": pl.String,
        "depth": pl.Int64,
        "words": pl.Int64,  # null for a bound that holds for all
        "threads": pl.Int64,  # dispatcher included; null for a bound that holds for all
        "value": pl.Float64,  # speed-up over the sequential program, or lost throughput in per cent
        "low": pl.Float64,  # 95 % interval; null where published
        "high": pl.Float64,
        "kind": pl.String,  # `measured`, `printed`, `derived`, `bound`
        "trials": pl.Int64,
    }
)
"""One row per point of an experiment's figure."""


def points(times: pl.DataFrame, speedups: pl.DataFrame, experiment: Experiment) -> pl.DataFrame:
    """The experiment's figure as numbers, measured and published.

    In:  rows of `frames.TIMES` and `frames.SPEEDUPS`.
    Out: rows of `POINTS`; empty for experiments that draw no figure of their own.
    """
    if experiment.figure == SPEEDUP_BY_WORDS:
        measured = _speedup_points(speedups)
    elif experiment.figure == OVERHEAD_BY_WORDS:
        measured = _overhead_points(times)
    else:
        return pl.DataFrame(schema=POINTS)
    return pl.concat([measured, published(experiment.name)]).sort(
        ["origin", "generator", "depth", "words", "way", "branch", "threads"]
    )


def published(experiment: str) -> pl.DataFrame:
    """The numbers that the study printed for an experiment: rows of `POINTS`."""
    file = resources.files("sweep_analysis.services").joinpath("published/packets-2021.csv")
    frame = pl.read_csv(file.read_bytes()).filter(pl.col("experiment") == experiment)
    known = [name for name in POINTS if name in frame.columns]
    missing = [pl.lit(None).alias(name) for name in POINTS if name not in [*known, "origin"]]
    return (
        frame.select(*known, *missing, pl.lit(PUBLISHED).alias("origin"))
        .select(POINTS.names())
        .cast(POINTS)
    )


def answers(sweep: Sweep, experiment: Experiment) -> pl.DataFrame:
    """Whether every cell gave the sequential program's answer.

    Out: one row per branch and set of parameters: `workload`, `parameters` (those that differ),
         `branch`, `threads`, `trials`, `agreeing` (trials with the answer of the sequential program
         on the same instance), `answer`.
    """
    frame = sweep.trials.collect().with_columns(
        pl.col("parameters")
        .map_elements(
            lambda text: without(text, experiment.sequential_ignores), return_dtype=pl.String
        )
        .alias("instance")
    )
    instance = ["workload", "size", "instance", "input"]
    known = (
        frame.filter((pl.col("program") == SEQUENTIAL) & (pl.col("outcome") == "ok"))
        .group_by(instance)
        .agg(
            pl.col("answer").first().alias("expected"),
            pl.col("answer").n_unique().alias("different"),
        )
        .filter(pl.col("different") == 1)
        .drop("different")
    )
    pool = frame.filter(pl.col("program") == PARALLEL).join(
        known, on=instance, how="left", nulls_equal=True
    )
    common = (
        set.intersection(*(set(text.split()) for text in pool["parameters"]))
        if pool.height
        else set()
    )
    agrees = (pl.col("outcome") == "ok") & (pl.col("answer") == pl.col("expected"))
    return (
        pool.group_by(["workload", "parameters", "branch"])
        .agg(
            pl.col("threads").unique().sort().cast(pl.String).str.join(", ").alias("threads"),
            pl.len().cast(pl.Int64).alias("trials"),
            agrees.fill_null(value=False).sum().cast(pl.Int64).alias("agreeing"),
            pl.col("expected").first().alias("answer"),
        )
        .with_columns(
            pl.col("parameters").map_elements(
                lambda text: " ".join(word for word in text.split() if word not in common),
                return_dtype=pl.String,
            )
        )
        .sort(["workload", "parameters", "branch"])
    )


def _with_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Add `generator`, `words`, `depth` and `way`, taken from `parameters`."""
    way = (
        pl.when(parameter("strategy").is_in(LOCKED))
        .then(pl.concat_str(parameter("strategy"), pl.lit(", "), parameter("lock")))
        .otherwise(parameter("strategy"))
    )
    return frame.with_columns(
        parameter("generator").alias("generator"),
        parameter("words").cast(pl.Int64).alias("words"),
        parameter("depth").cast(pl.Int64).alias("depth"),
        way.alias("way"),
    )


def _speedup_points(speedups: pl.DataFrame) -> pl.DataFrame:
    frame = _with_columns(speedups.filter(pl.col("definition") == "sequential"))
    return frame.select(
        pl.lit(HERE).alias("origin"),
        "branch",
        "generator",
        "way",
        "depth",
        "words",
        "threads",
        pl.col("speedup").alias("value"),
        pl.col("speedup_low").alias("low"),
        pl.col("speedup_high").alias("high"),
        pl.lit("measured").alias("kind"),
        "trials",
    ).cast(POINTS)


def _overhead_points(times: pl.DataFrame) -> pl.DataFrame:
    """Throughput lost against `REFERENCE` at the same depth, words, threads and branch, in per cent."""
    columns = _with_columns(times.select("parameters").unique()).rows_by_key(
        "parameters", named=True, unique=True
    )
    units = by_unit(times.filter(pl.col("program") == PARALLEL).lazy(), "ns_per_unit")
    builds = of_builds(units)
    constant = ("generator", "depth", "words", "threads")
    places = [
        columns[key["parameters"]] | {"threads": key["threads"]}
        for key in units.cells.rows(named=True)
    ]
    references = {
        tuple(place[name] for name in constant): at
        for at, place in enumerate(places)
        if place["way"] == REFERENCE
    }
    rows = []
    for at, place in enumerate(places):
        reference = references.get(tuple(place[name] for name in constant))
        if place["way"] == REFERENCE or reference is None:
            continue
        middle, low, high = described(
            units.values[reference] - units.values[at], builds[reference] - builds[at]
        )
        rows += [
            {name: place[name] for name in constant}
            | {
                "branch": branch,
                "origin": HERE,
                "way": place["way"],
                "value": _lost(middle[row]),
                "low": _lost(high[row]),
                "high": _lost(low[row]),
                "kind": "measured",
                "trials": int(units.pairs[at, row]),
            }
            for row, branch in enumerate(units.branches)
            if np.isfinite(middle[row])
        ]
    frame = pl.DataFrame(rows, schema=POINTS)
    return frame.with_columns(pl.col("low", "high").fill_nan(None))


def _lost(ratio: float) -> float:
    """Throughput lost in per cent, from the reference's time per packet over one's own."""
    return 100 * (1 - float(ratio))
