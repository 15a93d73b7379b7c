"""Averages trials to sampling units: builds that differ only in link order, which the records call layouts.

All trials of one build run the same binary, so these trials are averaged, and the sample size of every
test, chart and interval is the number of builds. A sweep with one build of each branch is `not tested`;
the units of its speed-ups and costs are replicates, so these results hold only for that build.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import polars as pl

from sweep_analysis.read.schema import CELL, CELL_SET, PARALLEL
from sweep_analysis.stats.location import TRIMMED, Floats

LOG = "log"
"""Column of the logarithms that are averaged."""


@dataclass(frozen=True)
class Units:
    """Logarithms, one per unit, of every branch in every set of configurations that differ only in branch.

    Attributes:
        cells: a row per set of configurations: `schema.CELL_SET`, `oversubscribed`; sorted by key.
        branches: names of the branches, the second axis of `values`.
        values: the logarithms: sets by branches by units; NaN for a missing measurement.
        pairs: sets by branches: number of trials, or of pairs of trials.
    """

    cells: pl.DataFrame
    branches: list[str]
    values: Floats
    pairs: Floats


@dataclass(frozen=True)
class Numbered:
    """Logarithms with a number instead of each configuration's columns, which would take most of the memory.

    Attributes:
        cells: the configurations, as in `Units`.
        rows: a row per logarithm: `cell` (an index of `cells`), branch, layout, replicate and `log`.
    """

    cells: pl.DataFrame
    rows: pl.LazyFrame


def numbered(logs: pl.LazyFrame) -> Numbered:
    """Number the configurations. In: rows of `frames.TIMES` with `log`."""
    found = logs.select(*CELL_SET, "branch", "layout", "replicate", "oversubscribed", LOG).collect()
    cells = found.group_by(CELL_SET).agg(pl.col("oversubscribed").any()).sort(CELL_SET)
    numbers = cells.lazy().select(CELL_SET).with_row_index("cell")
    rows = found.lazy().join(numbers, on=CELL_SET, nulls_equal=True)
    kept = rows.select("cell", "branch", "layout", "replicate", LOG).collect()
    return Numbered(cells, kept.lazy())


def trimmed_mean(column: str) -> pl.Expr:
    """The trimmed mean of `location.locate` as an aggregation of Polars."""
    cut = (pl.len() * TRIMMED).floor().cast(pl.Int64)
    return pl.col(column).sort().slice(cut, pl.len().cast(pl.Int64) - 2 * cut).mean()


def beside_cell(column: str) -> pl.Expr:
    """Log of a quantity minus the median of its configuration, which includes the row's own value."""
    return pl.col(column).log() - pl.col(column).log().median().over(CELL)


def has_ratio(column: str) -> pl.Expr:
    """Whether a trial has `column`, and no trial of its configuration has a zero in that column.

    A zero has no logarithm, and a mean without the zero trials would cover only the long latencies.
    """
    above = pl.col(column) > 0
    return above.fill_null(value=False) & above.all().over(CELL)


def log_ratios(times: pl.LazyFrame, baseline: str, column: str) -> pl.LazyFrame:
    """Compute the log-ratio of every good parallel trial to the baseline's trial of the same block.

    In:  rows of `frames.TIMES`. Out: these rows, with `log` of the ratio of `column`, without rows of the
         baseline, and without rows that have no partner or no ratio (`has_ratio`).
    """
    logs = logs_of(times.filter(pl.col("program") == PARALLEL), column)
    base = logs.filter(pl.col("branch") == baseline).select("block", base=LOG)
    others = logs.filter(pl.col("branch") != baseline).join(base, on="block")
    return others.with_columns(pl.col(LOG) - pl.col("base"))


def by_unit(times: pl.LazyFrame, column: str) -> Units:
    """Logs of `column` by build, or by replicate if each branch was built once. In: rows of `frames.TIMES`."""
    return sampled(logs_of(times, column))


def logs_of(times: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """Rows of `frames.TIMES` with `log`, the log of `column`; rows without a log are excluded (`has_ratio`)."""
    return times.filter(has_ratio(column)).with_columns(pl.col(column).log().alias(LOG))


def sampled(logs: pl.LazyFrame) -> Units:
    """Average `log` within each build of each configuration, or within each replicate if each branch was built once."""
    builds = logs.select(pl.col("layout").n_unique()).collect().item()
    return averaged(numbered(logs), "layout" if builds > 1 else "replicate")


def of_builds(units: Units) -> Floats:
    """Estimate the shift of each build from the median build, which all configurations of its program share.

    Out: an array with the shape of `units.values`, and equal values in all configurations of a program. The
    shift is the median over the configurations, because a disturbed trial changes only one configuration. If
    the number of configurations is even, the shift is that of the two middle values which is nearer to zero,
    or zero if these two values have opposite signs.
    """
    shared = np.zeros_like(units.values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for branches without a configuration
        beside = units.values - np.nanmedian(units.values, axis=2, keepdims=True)
    programs = units.cells.select(pl.struct("program", "workload").rank("dense")).to_series()
    for program in programs.unique():
        rows = (programs == program).to_numpy()
        ordered = np.sort(beside[rows], axis=0)  # NaN last
        number = np.isfinite(ordered).sum(axis=0)
        low, high = (
            np.take_along_axis(ordered, np.maximum(at, 0)[None], axis=0)[0]
            for at in ((number - 1) // 2, number // 2)
        )
        nearer = np.where(np.abs(low) < np.abs(high), low, high)
        shared[rows] = np.where((number > 0) & (low * high > 0), nearer, 0.0)
    return shared


def averaged(logs: Numbered, unit_column: str) -> Units:
    """Average `log` within each value of `unit_column` (`layout` or `replicate`) of each configuration."""
    cells = logs.cells
    placed = (
        logs.rows.group_by("cell", "branch", pl.col(unit_column).fill_null(0).alias("unit"))
        .agg(trimmed_mean(LOG), pl.len().alias("pairs"))
        .collect()
    )
    names = placed["branch"].to_list()
    branches = sorted(set(names))
    place = {name: at for at, name in enumerate(branches)}
    where = placed["cell"].to_numpy().astype(int)
    which = np.array([place[name] for name in names], dtype=int)
    unit = np.unique(placed["unit"].to_numpy(), return_inverse=True)[1]
    values = np.full((cells.height, len(branches), int(unit.max(initial=-1)) + 1), np.nan)
    values[where, which, unit] = placed[LOG].to_numpy()
    pairs = np.zeros(values.shape[:2])
    np.add.at(pairs, (where, which), placed["pairs"].to_numpy())
    return Units(cells, branches, values, pairs)
