"""What a mean over workloads hides.

The median workload, who gains and loses, how much of it is due to a few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.labels import percent, ranges, with_panel
from sweep_analysis.read.schema import PANEL
from sweep_analysis.say.detectable import detectable_of
from sweep_analysis.stats.compare import FASTER, POOLED, SLOWER, kind_of_cell

LARGEST = 4
"""So many workloads are named as those that make most of a mean."""
FEW_COUNTS = 3
"""Of more thread counts the first and the last are named."""


def beside_the_mean(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """What a pooled row of `frames.COMPARISONS` hides, a part of a sentence each.

    Of a row of a cell, nothing.

    In: all rows of the judgement that the row is of.
    """
    own = comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    )
    if row["level"] == "overall":
        parts = with_panel(own.filter(level="workload")).sort("time_ratio")
        return [
            *gained_and_lost(comparisons, row),
            *_largest(parts),
            *_by_threads(own.filter(level="threads")),
        ]
    if row["level"] == "workload":
        here = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in PANEL)
        return _by_threads(own.filter(here, pl.col("level") == "cell"))
    return []


def gained_and_lost(comparisons: pl.DataFrame, row: dict[str, Any]) -> list[str]:
    """Of a row over all workloads: how many gain and lose, and the median.

    A part of a sentence each.
    """
    own = comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    )
    parts = own.filter(level="workload")
    ratios, verdicts = parts["time_ratio"].to_numpy(), parts["verdict"].to_list()
    if parts.height < 2:  # noqa: PLR2004 - one workload hides nothing
        return []
    gain, lose = verdicts.count(FASTER), verdicts.count(SLOWER)
    return [
        f"{gain} gain, {lose} lose, {parts.height - gain - lose} cannot be told{detectable_of(parts)}",
        f"median {percent(float(np.exp(np.median(np.log(ratios)))))}",
    ]


def pooled_threads(comparisons: pl.DataFrame, row: dict[str, Any]) -> str:
    """The thread counts that a row over several of them pools, in words."""
    own = comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"], level="cell"
    )
    if row["level"] == "workload":
        own = own.filter(
            pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in PANEL)
        )
    kinds = own.with_columns(kind=kind_of_cell())
    first = kinds.filter(pl.col("kind") == pl.col("kind").min())
    if first.is_empty():
        return ""
    threads = first["threads"].unique().sort().to_list()
    crowd = ", more than CPUs" if first["kind"][0] == len(POOLED) - 1 else ""
    named = f"{threads[0]} to {threads[-1]}" if len(threads) > FEW_COUNTS else ranges(threads)
    return f"{named} {'thread' if threads == [1] else 'threads'}{crowd}"


def _largest(parts: pl.DataFrame) -> list[str]:
    """How much of the mean is due to a few. In: the workloads' rows of one branch and quantity."""
    if parts.height <= LARGEST:
        return []
    logs = parts.with_columns(log=pl.col("time_ratio").log())
    total = float(logs["log"].sum())
    few = logs.sort("log", descending=total > 0).head(LARGEST)
    names = ", ".join(f"`{name}`" for name in few["workload"])
    share = float(few["log"].sum()) / total if total else float("inf")
    makes = f"{100 * share:.0f} % of" if share < 1 else "all of"
    return [f"{names} make {makes} the mean"]


def _by_threads(rows: pl.DataFrame) -> list[str]:
    """Each thread count apart. In: a row each."""
    each = rows.sort("threads")
    if each.height < 2:  # noqa: PLR2004 - the row itself
        return []
    crowded = each.filter("oversubscribed")["threads"].to_list()
    beyond = f" ({ranges(crowded)} exceed the CPUs)" if crowded else ""
    changes = ", ".join(
        percent(ratio).partition("\N{NO-BREAK SPACE}")[0] for ratio in each["time_ratio"]
    )
    return [
        f"with {', '.join(str(threads) for threads in each['threads'])} threads{beyond}: {changes}\N{NO-BREAK SPACE}%"
    ]
