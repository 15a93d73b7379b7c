"""Describes the workloads behind a mean: the numbers of gains and losses, the median, and the largest contributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.labels import percent, with_panel, without_size
from sweep_analysis.say.comparison import detectable_of, same_branch
from sweep_analysis.stats.compare import FASTER, SLOWER, kind_of_cell

LARGEST = 4
"""Number of workloads that a text names: those whose log-ratios add most to the mean."""


def beside_the_mean(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """Describe the workloads that a row over all workloads averages: one clause for each fact; empty for other rows.

    In: `Decisions.comparisons`, and the row to describe.
    """
    parts = with_panel(same_branch(comparisons, row).filter(level="workload"))
    largest = _largest(parts) if row["level"] == "overall" else []
    return [*gained_and_lost(comparisons, row), *largest]


def gained_and_lost(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """Describe a row over all workloads by clauses: the counts, the median and the exclusions.

    A workload or configuration that is not tested counts as inconclusive. Empty if the row is over a single one.
    """
    if row["level"] not in ("overall", "threads"):
        return []
    is_overall = row["level"] == "overall"
    at = {"level": "workload"} if is_overall else {"level": "cell", "threads": row["threads"]}
    own = same_branch(comparisons, row).filter(**at)
    if own.height < 2:  # noqa: PLR2004 - one workload hides nothing
        return []
    verdicts = own["verdict"].to_list()
    faster, slower = verdicts.count(FASTER), verdicts.count(SLOWER)
    rest = f"{own.height - faster - slower} inconclusive{detectable_of(own)}"
    middle = float(np.exp(np.median(np.log(own["time_ratio"].to_numpy()))))
    counts = f"{faster} faster, {slower} slower, {rest}"
    return [counts, f"median {percent(middle)}", *_left_out(comparisons, row)]


def _left_out(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """A clause on the bimodal configurations that a row over all workloads excludes."""
    cells = same_branch(comparisons, row).filter(level="cell").with_columns(kind=kind_of_cell())
    cells = (
        cells.filter(pl.col("kind") == pl.col("kind").min())
        if row["threads"] is None
        else cells.filter(threads=row["threads"])
    )
    number = int(cells["is_bimodal"].sum())
    return [f"{number} of {cells.height} configurations are bimodal and left out"] if number else []


def _largest(parts: pl.DataFrame) -> list[str]:
    """A clause on the `LARGEST` workloads and their share of the mean; empty if there are no more workloads than that.

    In: the workloads' rows of one branch and quantity.
    """
    if parts.height <= LARGEST:
        return []
    logs = parts.with_columns(log=pl.col("time_ratio").log())
    total = float(logs["log"].sum())
    few = without_size(logs.sort("log", descending=total > 0)).head(LARGEST)
    names = ", ".join(f"`{name}`" for name in few["panel"])
    share = float(few["log"].sum()) / total if total else float("inf")
    makes = f"{100 * share:.0f} % of" if share < 1 else "all of"
    return [f"{names} make {makes} the mean"]
