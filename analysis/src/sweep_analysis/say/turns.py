"""Writes the table of benchmarks that alternated between builds, with paired intervals and the decision rule of sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.labels import percent
from sweep_analysis.read.schema import TWIN_SUFFIX
from sweep_analysis.say.columns import Column, Look, table
from sweep_analysis.say.comparison import detectable, interval
from sweep_analysis.say.user_program import SIGNIFICANT
from sweep_analysis.stats.compare import (
    FASTER,
    QUANTITIES,
    SLOWER,
    UNCLEAR,
    UNTESTED,
    decide,
)
from sweep_analysis.stats.location import FEWEST_UNITS

_SPREAD = "min / median / max"


def turns_table(times: pl.DataFrame, look: Look) -> str:
    """Write a row for each benchmark and build. In: rows of `frames.TIMES` with a baseline and its A/A control."""
    baseline = next(
        name.removesuffix(TWIN_SUFFIX)
        for name in times["branch"].unique()
        if name.endswith(TWIN_SUFFIX)
    )
    tested = decide(times.lazy(), baseline, ("time",)).filter(
        ~pl.col("branch").str.ends_with(TWIN_SUFFIX), level="cell"
    )
    order = times["workload"].unique(maintain_order=True).to_list()
    rows = sorted(tested.rows(named=True), key=lambda row: order.index(row["workload"]))
    columns = [
        Column("benchmark", is_number=False),
        *(Column(f"{name}, ms: {_SPREAD}") for name in (baseline, *tested["branch"].unique())),
        Column("change"),
        Column("95 % interval"),
        Column("noise floor"),
        Column("result", is_number=False),
    ]
    return table(columns, [_row(row, times, baseline) for row in rows], look, set())


def _row(row: dict[str, Any], times: pl.DataFrame, baseline: str) -> list[str]:
    own = times.filter(workload=row["workload"])
    return [
        row["workload"],
        *(_spread(own.filter(branch=name)) for name in (baseline, row["branch"])),
        percent(row["time_ratio"]),
        interval(row) or "unknown",
        f"±{percent(row['band'])[1:]}" if row["band"] else "unknown",
        _result(row),
    ]


def _spread(runs: pl.DataFrame) -> str:
    taken = (runs[QUANTITIES["time"]] / 1e6).to_numpy()
    return " / ".join(f"{it(taken):.1f}" for it in (np.min, np.median, np.max))


def _result(row: dict[str, Any]) -> str:
    if row["verdict"] == UNTESTED and row["units"] < FEWEST_UNITS:
        return f"{UNTESTED}: {row['units']} rounds are fewer than {FEWEST_UNITS}"
    could = detectable(row)
    if row["verdict"] in (FASTER, SLOWER):
        return SIGNIFICANT
    return f"{UNCLEAR}; {could}" if row["verdict"] == UNCLEAR and could else str(row["verdict"])
