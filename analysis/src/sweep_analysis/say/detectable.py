"""Notes beside a ratio and a verdict: its builds, and the change that could have been found."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import percent
from sweep_analysis.stats.compare import UNCLEAR

MOST_TOLD = 10
"""Ratio from which on the words say no size, but that it is above this."""


def detectable(row: dict[str, Any]) -> str:
    """The change that would have been found, for a row of `frames.COMPARISONS` without a verdict.

    Empty if that is not known.
    """
    ratio = row["detectable"]
    return f"detectable: {size(ratio)}" if ratio else ""


def detectable_of(rows: pl.DataFrame) -> str:
    """The same of all inconclusive rows, as the end of a sentence in brackets."""
    known = rows.filter(verdict=UNCLEAR)["detectable"].drop_nulls().sort()
    if known.is_empty():
        return ""
    middle, most = size(known[(known.len() - 1) // 2]), size(known[-1])
    both = middle if middle == most else f"median {middle}, largest {most}"
    return f" (detectable: {both})"


def detectable_column() -> pl.Expr:
    """The change that would be found in each row, as a column of a table."""
    return pl.col("detectable").map_elements(size, return_dtype=pl.String)


def builds(row: dict[str, Any]) -> str:
    """The least and the most of the builds of a row, and their median, which several sweeps have not."""
    low, median, high = (row[name] for name in ("build_low", "build_median", "build_high"))
    if low is None or high is None:
        return "unknown"
    middle = f", median {percent(median)}" if median is not None else ""
    return f"{percent(low)} to {percent(high)}{middle}"


def builds_column(name: str) -> pl.Expr:
    """`builds` of each row, as a column of a table."""
    columns = ("build_low", "build_median", "build_high")
    return pl.struct(columns).map_elements(builds, return_dtype=pl.String).alias(name)


def size(ratio: float) -> str:
    """A detectable ratio as a change."""
    if ratio < MOST_TOLD:
        return f"{(ratio - 1) * 100:.1f}\N{NO-BREAK SPACE}%"
    return f"above {(MOST_TOLD - 1) * 100}\N{NO-BREAK SPACE}%"
