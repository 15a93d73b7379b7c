"""Resamples trials block by block: the one place where intervals come from.

Trials of one block ran close in time, so a block is kept or left out as a whole: all branches of a cell set
share one draw of blocks. Iterations inside a trial never count as replicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.schema import CELL_SET

Floats: TypeAlias = npt.NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 2000
"""Enough for the 2.5 % tails to be steady to a few per cent of the interval's width."""
SEED = 2022
"""Seed of all resampling, so that the same trials give the same report."""


@dataclass(frozen=True)
class CellSet:
    """The trials of cells that differ only in branch, as a table of branches by blocks.

    Attributes:
        key: values of `schema.CELL_SET`.
        oversubscribed: whether threads exceed CPUs.
        branches: row names of `times`.
        blocks: numbers of the blocks, the columns of `times`.
        replicates: number of each block's trials within their cells.
        times: wall time per unit of work in ns, NaN where a trial failed or is missing.
        cpu_times: CPU time per unit of work in ns, likewise.
        elapsed: wall time per iteration in ns, likewise.
    """

    key: dict[str, Any]
    oversubscribed: bool
    branches: list[str]
    blocks: Floats
    replicates: Floats
    times: Floats
    cpu_times: Floats
    elapsed: Floats

    def row(self, branch: str) -> int | None:
        """Row of `branch` in `times`, or None if it has no good trial here."""
        return self.branches.index(branch) if branch in self.branches else None


def cell_sets(times: pl.LazyFrame) -> list[CellSet]:
    """Gather rows of `frames.TIMES` into one table per cell set, in the order of their keys."""
    frame = times.sort([*CELL_SET, "branch", "block"]).collect()
    sets = []
    for part in frame.partition_by(CELL_SET, maintain_order=True):
        branches = part["branch"].unique(maintain_order=True).to_list()
        rows = part["branch"].replace_strict({name: row for row, name in enumerate(branches)}).to_numpy()
        columns = part["block"].rank("dense").to_numpy().astype(int) - 1
        visits = part.select("block", "replicate").unique("block").sort("block")
        blocks, replicates = (visits[name].to_numpy().astype(float) for name in ("block", "replicate"))
        tables = []
        for column in ("ns_per_unit", "cpu_ns_per_unit", "elapsed_ns"):
            table = np.full((len(branches), blocks.size), np.nan)
            table[rows, columns] = part[column].to_numpy()
            tables.append(table)
        key = part.select(CELL_SET).row(0, named=True)
        sets.append(CellSet(key, bool(part["oversubscribed"].any()), branches, blocks, replicates, *tables))
    return sets


def resampled_medians(values: Floats, rng: np.random.Generator) -> Floats:
    """Medians of each row of `values` over blocks drawn with replacement.

    In:  rows by blocks, NaN where nothing was measured.
    Out: rows by `RESAMPLES`; all rows share their draws. NaN where a draw met only missing trials.
    """
    blocks = values.shape[1]
    drawn: Floats = values[:, rng.integers(0, blocks, (RESAMPLES, blocks))]
    return _medians(drawn)


def percentile_interval(resampled: Floats, pairs: int | None = None) -> tuple[float, float]:
    """95 % interval from a resampled statistic; NaN if there is nothing to resample.

    With `pairs`, the percentiles move outwards as a t distribution with as many degrees of freedom asks for
    (Hesterberg 2015, section 4.1): plain percentiles of one small sample are too narrow.
    """
    known = resampled[np.isfinite(resampled)]
    if known.size == 0:
        return np.nan, np.nan
    tail = (1 - CONFIDENCE) / 2
    if pairs is not None and pairs > 1:
        wider = np.sqrt(pairs / (pairs - 1)) * special.stdtrit(pairs - 1, tail)
        tail = float(special.ndtr(wider))
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def _medians(values: Floats) -> Floats:
    """Medians over the last axis, NaN left out; NaN where all are."""
    ordered = np.sort(values, axis=-1)  # NaN last
    counts = np.isfinite(ordered).sum(axis=-1)
    upper = np.minimum(counts // 2, np.maximum(counts - 1, 0))
    lower = np.maximum((counts - 1) // 2, 0)
    pick = np.stack([lower, upper], axis=-1)
    medians: Floats = np.take_along_axis(ordered, pick, axis=-1).mean(axis=-1)
    return medians


def medians(values: Floats) -> Floats:
    """Median of each row of `values`, NaN left out; NaN for a row without values."""
    return _medians(values)
