"""Writes the generated result that lists times or latencies of many configurations by threads."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import (
    QUANTITY_NAMES,
    capital,
    with_panel,
    without_size,
)
from sweep_analysis.read.schema import PARALLEL, POOL_CELL, WORDS
from sweep_analysis.report.statement import Statement
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.latency import KINDS, trial_waits
from sweep_analysis.stats.states import of_cells


def named(words: list[str]) -> tuple[list[str], list[str]]:
    """Split words into the branches that they name and the workloads that they exclude."""
    return [word for word in words if not word.startswith("-")], [
        word[1:] for word in words if word.startswith("-")
    ]


SHORT_US = 100
"""If all latencies of a table are below this limit, the table shows tenths."""


def _by_threads(asked: Statement) -> str:
    """Write medians in µs: a row for each workload and branch, a column for each thread count.

    A configuration whose builds have two modes shows the medians of both modes.

    Words: `time`, or KIND/QUANTILE of a latency; the branches; `-WORKLOAD` or `-WORKLOAD,PARAMETERS`
    to exclude a workload. Sweeps of one machine share the table.
    """
    what, *rest = asked.words
    branches, left_out = named(rest)
    trials = without_size(
        with_panel(pl.concat([_trials(analysis, what) for analysis in asked.sweeps]))
    ).filter(pl.col("branch").is_in(branches), ~pl.any_horizontal(_NAMES.is_in(left_out)))
    if trials.is_empty():
        raise asked.refused(
            "no trial has these data",
            "name `time` or KIND/QUANTILE, and branches of the sweep",
        )
    medians = trials.group_by(_ROW).agg(us=pl.col("us").median())
    digits = int(
        what not in QUANTITY_NAMES and medians.select(pl.col("us").max()).item() < SHORT_US
    )
    rows = medians.with_columns(pl.col("us").round(digits).cast(pl.Float64 if digits else pl.Int64))
    in_states, modes = _with_states(rows, trials, digits)
    wide = (
        in_states.with_columns(pl.col("branch").cast(pl.Enum(branches)))
        .sort(_ROW)
        .pivot("threads", index=["panel", "branch"], values="us", maintain_order=True)
    )
    threads = [str(number) for number in sorted(trials["threads"].unique())]
    shown = wide.select(
        pl.col("panel").alias("workload"), pl.col("branch").cast(pl.String), *threads
    )
    kind, _, quantile = what.partition("/")
    name = QUANTITY_NAMES.get(what) or f"latency {KINDS.get(kind, kind)}, {quantile},"
    table = asked.table(shown, f"{name} by threads of {' and '.join(branches)}")
    return f"{capital(name)} in µs by threads, medians{modes} {asked.source()}:\n\n{table}"


_ROW = ["panel", "branch", "threads"]
_NAMES = pl.col("workload", "panel").str.replace_all(" ", "")


def _trials(analysis: Analysis, what: str) -> pl.DataFrame:
    """Good parallel trials, with `us`: the quantity of the table in µs."""
    if what == "time":
        told = analysis.times.filter(program=PARALLEL).with_columns(us=pl.col("elapsed_ns") / 1e3)
    else:
        kind, _, quantile = what.partition("/")
        told = (
            trial_waits(analysis.sweep)
            .filter(kind=kind, quantile=quantile)
            .with_columns(us="wait_us")
            .collect()
        )
    layouts = analysis.times.select("trial", "layout")
    return (
        told.select(*POOL_CELL, "program", "trial", "us")
        .join(layouts, on="trial")
        .drop("trial")
        .with_columns(WORDS)
    )


def _with_states(rows: pl.DataFrame, trials: pl.DataFrame, digits: int) -> tuple[pl.DataFrame, str]:
    """Add both medians to those of `rows` whose builds have two modes; also returns a clause on the modes.

    In: trials with `us`.
    """
    by_build = trials.group_by([*_ROW, "program", "layout"], maintain_order=True)
    states = of_cells(by_build.agg(pl.col("us").median()).lazy(), "us", _ROW)
    ends = pl.col("low", "high").round(digits).cast(pl.Float64 if digits else pl.Int64)
    either = pl.concat_str(ends.cast(pl.String), separator=" or ")
    differ = states.filter(pl.col("low").round(digits) != pl.col("high").round(digits))
    if differ.is_empty():
        return rows, ""
    joined = rows.join(differ.select(*_ROW, either=either), on=_ROW, how="left")
    both = joined.select(*_ROW, us=pl.coalesce("either", pl.col("us").cast(pl.String)))
    return both, "; both modes where builds have two"


TABLES: dict[str, Callable[[Statement], str]] = {"by-threads": _by_threads}
