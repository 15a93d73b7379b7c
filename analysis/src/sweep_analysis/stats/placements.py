"""Computes the effect of pinning worker i of the pool to the i-th CPU, against workers that the kernel places.

Each pinned trial is compared with the free trial of its branch and replicate. The two trials ran the same
binary in the same round of the sweep, so the effects of a build and of a drifting host cancel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.frames import PLACEMENTS
from sweep_analysis.read.schema import CELL, FREE, PARALLEL, PINNED, PLACE
from sweep_analysis.stats.compare import ALPHA, holm
from sweep_analysis.stats.location import locate, own_spread, pooled
from sweep_analysis.stats.units import LOG, logs_of, of_builds, sampled

QUANTITIES = {
    "wall time": "ns_per_unit",
    "CPU time": "cpu_ns_per_unit",
    "median latency": "p50_ns",
}
"""The quantities of the comparison, and their columns in `frames.TIMES`."""


def placements(times: pl.DataFrame) -> pl.DataFrame:
    """Compare pinned with free trials of all branches together, in each of `QUANTITIES`.

    In:  rows of `frames.TIMES`. Out: rows of `frames.PLACEMENTS`, by workload and thread count; no row if
         the sweep lacks one placement. The ratio is the geometric mean of the branches' ratios.
    """
    pool = times.filter(pl.col("program") == PARALLEL)
    if pool["placement"].n_unique() < 2:  # noqa: PLR2004 - free and pinned
        return pl.DataFrame(schema=PLACEMENTS)
    rows = [row for name in QUANTITIES for row in _rows(pool.lazy(), name)]
    found = pl.DataFrame(rows, schema=PLACEMENTS)
    known = found["p_value"].is_not_nan().to_numpy()
    corrected = np.full(found.height, np.nan)
    corrected[known] = holm(found["p_value"].to_numpy()[known])
    return found.with_columns(
        p_holm=pl.Series(corrected, dtype=pl.Float64),
        moved=pl.Series(corrected < ALPHA, dtype=pl.Boolean),
    ).with_columns(pl.col("ratio_low", "ratio_high", "p_value", "p_holm").fill_nan(None))


def _rows(pool: pl.LazyFrame, quantity: str) -> list[dict[str, Any]]:
    """Compute the rows of one quantity, with uncorrected p-values."""
    logs = logs_of(pool, QUANTITIES[quantity])
    same = [name for name in (*CELL, "replicate", "layout") if name != "placement"]
    free = logs.filter(pl.col("placement") == FREE).select(*same, free=LOG)
    pairs = (
        logs.filter(pl.col("placement") == PINNED)
        .join(free, on=same, nulls_equal=True)
        .with_columns(pl.col(LOG) - pl.col("free"))
    )
    units = sampled(pairs)
    cells = locate(units.values, of_builds(units))
    rows = []
    for at, place in enumerate(units.cells.select(PLACE).rows(named=True)):
        has = np.flatnonzero(cells.units[at])
        found = pooled(cells.at((at, has)))
        spread = own_spread(found)
        half = spread.half_width()
        rows.append(
            {name: place[name] for name in PLACE if name != "placement"}
            | {
                "quantity": quantity,
                "cells": has.size,
                "pairs": int(units.pairs[at].sum()),
                "units": int(found.units),
                "ratio": float(np.exp(found.estimate)),
                "ratio_low": float(np.exp(found.estimate - half)),
                "ratio_high": float(np.exp(found.estimate + half)),
                "p_value": float(spread.p_values(found.estimate)),
            }
        )
    return rows
