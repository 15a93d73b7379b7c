"""Cells of a simulated machine that are bimodal.

Each seed of such a cell is in one mode or the other, and none is between.

A pool may settle into a storm of wake-ups or stay awake. Chance decides which, and so do cost
parameters that are guesses. The median of such a cell describes neither mode, and its change means
nothing. So the cell is *not tested*, and counts nowhere.

The rule: sorted by size, the values of a cell have a gap. Those above are at least 1.5 times those
below (`APART`). The gap is at least `CLEAR` times as wide as the wider of the two groups, in
logarithms. Each group has at least `SMALLEST` seeds. On synthetic cells of seven seeds, modes that
differ twofold with 5 % of noise are found in more than 99 of 100. One mode with up to 20 % of noise,
of any shape, is taken for two in less than 3 of 100.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from sweep_analysis.read.schema import CELL, PARALLEL
from sweep_analysis.stats.location import Floats

APART = 1.5
"""Least ratio of the upper mode to the lower one. It is the factor within which published figures count as met."""
CLEAR = 2.0
"""Least ratio of the width of the gap to that of the wider mode, in logarithms."""
SMALLEST = 2
"""Fewest seeds of a mode: one far seed is an outlier."""


def two_states(logs: Floats, apart: float = APART) -> tuple[float, float] | None:
    """Medians of the lower and the upper mode; None if there are not two.

    In: logarithms, one a seed.
    """
    values = np.sort(logs[np.isfinite(logs)])
    last = values.size - SMALLEST
    if last < SMALLEST:
        return None
    # Gaps above each value at which the lower mode may end: both modes keep `SMALLEST` seeds.
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
    Out: rows of that key with `low` and `high`, the medians of the modes, in the unit of the
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
