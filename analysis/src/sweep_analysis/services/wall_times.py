"""Wall time per run by one parameter, measured and published.

The tables of the study of user-level threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import polars as pl

from sweep_analysis.read.labels import HERE, PUBLISHED, parameter
from sweep_analysis.read.schema import PARALLEL, WORDS
from sweep_analysis.stats.location import described
from sweep_analysis.stats.units import by_unit, of_builds

WALL_POINTS = pl.Schema(
    {
        "origin": pl.String,  # `HERE` or `PUBLISHED`
        "branch": pl.String,  # null where published
        "place": pl.String,  # what a chart holds constant
        "panel": pl.String,  # what a panel of it holds constant
        "way": pl.String,  # what a line stands for
        "x": pl.Int64,  # value of the parameter that varies along the horizontal axis
        "wall_ms": pl.Float64,  # of a whole run, see `location`
        "low": pl.Float64,  # 95 % interval; null where published
        "high": pl.Float64,
        "cpu_ms": pl.Float64,  # of the process, median over trials; null where published
        "trials": pl.Int64,
    }
)
"""One row per cell, and one per printed number."""


@dataclass(frozen=True)
class Axes:
    """The axis and the grouping of a figure.

    Attributes:
        parameter: the parameter along the horizontal axis.
        title: the title of that axis.
        place: from parameters, the value that one chart holds constant.
        panel: from parameters, the value that one of its panels holds constant.
        way: from parameters, the name of a line.
    """

    parameter: str
    title: str
    place: pl.Expr
    panel: pl.Expr
    way: pl.Expr


def _contenders() -> pl.Expr:
    on = pl.col("on")
    cpus = pl.when(pl.col("cpus") == "0").then(pl.lit("all")).otherwise(pl.col("cpus"))
    return (
        pl.when(on == "os-threads")
        .then(pl.format("OS threads, CPUs: {}", cpus))
        .when(on == "user-threads")
        .then(pl.lit("user-level threads on one OS thread"))
        .otherwise(pl.format("jobs on a pool of {}", pl.col("threads")))
    )


def _transfers() -> pl.Expr:
    verb = (
        pl.when(pl.col("operation") == "read")
        .then(pl.lit("reads from the "))
        .otherwise(pl.lit("writes to the "))
    )
    return pl.concat_str(verb, pl.col("reaches"))


def _io() -> pl.Expr:
    is_plain = (pl.col("io") != "asynchronous") | (pl.col("backend") == "auto")
    return (
        pl.when(is_plain)
        .then(pl.col("io"))
        .otherwise(pl.concat_str(pl.col("io"), pl.lit(", "), pl.col("backend")))
    )


_TASKS = pl.format("{} tasks, {} transfers each", pl.col("tasks"), pl.col("operations"))

AXES: dict[str, Axes] = {
    "wall-by-section": Axes(
        "section-steps",
        "steps in the critical section",
        _contenders(),
        pl.format("{} contenders", pl.col("contenders")),
        pl.col("lock"),
    ),
    "wall-by-bytes": Axes("bytes", "bytes in a transfer", _transfers(), _TASKS, _io()),
    "wall-by-compute": Axes(
        "compute-steps", "steps after each transfer", _transfers(), _TASKS, _io()
    ),
}
"""By the figure's name in `experiments.toml`."""

_USED = {
    "wall-by-section": ["on", "cpus", "contenders", "lock"],
    "wall-by-bytes": ["operation", "reaches", "tasks", "operations", "io", "backend"],
    "wall-by-compute": ["operation", "reaches", "tasks", "operations", "io", "backend"],
}


def points(times: pl.DataFrame, experiment: str, figure: str) -> pl.DataFrame:
    """The figure as numbers, measured and published.

    In:  rows of `frames.TIMES`.
    Out: rows of `WALL_POINTS`; none for the sequential program.
    """
    return pl.concat([_measured(times, figure), published(experiment, figure)]).sort(
        ["origin", "place", "panel", "way", "branch", "x"]
    )


def published(experiment: str, figure: str) -> pl.DataFrame:
    """The numbers that the study printed for an experiment: rows of `WALL_POINTS`."""
    file = resources.files("sweep_analysis.services").joinpath("published/user-threads.csv")
    frame = pl.read_csv(file.read_bytes(), infer_schema=False).filter(
        pl.col("experiment") == experiment
    )
    named = _named(frame, figure, pl.col)
    return named.select(
        pl.lit(PUBLISHED).alias("origin"),
        pl.lit(None).alias("branch"),
        "place",
        "panel",
        "way",
        "x",
        "wall_ms",
        *(pl.lit(None).alias(name) for name in ("low", "high", "cpu_ms", "trials")),
    ).cast(WALL_POINTS)


def _named(frame: pl.DataFrame, figure: str, value: Callable[[str], pl.Expr]) -> pl.DataFrame:
    """Add `place`, `panel`, `way` and `x`; `value` gives the parameter of that name."""
    axes = AXES[figure]
    used = [value(name).alias(name) for name in [*_USED[figure], axes.parameter]]
    return frame.with_columns(used).with_columns(
        axes.place.alias("place"),
        axes.panel.alias("panel"),
        axes.way.alias("way"),
        pl.col(axes.parameter).cast(pl.Int64).alias("x"),
    )


def _measured(times: pl.DataFrame, figure: str) -> pl.DataFrame:
    own = times.filter(pl.col("program") == PARALLEL).with_columns(
        cpu_ns=pl.col("cpu_ns_per_unit") * pl.col("elapsed_ns") / pl.col("ns_per_unit")
    )
    if own.is_empty():
        return pl.DataFrame(schema=WALL_POINTS)
    wall = by_unit(own.lazy(), "elapsed_ns")
    middle, low, high = described(wall.values, of_builds(wall))
    cpu = own.group_by("parameters", "threads", "branch").agg(
        cpu_ms=pl.col("cpu_ns").median() / 1e6
    )
    rows = [
        {
            "origin": HERE,
            "branch": branch,
            "parameters": key["parameters"],
            "threads": key["threads"],
            "wall_ms": middle[at, row] / 1e6,
            "low": low[at, row] / 1e6,
            "high": high[at, row] / 1e6,
            "trials": wall.pairs[at, row],
        }
        for at, key in enumerate(wall.cells.rows(named=True))
        for row, branch in enumerate(wall.branches)
        if wall.pairs[at, row]
    ]
    frame = pl.DataFrame(rows).join(cpu.with_columns(WORDS), on=["parameters", "threads", "branch"])
    known = frame.with_columns(
        pl.col("threads").cast(pl.String), *(pl.col(it).fill_nan(None) for it in ("low", "high"))
    )
    return _named(known, figure, parameter).select(WALL_POINTS.names()).cast(WALL_POINTS)
