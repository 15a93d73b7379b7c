"""What stands beside a ratio and a verdict: its builds, and what could have been found."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import percent
from sweep_analysis.stats.compare import UNCLEAR


def detectable(row: dict[str, Any]) -> str:
    """The change that would have been found, for a row of `frames.COMPARISONS` without a verdict.

    Empty if that is not known.
    """
    ratio = row["detectable"]
    return f"a change of {_size(ratio)} would have been found" if ratio else ""


def detectable_of(rows: pl.DataFrame) -> str:
    """The same of all rows that are not distinguishable, as the end of a sentence in brackets."""
    known = rows.filter(verdict=UNCLEAR)["detectable"].drop_nulls().sort()
    if known.is_empty():
        return ""
    ends = dict.fromkeys(_size(ratio) for ratio in (known[0], known[-1]))
    return f" (found would have been {' to '.join(ends)})"


def detectable_column() -> pl.Expr:
    """The change that would be found in each row, as a column of a table."""
    return pl.col("detectable").map_elements(_size, return_dtype=pl.String)


def builds(row: dict[str, Any]) -> str:
    """The least, the median and the most of the builds of a row; the ends of several sweeps."""
    known = [row[name] for name in ("build_low", "build_median", "build_high")]
    return ", ".join(percent(ratio) for ratio in known if ratio is not None) or "unknown"


def builds_column(name: str = "builds: least, median, most") -> pl.Expr:
    """`builds` of each row, as a column of a table."""
    columns = ("build_low", "build_median", "build_high")
    return pl.struct(columns).map_elements(builds, return_dtype=pl.String).alias(name)


def _size(ratio: float) -> str:
    change = (ratio - 1) * 100
    return f"{change:.1f}\N{NO-BREAK SPACE}%" if change < 1000 else "no size"  # noqa: PLR2004 - infinity is printed as words
