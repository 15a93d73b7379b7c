"""Summarises latencies of jobs: the quantiles that workloads report, over the trials of a configuration.

The workload computes the quantiles of a trial. Latencies of several trials are not pooled, because
the longest latencies of one process would then represent all processes. A few trials do not describe
a tail, so the spread is given as the smallest and the largest trial.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import LATENCIES, cast_to
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, POOL_CELL

KINDS = {
    "latency": "until the work was done",
    "first_job": "until the first job ran",
    "last_job": "until the last job ran",
    "lateness": "before the call of the pool",
    "service": "inside the server",
    "over_ideal": "over the ideal",
    "post": "until a post was answered",
    "read": "until a read was answered",
}
"""The kinds of latencies, by the prefix of the metric's name. The host's timer causes `lateness`, not the pool."""

TESTED = ("latency", "last_job", "first_job", "post", "read", "service")
"""The kinds that are tested. The first of these that a trial reports becomes `p50` and `p99` of `compare.QUANTITIES`."""

QUANTILES = ("p50", "p90", "p99", "p99.9", "max")
"""Quantiles of latencies, as suffixes of the metrics' names."""

NS_PER_US = 1000


def waits_of(sweep: Sweep) -> pl.DataFrame:
    """The `p50_ns` and `p99_ns` of each `trial`, of the first kind in `TESTED` that the trial reports."""
    name = pl.col("metric").str.extract_groups(
        rf"^(?<kind>{'|'.join(TESTED)})_(?<quantile>p50|p99)$"
    )
    told = (
        sweep.metrics.filter(pl.col("unit") == "ns").with_columns(name.alias("name")).unnest("name")
    )
    first = told.drop_nulls("kind").with_columns(pl.col("kind").cast(pl.Enum(TESTED)))
    quantiles = [
        pl.col("value").filter(pl.col("quantile") == q).first().alias(f"{q}_ns")
        for q in ("p50", "p99")
    ]
    return (
        first.filter(pl.col("kind") == pl.col("kind").min().over("trial"))
        .group_by("trial")
        .agg(quantiles)
        .collect()
    )


def trial_waits(sweep: Sweep) -> pl.LazyFrame:
    """The `QUANTILES` that good parallel trials report, with the trial's configuration, `kind`, `quantile` and `wait_us`."""
    name = pl.col("metric").str.extract_groups(rf"^(?<kind>{'|'.join(KINDS)})_(?<quantile>.+)$")
    told = (
        sweep.metrics.filter(pl.col("unit") == "ns")
        .with_columns(name.alias("name"))
        .unnest("name")
        .filter(pl.col("quantile").is_in(QUANTILES))
        .with_columns((pl.col("value") / NS_PER_US).alias("wait_us"))
    )
    trials = sweep.trials.with_columns(pl.col("input").fill_null("")).filter(
        pl.col("program") == PARALLEL
    )
    return trials.select(*POOL_CELL, "program", "oversubscribed", "trial").join(told, on="trial")


def latencies(sweep: Sweep) -> pl.LazyFrame:
    """Compute the latencies of every configuration that reports latencies. Out: rows of `frames.LATENCIES`."""
    if sweep.metrics.head(1).collect().is_empty():
        return pl.LazyFrame(schema=LATENCIES)
    wait = pl.col("wait_us")
    return (
        trial_waits(sweep)
        .group_by([*POOL_CELL, "oversubscribed", "kind", "quantile"])
        .agg(
            pl.len().alias("trials"),
            wait.median(),
            wait.min().alias("wait_us_low"),
            wait.max().alias("wait_us_high"),
        )
        .select(cast_to(LATENCIES))
        .sort([*POOL_CELL, "kind", "quantile"])
    )
