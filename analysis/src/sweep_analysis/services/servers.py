"""The figures of the services, a key-value server and a message board, beside those of the studies they come from.

A trial tells its service times itself (`schema.METRICS`). A point is the mean of a metric over a
cell's trials, with a 95 % interval of Student's t: trials are independent processes.
"""

from __future__ import annotations

from importlib import resources

import polars as pl
from scipy import stats

from sweep_analysis.read.experiment import Experiment
from sweep_analysis.read.labels import HERE, PUBLISHED, parameter
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL

SERVICE_BY_THREADS = "service-by-threads"
"""Figure of a key-value server: times of a request and of a session by threads, a line for each queue and store."""

FORUM_GRID = "forum-grid"
"""Figure of a message board: requests a second by posters and readers, for each implementation."""

FIGURES = (SERVICE_BY_THREADS, FORUM_GRID)

MS_PER_NS = 1e-6

STATISTICS = {"mean": "mean", "p50": "median", "max": "max", "min": "min"}
"""Statistics that the study printed, by the ending of the metric's name."""

SIDES = {"service": "server", "session": "client"}
"""Whose time it is, by the beginning of the metric's name: the server's for a request, a client's for a session."""

PARTS = r"^service_part_(\d+)_max$"
"""Names of the longest service time in each part of a run; parts are by order of requests, with as many each."""

METHODS = {"service_get": "GET", "service_post": "POST", "service_delete": "DELETE"}
"""Methods, by the beginning of the name of their service times."""

KINDS = {
    "posts_per_second": "post",
    "reads_per_second": "read",
    "requests_per_thread_per_second": "per thread",
}
"""Kinds of requests to a board, by the name of the metric."""

LONG = ", long lines"
"""Ends the name of an implementation under our second harness."""

COMPARED = pl.DataFrame(
    [
        ("own", "pool", "threads"),
        ("own", "own, own harness", "reference, reference harness"),
        ("second", f"pool{LONG}", f"threads{LONG}"),
        ("second", "own, reference harness", "reference, reference harness"),
    ],
    schema=["harness", "way", "reference_way"],
    orient="row",
)
"""The reference of each implementation, of the study and of this project, by harness.

The study's second harness is that of the reference. Our second harness sends longer lines.
"""

COSTS = {
    "server_cpu_per_request": ("server CPU per request", 1e-3),
    "latency_p50": ("wait, median", 1e-3),
}
"""Costs of a service on a branch: title and factor to µs, by the metric's name."""

SERVICE_POINTS = pl.Schema(
    {
        "origin": pl.String,  # `HERE` or `PUBLISHED`
        "side": pl.String,  # `server`, `client`, `methods` of the server, or `order` of its requests
        "panel": pl.String,  # the statistic, the method, whose median it is, or the handlers
        "way": pl.String,  # queue and what guards the store
        "branch": pl.String,  # null where published
        "threads": pl.Int64,
        "request": pl.Int64,  # of side `order`: the last one of the part, whose longest is drawn; null elsewhere
        "value_ms": pl.Float64,
        "low_ms": pl.Float64,  # 95 % interval; null where published or with one trial
        "high_ms": pl.Float64,
        "trials": pl.Int64,
    }
)
"""One row per point of a key-value server's figure."""

FORUM_POINTS = pl.Schema(
    {
        "origin": pl.String,
        "kind": pl.String,
        "posters": pl.Int64,
        "readers": pl.Int64,
        "way": pl.String,  # implementation, and in the study the harness
        "branch": pl.String,
        "requests_per_second": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "difference_percent": pl.Float64,  # from the reference in the same place; null for the reference itself
        "trials": pl.Int64,
    }
)
"""One row per point of a board's figure."""


def points(sweep: Sweep | None, experiment: Experiment) -> pl.DataFrame:
    """The experiment's figure as numbers: rows of `SERVICE_POINTS` or of `FORUM_POINTS`.

    Numbers that `sweep` measured, and published ones; only the latter if there is no sweep.
    """
    measure = _forum if experiment.figure == FORUM_GRID else _service
    known = published(experiment)
    both = known if sweep is None else pl.concat([measure(sweep), known])
    if experiment.figure == FORUM_GRID:
        return _with_differences(both)
    return both.sort(["side", "origin", "panel", "way", "branch", "threads", "request"])


def lacking(points: pl.DataFrame, figure: str) -> list[str]:
    """Parts of a figure that the measured sweep lacks and a new one would have.

    In: the rows that `points` returns.
    """
    here = points.filter(pl.col("origin") == HERE)
    if here.is_empty() or figure not in FIGURES:
        return []
    ways = set(here["way"])
    if figure == FORUM_GRID:
        wanted = {"the second harness": any(way.endswith(LONG) for way in ways)}
    else:
        wanted = {
            "the lock-free queue with the global lock": any(
                way.startswith("lock-free") and way.endswith("global") for way in ways
            ),
            "service times by order of requests": "order" in set(here["side"]),
        }
    return [what for what, is_there in wanted.items() if not is_there]


def published(experiment: Experiment) -> pl.DataFrame:
    """The numbers that the study printed for an experiment."""
    is_forum = experiment.figure == FORUM_GRID
    file, schema = ("forum", FORUM_POINTS) if is_forum else ("key-value-server", SERVICE_POINTS)
    text = resources.files("sweep_analysis.services").joinpath(f"published/{file}.csv").read_bytes()
    frame = pl.read_csv(text).filter(pl.col("experiment") == experiment.name)
    if not is_forum:
        frame = frame.rename({"statistic": "panel"})
    missing = [
        pl.lit(None).alias(name) for name in schema if name not in [*frame.columns, "origin"]
    ]
    return (
        frame.with_columns(*missing, pl.lit(PUBLISHED).alias("origin"))
        .select(schema.names())
        .cast(schema)
    )


def costs_by_branch(sweep: Sweep) -> pl.DataFrame:
    """The cost and the wait of a request, by branch; the A/A control counts as a branch.

    Out: `workload`, `parameters`, `threads`, `quantity`, `branch`, `trials`; over trials, in µs,
        `median`, `least`, `most`.
    """
    titles = {metric: title for metric, (title, _) in COSTS.items()}
    factors = {metric: factor for metric, (_, factor) in COSTS.items()}
    micros = pl.col("value") * pl.col("metric").replace_strict(factors, return_dtype=pl.Float64)
    place = ["workload", "parameters", "threads", "quantity", "branch"]
    return (
        sweep.trials.filter(pl.col("program") == PARALLEL)
        .select("trial", "workload", "parameters", "threads", "branch")
        .join(sweep.metrics.filter(pl.col("metric").is_in(list(COSTS))), on="trial")
        .with_columns(
            pl.col("metric").replace_strict(titles).alias("quantity"), micros.alias("micros")
        )
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


def _means(sweep: Sweep, place: list[pl.Expr]) -> pl.DataFrame:
    """Mean and interval of each metric in each cell of the parallel program.

    Out: columns of `place`, `branch`, `metric`, `value`, `low`, `high`, `trials`.
    """
    cells = (
        sweep.trials.filter(pl.col("program") == PARALLEL)
        .select("trial", "branch", *place)
        .join(sweep.metrics, on="trial")
        .drop("trial", "unit")
    )
    keys = [name for name in cells.collect_schema().names() if name != "value"]
    value = pl.col("value")
    means = (
        cells.group_by(keys)
        .agg(value.mean(), value.std().alias("deviation"), pl.len().alias("trials"))
        .collect()
    )
    half = pl.struct("deviation", "trials").map_elements(
        lambda row: _half_interval(row["deviation"], row["trials"]), return_dtype=pl.Float64
    )
    return means.with_columns((value - half).alias("low"), (value + half).alias("high")).drop(
        "deviation"
    )


def _half_interval(deviation: float | None, trials: int) -> float | None:
    """Half the width of a 95 % interval of a mean; none from a single trial."""
    if deviation is None or trials < 2:  # noqa: PLR2004
        return None
    return float(stats.t.ppf(0.975, trials - 1) * deviation / trials**0.5)


def _service(sweep: Sweep) -> pl.DataFrame:
    nap = (
        pl.when(parameter("empty") == "sleep-250ms")
        .then(pl.lit(" sleeping 250 ms"))
        .otherwise(pl.lit(""))
    )
    queue = (
        pl.when(parameter("handlers") == "pool")
        .then(pl.lit("pool"))
        .when(parameter("queue") == "regular")
        .then(pl.lit("regular"))
        .otherwise(pl.concat_str(pl.lit("lock-free"), nap))
    )
    way = pl.concat_str(queue, pl.lit(", "), parameter("store")).alias("way")
    requests = (parameter("sessions").cast(pl.Int64) * parameter("requests").cast(pl.Int64)).alias(
        "requests"
    )
    parts = parameter("parts").cast(pl.Int64).alias("parts")
    means = _means(sweep, [way, pl.col("threads"), requests, parts])
    wanted = [
        {"metric": f"{beginning}_{ending}", "side": side, "panel": panel}
        for beginning, side in SIDES.items()
        for ending, panel in STATISTICS.items()
    ]
    wanted += [
        {"metric": f"{name}_p50", "side": "methods", "panel": method}
        for name, method in METHODS.items()
    ]
    part = pl.col("metric").str.extract(PARTS).cast(pl.Int64)
    order = means.filter(part.is_not_null()).with_columns(
        pl.lit("order").alias("side"),
        pl.format("{} handlers", "threads").alias("panel"),
        (part * pl.col("requests") // pl.col("parts")).alias("request"),
    )
    named = means.join(pl.DataFrame(wanted), on="metric").with_columns(
        pl.lit(None, pl.Int64).alias("request")
    )
    return (
        pl.concat([named, order.select(named.columns)])
        .with_columns(
            pl.lit(HERE).alias("origin"),
            (pl.col("value") * MS_PER_NS).alias("value_ms"),
            (pl.col("low") * MS_PER_NS).alias("low_ms"),
            (pl.col("high") * MS_PER_NS).alias("high_ms"),
        )
        .select(SERVICE_POINTS.names())
        .cast(SERVICE_POINTS)
    )


def _forum(sweep: Sweep) -> pl.DataFrame:
    harness = pl.when(parameter("harness") == "long-lines").then(pl.lit(LONG)).otherwise(pl.lit(""))
    place = [
        pl.concat_str(parameter("implementation"), harness).alias("way"),
        parameter("posters").cast(pl.Int64).alias("posters"),
        parameter("readers").cast(pl.Int64).alias("readers"),
    ]
    means = _means(sweep, place).with_columns(
        pl.col("metric").replace_strict(KINDS, default=None).alias("kind"),
        pl.lit(HERE).alias("origin"),
        pl.lit(None, pl.Float64).alias("difference_percent"),
    )
    return (
        means.filter(pl.col("kind").is_not_null())
        .rename({"value": "requests_per_second"})
        .select(FORUM_POINTS.names())
        .cast(FORUM_POINTS)
    )


def _with_differences(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill in `difference_percent` wherever the reference of a way stands in the same place."""
    place = ["origin", "kind", "posters", "readers", "branch"]
    references = frame.select(
        *place,
        pl.col("way").alias("reference_way"),
        pl.col("requests_per_second").alias("reference"),
    )
    rate = pl.col("requests_per_second")
    return (
        frame.join(COMPARED, on="way", how="left")
        .join(references, on=[*place, "reference_way"], how="left", nulls_equal=True)
        .with_columns((100 * (rate / pl.col("reference") - 1)).alias("difference_percent"))
        .select(FORUM_POINTS.names())
        .sort(["kind", "origin", "posters", "readers", "way", "branch"])
    )
