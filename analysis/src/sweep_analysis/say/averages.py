"""Describes the workloads behind a mean: the median, the numbers of gains and losses, and the largest shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.labels import percent, ranges, with_panel, without_size
from sweep_analysis.read.schema import PANEL
from sweep_analysis.say.comparison import detectable_of
from sweep_analysis.stats.compare import FASTER, SLOWER, kind_of_cell

LARGEST = 4
"""Number of workloads that a text names as the largest shares of a mean."""


def beside_the_mean(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """The parts behind a pooled row of `frames.COMPARISONS`, a part of a sentence each.

    Empty for a row of level `cell`.

    In: all rows of the decisions, and one of them.
    """
    return [*gained_and_lost(comparisons, row), *rest_of_the_mean(comparisons, row)]


def rest_of_the_mean(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """The largest shares of the mean, and the change at each thread count; a part of a sentence each."""
    own = comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    )
    if row["level"] == "overall":
        parts = with_panel(own.filter(level="workload")).sort("time_ratio")
        return [*_largest(parts), *_by_threads(own.filter(level="threads"))]
    if row["level"] == "workload":
        here = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in PANEL)
        return _by_threads(own.filter(here, pl.col("level") == "cell"))
    return []


@dataclass(frozen=True)
class Parts:
    """The configurations behind a mean: how many of them differ, and the median ratio.

    A configuration that is not tested counts as inconclusive.
    """

    faster: int
    slower: int
    inconclusive: int
    median: float
    detectable: str
    """The detectable change of the inconclusive configurations, in brackets."""

    def __str__(self) -> str:
        """The numbers of faster, slower and inconclusive configurations, and the detectable change."""
        return (
            f"{self.faster} faster, {self.slower} slower, {self.inconclusive} inconclusive"
            f"{self.detectable}"
        )


def parts_of(comparisons: pl.DataFrame, row: dict[str, Any]) -> Parts | None:
    """The parts of a row over all workloads; None if the row is over a single workload."""
    own = comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    )
    if row["level"] not in ("overall", "threads"):
        return None
    is_overall = row["level"] == "overall"
    at = {"level": "workload"} if is_overall else {"level": "cell", "threads": row["threads"]}
    own = own.filter(**at)
    if own.height < 2:  # noqa: PLR2004 - one workload hides nothing
        return None
    verdicts = own["verdict"].to_list()
    faster, slower = verdicts.count(FASTER), verdicts.count(SLOWER)
    middle = float(np.exp(np.median(np.log(own["time_ratio"].to_numpy()))))
    return Parts(faster, slower, own.height - faster - slower, middle, detectable_of(own))


def gained_and_lost(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """The counts, the median and the exclusions of a row over all workloads; a part of a sentence each."""
    parts = parts_of(comparisons, row)
    if parts is None:
        return []
    return [str(parts), f"median {percent(parts.median)}", *_left_out(comparisons, row)]


def _left_out(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """The number of bimodal configurations that a row over all workloads leaves out."""
    cells = comparisons.filter(
        level="cell", baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    ).with_columns(kind=kind_of_cell())
    cells = (
        cells.filter(pl.col("kind") == pl.col("kind").min())
        if row["threads"] is None
        else cells.filter(threads=row["threads"])
    )
    number = int(cells["is_bimodal"].sum())
    return [f"{number} of {cells.height} configurations are bimodal and left out"] if number else []


def _largest(parts: pl.DataFrame) -> list[str]:
    """The share of a few workloads in the mean. In: the workloads' rows of one branch and quantity."""
    if parts.height <= LARGEST:
        return []
    logs = parts.with_columns(log=pl.col("time_ratio").log())
    total = float(logs["log"].sum())
    few = without_size(logs.sort("log", descending=total > 0)).head(LARGEST)
    names = ", ".join(f"`{name}`" for name in few["panel"])
    share = float(few["log"].sum()) / total if total else float("inf")
    makes = f"{100 * share:.0f} % of" if share < 1 else "all of"
    return [f"{names} make {makes} the mean"]


def _by_threads(rows: pl.DataFrame) -> list[str]:
    """The change at each thread count. In: one row per thread count."""
    each = rows.sort("threads")
    if each.height < 2:  # noqa: PLR2004 - the row itself
        return []
    oversubscribed = each.filter("oversubscribed")["threads"].to_list()
    beyond = f" ({ranges(oversubscribed)} exceed the CPUs)" if oversubscribed else ""
    threads = ", ".join(str(number) for number in each["threads"])
    changes = ", ".join(percent(ratio) for ratio in each["time_ratio"])
    return [f"with {threads} threads{beyond}: {changes}"]
