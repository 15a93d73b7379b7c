"""The cost of handing a piece of work to another thread.

The work is a request to a handler, or a transfer to a helper.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.read.labels import parameter
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.speedup import trial_times

READER = "the reader itself"
"""The sequential program of a service: the thread that waits for the sockets answers, and hands nothing on."""

WAYS = ("a thread for each connection", READER, "threads behind a queue", "the pool")
"""The threads that answer a request. Each way adds one thing: a poll of all sockets, a hand-off, a pool."""


def requests(sweep: Sweep) -> pl.DataFrame:
    """The cost of a request, by the threads that answer it (`WAYS`).

    In:  trials of `kv` whose handlers take requests, and of `forum`. Out: `workload`, `clients`,
    `threads`, `way` (of `WAYS`), `branch`, `trials`; medians over trials of `per second`,
         `wait µs` (a client's median wait), `server CPU µs`, `sleeps` and `turned out` (voluntary
         and involuntary context switches of the whole process; a thread that yields is turned out)
         per request, `CPUs busy`.
    """
    clients = pl.coalesce(
        parameter("clients").cast(pl.Int64),
        parameter("posters").cast(pl.Int64) + parameter("readers").cast(pl.Int64),
    )
    handlers = pl.coalesce(parameter("implementation"), parameter("handlers"))
    way = (
        pl.when(pl.col("program") != PARALLEL)
        .then(pl.lit(READER))
        .when((handlers == "threads") & (pl.col("workload") == "forum"))
        .then(pl.lit(WAYS[0]))
        .when(handlers == "pool")
        .then(pl.lit(WAYS[3]))
        .otherwise(pl.lit(WAYS[2]))
        .cast(pl.Enum(WAYS))
    )
    wait = pl.coalesce(pl.col("latency_p50"), (pl.col("post_p50") + pl.col("read_p50")) / 2)
    units = pl.col("elapsed_ns") / pl.col("ns_per_unit")
    place = ["workload", "clients", "way", "threads", "branch"]
    quantities = {
        "per second": pl.col("requests_per_second"),
        "wait µs": wait / 1e3,
        "server CPU µs": pl.col("server_cpu_per_request") / 1e3,
        "sleeps": pl.col("voluntary_switches") / units,
        "turned out": pl.col("involuntary_switches") / units,
        "CPUs busy": pl.col("cpus_busy"),
    }
    trials = (
        _with_metrics(
            sweep,
            [
                "latency_p50",
                "post_p50",
                "read_p50",
                "requests_per_second",
                "server_cpu_per_request",
            ],
        )
        .filter(
            pl.col("workload").is_in(["kv", "forum"]),
            parameter("takes").fill_null("requests") == "requests",
            parameter("harness").fill_null("short-lines") == "short-lines",
        )
        .with_columns(clients.alias("clients"), way.alias("way"))
    )
    return (
        trials.group_by(place)
        .agg(
            pl.len().alias("trials"),
            *(expr.median().alias(name) for name, expr in quantities.items()),
        )
        .sort(place)
    )


def request_chart(rows: pl.DataFrame) -> alt.FacetChart:
    """CPU time of the server per request, a bar for each way and number of threads.

    In: rows of `requests`.
    """
    threads = pl.format("{}, threads: {}", "way", "threads")
    has_threads = pl.col("way").is_in([WAYS[2], WAYS[3]])
    named = rows.with_columns(
        pl.when(has_threads).then(threads).otherwise(pl.col("way").cast(pl.String)).alias("bar"),
        pl.format("{}, {} clients", "workload", "clients").alias("panel"),
    )
    order = named.sort("way", "threads")["bar"].unique(maintain_order=True).to_list()
    panels = named["panel"].unique(maintain_order=True).to_list()
    bars = (
        alt.Chart(named.unique(["panel", "bar"], keep="last", maintain_order=True))
        .mark_bar(color="#0072b2", height=14)
        .encode(
            x=alt.X("server CPU µs:Q", title="server's CPU time for a request, µs"),
            y=alt.Y("bar:N", title=None, sort=order, axis=alt.Axis(labelLimit=300)),
        )
        .properties(width=230, height=alt.Step(24))
    )
    chart: alt.FacetChart = bars.facet(
        facet=alt.Facet("panel:N", title=None, sort=panels), columns=2
    )
    return chart


def request_sentences(rows: pl.DataFrame) -> list[str]:
    """Sentences on the cost of each of `WAYS`. In: rows of `requests` of one branch."""
    sentences = []
    for (workload, clients), part in rows.group_by(["workload", "clients"], maintain_order=True):
        most = part.filter(
            (pl.col("way") == READER) | (pl.col("threads") == pl.col("threads").max())
        )
        told = [
            f"{row['way']} {row['server CPU µs']:.1f} µs of the server's CPU time, {row['sleeps']:.1f} sleeps and "
            f"{row['turned out']:.1f} times turned out, {row['per second'] / 1e3:.0f} thousand a second"
            for row in most.rows(named=True)
        ]
        sentences.append(f"{workload}, {clients} clients, a request: {'; '.join(told)}.")
    return sentences


def transfers(sweep: Sweep) -> pl.DataFrame:
    """The extra time of a transfer over a synchronous one, and how many transfers overlap.

    In:  trials of `async-io`. Out: `operation`, `reaches`, `way`, `x` (bytes or compute steps,
    whichever varies), `trials`; medians over trials of
         `extra µs` (wall time of a transfer above that of the synchronous way in the same place),
         `sleeps` and `turned out` (context switches of the whole process per transfer), `at a time`
         (the most transfers that overlapped; null where nothing can).
    """
    names = ["operation", "reaches", "io", "backend", "bytes", "compute-steps"]
    rows = (
        _with_metrics(sweep, ["most_under_way"])
        .filter((pl.col("workload") == "async-io") & (pl.col("program") == PARALLEL))
        .with_columns(parameter(name).alias(name) for name in names)
    )
    varies = "compute-steps" if rows["compute-steps"].n_unique() > 1 else "bytes"
    helpers = (pl.col("io") == "asynchronous") & (pl.col("backend") == "threads")
    units = pl.col("elapsed_ns") / pl.col("ns_per_unit")
    place = ["operation", "reaches", "x"]
    quantities = (
        rows.with_columns(
            pl.when(helpers)
            .then(pl.lit("asynchronous, threads"))
            .otherwise(pl.col("io"))
            .alias("way"),
            pl.col(varies).cast(pl.Int64).alias("x"),
        )
        .group_by(*place, "way")
        .agg(
            pl.len().alias("trials"),
            (pl.col("ns_per_unit").median() / 1e3).alias("micros"),
            (pl.col("voluntary_switches") / units).median().alias("sleeps"),
            (pl.col("involuntary_switches") / units).median().alias("turned out"),
            pl.col("most_under_way").median().alias("at a time"),
        )
    )
    plain = quantities.filter(way="synchronous").select(*place, plain="micros")
    return (
        quantities.join(plain, on=place)
        .with_columns((pl.col("micros") - pl.col("plain")).alias("extra µs"))
        .filter(pl.col("way") != "synchronous")
        .select(
            "operation",
            "reaches",
            "way",
            "x",
            "trials",
            "extra µs",
            "sleeps",
            "turned out",
            "at a time",
        )
        .sort("operation", "reaches", "way", "x")
    )


def _with_metrics(sweep: Sweep, names: list[str]) -> pl.DataFrame:
    """Rows of `frames.TIMES` with these metrics of the trial and its context switches as columns, null where untold."""
    wanted = [*names, "voluntary_switches", "involuntary_switches"]
    metrics = sweep.metrics.filter(pl.col("metric").is_in(wanted)).collect()
    wide = metrics.pivot("metric", index="trial", values="value")
    missing = [pl.lit(None, pl.Float64).alias(name) for name in wanted if name not in wide.columns]
    return trial_times(sweep).collect().join(wide.with_columns(missing), on="trial")
