"""Cells of a simulated machine that are bimodal.

By the seed, one or the other, and nothing between.

A pool may settle into a storm of wake-ups or stay awake, and which of them is decided by chance and
by prices that are guesses. A median of such a cell stands for neither state, and a change of it for
nothing, so it is *not judged*, and counts nowhere.

The rule: sorted by size, the values of a cell have a gap such that those above are at least half as
much again as those below (`APART`), the gap is at least `CLEAR` times as wide as the wider of the
two groups, in logarithms, and each group has at least `SMALLEST` seeds. On made-up cells of seven
seeds, states that differ twofold with 5 % of noise are found in more than 99 of 100, and one state
of up to 20 % of noise, of whatever shape, is taken for two in less than 3 of 100.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from sweep_analysis.read.schema import CELL, PARALLEL
from sweep_analysis.stats.location import Floats

APART = 1.5
"""Upper state over lower one. Less is within what is called met of others' figures."""
CLEAR = 2.0
"""Width of the gap over that of the wider state."""
SMALLEST = 2
"""Seeds of a state: one far seed is an outlier."""


def two_states(logs: Floats, apart: float = APART) -> tuple[float, float] | None:
    """Medians of the lower and the upper state; None if there are not two.

    In: logarithms, one a seed.
    """
    values = np.sort(logs[np.isfinite(logs)])
    last = values.size - SMALLEST
    if last < SMALLEST:
        return None
    # What belongs to the lower state if it has so many seeds.
    gaps = values[SMALLEST : last + 1] - values[SMALLEST - 1 : last]
    lower = SMALLEST + int(np.argmax(gaps))
    below, above = values[:lower], values[lower:]
    gap = above[0] - below[-1]
    if gap < math.log(apart) or gap < CLEAR * max(np.ptp(below), np.ptp(above)):
        return None
    return float(np.median(below)), float(np.median(above))


def of_cells(
    times: pl.LazyFrame, column: str, key: list[str] | None = None, apart: float = APART
) -> pl.DataFrame:
    """The cells of the pool's program that are bimodal in `column`.

    In:  rows of `frames.TIMES` of a simulated sweep; a measured one has builds and moments, which
         are no seeds. `key` says what makes a cell, if not `schema.CELL`.
    Out: rows of that key with `low` and `high`, the medians of the states, in the unit of the
    column.
    """
    logs = times.filter(pl.col("program") == PARALLEL, pl.col(column) > 0).with_columns(
        log=pl.col(column).log()
    )
    cells = logs.group_by(key or CELL, maintain_order=True).agg("log").collect()
    found = [two_states(np.array(values, dtype=float), apart) for values in cells["log"].to_list()]
    states = pl.Series(
        "states",
        [None if it is None else {"low": it[0], "high": it[1]} for it in found],
        dtype=_STATES,
    )
    known = (
        cells.drop("log")
        .with_columns(states)
        .filter(pl.col("states").is_not_null())
        .unnest("states")
    )
    return known.with_columns(pl.col("low", "high").exp())


_STATES = pl.Struct({"low": pl.Float64, "high": pl.Float64})
