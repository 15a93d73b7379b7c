"""The sampling unit: link-order randomised builds (layouts).

Layouts of a branch differ only in where the linker put their functions.

All trials of one layout run the same binary. A lucky binary is lucky in each of them, so trials are
averaged, and every test, chart and interval rests on layouts. A sweep with one build of each branch
has one unit: its verdicts are `not tested`. Figures that describe such a sweep (speed-ups, costs)
take trials as units, and so hold for that build alone.
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
    """Logarithms, one a unit, of every branch in every cell set.

    Attributes:
        cells: a row per cell set: `schema.CELL_SET`, `oversubscribed`; sorted by key.
        branches: names, the second axis of `values`.
        values: cell sets by branches by units; NaN where nothing was measured.
        pairs: cell sets by branches: trials (or pairs of trials) that the values rest on.
    """

    cells: pl.DataFrame
    branches: list[str]
    values: Floats
    pairs: Floats


@dataclass(frozen=True)
class Numbered:
    """Logarithms whose cell sets are numbers, since the words of a cell set take most of the memory.

    Attributes:
        cells: as in `Units`.
        rows: `cell`, a place in `cells`, beside branch, layout, replicate and `log`.
    """

    cells: pl.DataFrame
    rows: pl.LazyFrame


def numbered(logs: pl.LazyFrame) -> Numbered:
    """Number the cell sets. In: rows of `frames.TIMES` with `log`."""
    found = logs.select(*CELL_SET, "branch", "layout", "replicate", "oversubscribed", LOG).collect()
    cells = found.group_by(CELL_SET).agg(pl.col("oversubscribed").any()).sort(CELL_SET)
    numbers = cells.lazy().select(CELL_SET).with_row_index("cell")
    rows = found.lazy().join(numbers, on=CELL_SET, nulls_equal=True)
    kept = rows.select("cell", "branch", "layout", "replicate", LOG).collect()
    return Numbered(cells, kept.lazy())


def trimmed_mean(column: str) -> pl.Expr:
    """The trimmed mean of `location.locate` as an aggregation; a plain mean of fewer than five."""
    cut = (pl.len() * TRIMMED).floor().cast(pl.Int64)
    return pl.col(column).sort().slice(cut, pl.len().cast(pl.Int64) - 2 * cut).mean()


def beside_cell(column: str) -> pl.Expr:
    """Log of a quantity less the median of its cell, the row's own value included."""
    return pl.col(column).log() - pl.col(column).log().median().over(CELL)


def has_ratio(column: str) -> pl.Expr:
    """Whether a trial has `column`, and no trial of its cell has a zero there.

    A zero has no logarithm. Without the trials that show it, the mean would be that of the long
    waits alone, so the whole cell has no ratio.
    """
    above = pl.col(column) > 0
    return above.fill_null(value=False) & above.all().over(CELL)


def log_ratios(times: pl.LazyFrame, baseline: str, column: str) -> pl.LazyFrame:
    """Every good trial of the pool's program beside the baseline's of its block.

    In:  rows of `frames.TIMES`. Out: their cell, branch, layout, replicate and block, with `log`,
         the log of the ratio of `column`. Left out are the baseline's own rows, rows without a
         partner, and cells with a zero (`has_ratio`).
    """
    kept = [*CELL_SET, "branch", "layout", "replicate", "block", "oversubscribed", column]
    usable = times.filter((pl.col("program") == PARALLEL) & has_ratio(column)).select(kept)
    base = usable.filter(pl.col("branch") == baseline).select(
        "block", pl.col(column).log().alias("base")
    )
    others = usable.filter(pl.col("branch") != baseline).join(base, on="block")
    return others.with_columns((pl.col(column).log() - pl.col("base")).alias(LOG)).drop(
        "base", column
    )


def by_layout(logs: Numbered) -> Units:
    """Average `log` within each layout of each cell."""
    return _table(logs, "layout")


def by_replicate(logs: Numbered) -> Units:
    """Average `log` within each replicate of each cell."""
    return _table(logs, "replicate")


def by_unit(times: pl.LazyFrame, column: str) -> Units:
    """Logs of `column` by layout; by replicate if no cell was built more than once.

    In: rows of `frames.TIMES`, of either program; null values are left out, and cells with a zero.
    """
    logs = times.filter(has_ratio(column)).with_columns(pl.col(column).log().alias(LOG))
    builds = logs.select(pl.col("layout").n_unique()).collect().item()
    return _table(numbered(logs), "layout" if builds > 1 else "replicate")


def of_builds(units: Units) -> Floats:
    """How far each build is from the median build of its cell, in all cells of its program alike.

    In: logarithms by layout. Out: a value for each of theirs, the same in all cells of a program.

    The median over the cells: a trial that met another program moves one of them. Of an even number
    the two middle ones must agree in sign, and the nearer to zero counts; so of two cells both must
    show it.
    """
    shared = np.zeros_like(units.values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of cells that a branch does not have
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


def _table(logs: Numbered, unit_column: str) -> Units:
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
