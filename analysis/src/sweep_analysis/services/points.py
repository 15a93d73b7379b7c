"""Makes points of the measured and published numbers of older studies' experiments.

A point is one number of a figure. Published points are rows of the file `published/points.csv`.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
import polars as pl
from scipy import special

from sweep_analysis.read.labels import HERE, PUBLISHED, parameter
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, WORDS
from sweep_analysis.read.written import Experiment
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.location import described
from sweep_analysis.stats.units import by_unit, of_builds

POINTS = pl.Schema(
    {
        "origin": pl.String,  # `HERE` or `PUBLISHED`
        "branch": pl.String,  # null in a published point
        "place": pl.String,  # name of a chart: the conditions that are constant in it
        "panel": pl.String,
        "way": pl.String,  # name of a line: the variant
        "x": pl.String,  # the value along the horizontal axis
        "value": pl.Float64,  # in the unit of the figure, see `FIGURES`
        "low": pl.Float64,  # 95 % interval; null in a published point, or with too few trials
        "high": pl.Float64,
        "kind": pl.String,  # `measured`, `printed`, `derived`, `repeated` or `bound`
        "trials": pl.Int64,
    }
)
"""One row per point."""

PLACE = ("place", "panel", "way", "x")
"""Columns that identify a point."""

LOSS = "overhead-by-words"
FORUM = "forum-grid"

FIGURES = {
    "speedup-by-words": ("threads, dispatcher included", "speed-up over serial"),
    LOSS: ("mean words per packet", "throughput lost against lock-free, %"),
    "wall-by-section": ("steps in the critical section", "wall time, ms"),
    "wall-by-bytes": ("bytes in a transfer", "wall time, ms"),
    "wall-by-compute": ("steps after each transfer", "wall time, ms"),
    "service-by-threads": ("handlers, or requests", "time, ms"),
    FORUM: ("posters, readers", "requests per second"),
}
"""Titles of both axes, by the figure's name in `experiments.toml`."""

_WAYS_OF_A_BOARD = {
    "pool": "own (here: the pool)",  # the committed points have these names
    "threads": "reference (here: a thread for each client)",
    "queue": "threads behind a queue",
}
_STATISTICS = {"mean": "mean", "p50": "median", "max": "max", "min": "min"}
_TIMES = {
    **{f"service_{end}": ("a request, on the server", it) for end, it in _STATISTICS.items()},
    **{
        f"session_{end}": ("a session of 100 requests, on the client", it)
        for end, it in _STATISTICS.items()
    },
    **{
        f"service_{method.lower()}_p50": ("a request, by method (median)", method)
        for method in ("GET", "POST", "DELETE")
    },
}
"""Place and panel of each metric of a key-value server."""

_RATES = {
    "posts_per_second": "post",
    "reads_per_second": "read",
    "requests_per_thread_per_second": "per thread",
}


def points(analysis: Analysis | None, experiment: Experiment) -> pl.DataFrame:
    """The points of an experiment: the measured ones, if `analysis` is given, and the published ones.

    Out: rows of `POINTS`.
    """
    figure = experiment.figure
    known = published(experiment.name)
    if analysis is None or figure not in FIGURES:
        return known
    if figure == "speedup-by-words":
        measured = _speedups(analysis.speedups)
    elif figure == LOSS:
        measured = _losses(analysis.times)
    elif figure == "service-by-threads":
        measured = _service(analysis.sweep)
    elif figure == FORUM:
        measured = _board(analysis.sweep)
    else:
        measured = _walls(analysis.times, figure)
    here = measured.with_columns(pl.lit(HERE).alias("origin"), pl.lit("measured").alias("kind"))
    ends = [pl.col(name).fill_nan(None) for name in ("low", "high")]
    rows = here.select(POINTS.names()).cast(POINTS).with_columns(ends)
    return pl.concat([rows, known]).sort(
        "origin", "place", "panel", "way", "branch", pl.col("x").str.len_chars(), "x"
    )


def published(experiment: str) -> pl.DataFrame:
    """The points that a study published for an experiment."""
    text = resources.files("sweep_analysis.services").joinpath("published/points.csv").read_bytes()
    frame = pl.read_csv(text, schema_overrides={"x": pl.String}).filter(experiment=experiment)
    missing = [pl.lit(None).alias(name) for name in ("branch", "low", "high", "trials")]
    rows = frame.with_columns(*missing, pl.lit(PUBLISHED).alias("origin"))
    return rows.select(POINTS.names()).cast(POINTS)


def beside(points: pl.DataFrame) -> pl.DataFrame:
    """Join the published and the measured number of each point. Published bounds have no rows."""
    known = points.filter(pl.col("kind") != "bound", origin=PUBLISHED)
    here = points.filter(origin=HERE)
    met = known.select(*PLACE, published="value").join(
        here.select(*PLACE, "branch", "low", "high", measured="value"), on=PLACE
    )
    columns = [*PLACE, "published", "branch", "measured", "low", "high"]
    return met.select(columns).sort([*PLACE, "branch"])


def orders(points: pl.DataFrame) -> tuple[int, int, int]:
    """Count the places in which two variants have the study's order, the opposite order, or no order.

    Only places count in which both variants were measured and published. Two variants have no order if
    their measured intervals overlap.
    """
    place = ["place", "panel", "x"]
    here = points.filter(origin=HERE).select(*place, "way", "value", "low", "high")
    there = points.filter(origin=PUBLISHED).select(*place, "way", there="value")
    met = here.join(there, on=[*place, "way"])
    pairs = met.join(met, on=place, suffix="_2").filter(pl.col("way") < pl.col("way_2"))
    apart = pairs.filter((pl.col("high") < pl.col("low_2")) | (pl.col("high_2") < pl.col("low")))
    same = (apart["value"] < apart["value_2"]) == (apart["there"] < apart["there_2"])
    return int(same.sum()), apart.height - int(same.sum()), pairs.height - apart.height


def _placed(frame: pl.DataFrame) -> pl.DataFrame:
    """Add place and panel of the packet study, and the variant: a strategy, and its lock if it has one."""
    has_lock = parameter("strategy").is_in(["home-queue", "awesome"])
    with_lock = pl.format("{}, {}", parameter("strategy"), parameter("lock"))
    return frame.with_columns(
        pl.format("{} sources, queues of {}", parameter("generator"), parameter("depth")).alias(
            "place"
        ),
        pl.format("W = {}", parameter("words")).alias("panel"),
        pl.when(has_lock).then(with_lock).otherwise(parameter("strategy")).alias("way"),
    )


def _speedups(speedups: pl.DataFrame) -> pl.DataFrame:
    return _placed(speedups.filter(definition="sequential")).with_columns(
        pl.col("threads").cast(pl.String).alias("x"),
        pl.col("speedup").alias("value"),
        pl.col("speedup_low").alias("low"),
        pl.col("speedup_high").alias("high"),
    )


def _losses(times: pl.DataFrame) -> pl.DataFrame:
    """Compute the throughput lost against `lock-free` at the same place, words, threads and branch, in per cent."""
    units = by_unit(times.filter(program=PARALLEL).lazy(), "ns_per_unit")
    builds = of_builds(units)
    places = _placed(units.cells.select("parameters", "threads")).rows(named=True)
    same = [(row["place"], row["panel"], row["threads"]) for row in places]
    references = {key: at for at, key in enumerate(same) if places[at]["way"] == "lock-free"}
    rows = []
    for at, place in enumerate(places):
        reference = references.get(same[at])
        if reference in (at, None):
            continue
        ratios = described(
            units.values[reference] - units.values[at], builds[reference] - builds[at]
        )
        lost, most, least = (100 * (1 - ratio) for ratio in ratios)
        rows += [
            {
                "branch": branch,
                "place": place["place"],
                "panel": place["way"],
                "way": place["way"],
                "x": place["panel"].removeprefix("W = "),
                "value": float(lost[row]),
                "low": float(least[row]),
                "high": float(most[row]),
                "trials": int(units.pairs[at, row]),
            }
            for row, branch in enumerate(units.branches)
            if np.isfinite(lost[row])
        ]
    return pl.DataFrame(rows, schema=POINTS)


def _walls(times: pl.DataFrame, figure: str) -> pl.DataFrame:
    own = times.filter(program=PARALLEL)
    if own.is_empty():
        return pl.DataFrame(schema=POINTS)
    wall = by_unit(own.lazy(), "elapsed_ns")
    middle, low, high = (times / 1e6 for times in described(wall.values, of_builds(wall)))
    rows = [
        {
            "branch": branch,
            "parameters": cell["parameters"],
            "threads": cell["threads"],
            "value": middle[at, row],
            "low": low[at, row],
            "high": high[at, row],
            "trials": int(wall.pairs[at, row]),
        }
        for at, cell in enumerate(wall.cells.rows(named=True))
        for row, branch in enumerate(wall.branches)
        if wall.pairs[at, row]
    ]
    if figure == "wall-by-section":
        cpus = parameter("cpus").replace("0", "all")
        place = (
            pl.when(parameter("on") == "os-threads")
            .then(pl.format("OS threads, CPUs: {}", cpus))
            .when(parameter("on") == "user-threads")
            .then(pl.lit("user-level threads on one OS thread"))
            .otherwise(pl.format("jobs on a pool of {}", "threads"))
        )
        panel = pl.format("{} contenders", parameter("contenders"))
        way, x = parameter("lock"), parameter("section-steps")
    else:
        verb = parameter("operation").replace({"read": "reads from", "write": "writes to"})
        place = pl.format("{} the {}", verb, parameter("reaches"))
        tasks = "{} tasks, {} transfers each"
        panel = pl.format(tasks, parameter("tasks"), parameter("operations"))
        # Older sweeps name the backend of asynchronous transfers: helper threads, else `io_uring`.
        helpers = pl.when(parameter("backend") == "threads").then(pl.lit(", threads"))
        way = parameter("io") + helpers.otherwise(pl.lit(""))
        x = parameter("bytes" if figure == "wall-by-bytes" else "compute-steps")
    return (
        pl.DataFrame(rows)
        .with_columns(WORDS)
        .with_columns(place.alias("place"), panel.alias("panel"), way.alias("way"), x.alias("x"))
    )


def _means(sweep: Sweep, place: list[pl.Expr | str]) -> pl.DataFrame:
    """Compute the mean of each metric over a configuration's trials, with a 95 % interval of Student's t.

    Trials are independent processes. Out: columns of `place`, `branch`, `metric`, `value`, `low`,
    `high`, `trials`.
    """
    cells = (
        sweep.trials.filter(pl.col("program") == PARALLEL)
        .select("trial", "branch", *place)
        .join(sweep.metrics, on="trial")
        .drop("trial", "unit")
        .collect()
    )
    value = pl.col("value")
    means = cells.group_by(name for name in cells.columns if name != "value").agg(
        value.mean(), value.std().alias("deviation"), pl.len().alias("trials")
    )
    trials = means["trials"].to_numpy()
    half = special.stdtrit(trials - 1, 0.975) * means["deviation"].to_numpy() / trials**0.5
    return means.with_columns(
        (value - pl.Series(half)).alias("low"), (value + pl.Series(half)).alias("high")
    )


def _service(sweep: Sweep) -> pl.DataFrame:
    is_napping = parameter("empty") == "sleep-250ms"
    lock_free = pl.when(is_napping).then(pl.lit("lock-free sleeping 250 ms"))
    queue = (
        pl.when(parameter("handlers") == "pool")
        .then(pl.lit("pool"))
        .when(parameter("queue") == "regular")
        .then(pl.lit("regular"))
        .otherwise(lock_free.otherwise(pl.lit("lock-free")))
    )
    means = _means(sweep, [pl.format("{}, {}", queue, parameter("store")).alias("way"), "threads"])
    known = pl.DataFrame(
        [(metric, *place) for metric, place in _TIMES.items()],
        schema=["metric", "place", "panel"],
        orient="row",
    )
    milliseconds = [pl.col(name) / 1e6 for name in ("value", "low", "high")]
    x = pl.col("threads").cast(pl.String).alias("x")
    return means.join(known, on="metric").with_columns(x, *milliseconds)


def _board(sweep: Sweep) -> pl.DataFrame:
    is_second = parameter("harness") == "long-lines"
    place = [
        pl.when(is_second).then(pl.lit("second harness")).otherwise(pl.lit("own harness")),
        parameter("implementation").replace_strict(_WAYS_OF_A_BOARD, return_dtype=pl.String),
        pl.format("{}, {}", parameter("posters"), parameter("readers")),
    ]
    names = ("place", "way", "x")
    means = _means(sweep, [it.alias(name) for it, name in zip(place, names, strict=True)])
    kind = pl.col("metric").replace_strict(_RATES, default=None, return_dtype=pl.String)
    return means.with_columns(kind.alias("panel")).drop_nulls("panel")
