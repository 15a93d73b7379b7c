"""The effect of pinning worker i of the pool to the i-th CPU, against workers that the kernel places.

Each pinned trial is compared with the free trial of its branch and replicate. The two ran the same
binary in the same round of the sweep, so the effects of a build and of a drifting host cancel.
Log-ratios are averaged within each build; the estimate is their mean over builds (`location`). If
each branch was built once, the sampling unit is the replicate, and the estimate holds only for that
build.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import special

from sweep_analysis.read.frames import PLACEMENTS
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import FREE, PANEL, PARALLEL, PINNED
from sweep_analysis.stats.compare import ALPHA, holm
from sweep_analysis.stats.location import locate, own_spread, pooled
from sweep_analysis.stats.units import LOG, trimmed_mean

WALL, CPU, WAIT = "wall time", "CPU time", "median latency"
QUANTITIES = (WALL, CPU, WAIT)
"""The quantities of the comparison, per unit of work. If a clock paces a program, its wall time does not depend on
where its workers run. Its latency does, from the request to the pool to the end of the work (`latency_p50`)."""

PLACE = [name for name in PANEL if name != "placement"]
"""Columns that each row holds constant."""


def placements(sweep: Sweep, times: pl.DataFrame) -> pl.DataFrame:
    """Compare pinned with free trials of all branches together, in each of `QUANTITIES`.

    In:  rows of `frames.TIMES`. Out: rows of `frames.PLACEMENTS`, by workload and thread count; none if
         the sweep lacks one placement. The ratio is the geometric mean of those of the branches.
    """
    pool = times.filter(pl.col("program") == PARALLEL)
    pairs = _pairs(sweep, pool) if pool["placement"].n_unique() > 1 else pl.DataFrame()
    if pairs.is_empty():
        return pl.DataFrame(schema=PLACEMENTS)
    return _rows(pairs).select(pl.col(name).cast(kind) for name, kind in PLACEMENTS.items())


def moved(placed: pl.DataFrame) -> pl.DataFrame:
    """The rows of `frames.PLACEMENTS` that pinning changes significantly."""
    return placed.filter("moved")


def _pairs(sweep: Sweep, times: pl.DataFrame) -> pl.DataFrame:
    """One row per quantity and pair: `units.LOG` of pinned over free, and the sampling `unit`.

    In: rows of `frames.TIMES` of the pool's program.
    """
    waits = sweep.metrics.filter(
        (pl.col("metric") == "latency_p50") & (pl.col("unit") == "ns")
    ).collect()
    trials = times.join(waits.select("trial", pl.col("value").alias(WAIT)), on="trial", how="left")
    key = [*PLACE, "threads", "branch", "replicate", "layout"]
    values = trials.select(
        *key,
        "placement",
        pl.col("ns_per_unit").alias(WALL),
        pl.col("cpu_ns_per_unit").alias(CPU),
        WAIT,
    ).unpivot(QUANTITIES, index=[*key, "placement"], variable_name="quantity", value_name="value")
    above = pl.col("value") > 0  # As in `units.has_ratio`: a zero leaves out its configuration.
    cell = ["quantity", "placement", *PLACE, "threads", "branch"]
    usable = values.filter(above.fill_null(value=False) & above.all().over(cell)).with_columns(
        pl.col("value").log().alias(LOG)
    )
    pinned, free = (
        usable.filter(placement=name).drop("placement", "value") for name in (PINNED, FREE)
    )
    unit = pl.col("layout") if times["layout"].n_unique() > 1 else pl.col("replicate")
    return (
        pinned.join(free, on=["quantity", *key], suffix="_free", nulls_equal=True)
        .with_columns((pl.col(LOG) - pl.col(f"{LOG}_free")).alias(LOG), unit.alias("unit"))
        .drop(f"{LOG}_free", "replicate", "layout")
    )


def _rows(pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows with columns of `frames.PLACEMENTS`, corrected over all rows."""
    row = ["quantity", *PLACE, "threads"]
    cell = [*row, "branch"]
    cells = pairs.group_by([*cell, "unit"]).agg(trimmed_mean(LOG), pl.len().alias("pairs"))
    cells = cells.with_columns(beside=pl.col(LOG) - pl.col(LOG).median().over(cell)).with_columns(
        build=_of_build("beside").over("quantity", "workload", "branch", "unit")
    )
    order = [pl.col("quantity").cast(pl.Enum(QUANTITIES)), *cell[1:], "unit"]
    rows = [
        dict(zip(row, key, strict=True)) | _told(part, cell)
        for key, part in cells.sort(order).group_by(row, maintain_order=True)
    ]
    found = pl.DataFrame(rows, infer_schema_length=None)
    p_values = found["p_value"].to_numpy()
    known = np.isfinite(p_values)
    corrected = np.full(found.height, np.nan)
    corrected[known] = holm(p_values[known])
    measured = ("ratio_low", "ratio_high", "p_value", "p_holm")
    return found.with_columns(
        p_holm=pl.Series(corrected), moved=pl.Series(corrected < ALPHA)
    ).with_columns(pl.col(name).fill_nan(None) for name in measured)


def _of_build(column: str) -> pl.Expr:
    """The shift of a build in all configurations of its program, as `units.of_builds`, as an aggregation."""
    ordered = pl.col(column).sort()
    low, high = ordered.get((pl.len() - 1) // 2), ordered.get(pl.len() // 2)
    nearer = pl.when(low.abs() < high.abs()).then(low).otherwise(high)
    return pl.when(low * high > 0).then(nearer).otherwise(0.0)


def _told(cells: pl.DataFrame, cell: list[str]) -> dict[str, object]:
    """The estimates of a row; NaN if absent. In: its values by configuration and unit."""
    values, builds = (
        cells.pivot("unit", index=cell, values=name).drop(cell).to_numpy().astype(np.float64)
        for name in (LOG, "build")
    )
    found = pooled(locate(values, builds))
    spread = own_spread(found)
    half = spread.half_width()
    p_value = 2 * special.stdtr(
        np.maximum(spread.degrees, 1), -np.abs(found.estimate / spread.error)
    )
    return {
        "cells": values.shape[0],
        "pairs": int(cells["pairs"].sum()),
        "units": int(found.units),
        "ratio": float(np.exp(found.estimate)),
        "ratio_low": float(np.exp(found.estimate - half)),
        "ratio_high": float(np.exp(found.estimate + half)),
        "p_value": float(p_value),
    }
