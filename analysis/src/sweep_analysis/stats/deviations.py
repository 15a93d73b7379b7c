"""How far each value is from the others of its group."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.schema import CELL


def beside_cell(column: str) -> pl.Expr:
    """Log of a quantity less the median of its cell, the row's own value included."""
    return pl.col(column).log() - pl.col(column).log().median().over(CELL)


def deviations(values: pl.LazyFrame, groups: list[str], fewest: int) -> pl.LazyFrame:
    """Add `deviation`: a row's `value` less the median of all others of its group.

    Groups below `fewest` are left out.

    Less the median of all, one row in three or five would be exactly 0, which looks like a mode,
    and like a median that is known to the last digit.
    """
    others = pl.len().over(groups).cast(pl.Int64) - 1
    ordered = values.filter(others + 1 >= fewest).sort([*groups, "value"])
    rank = pl.int_range(pl.len()).over(groups)
    start = pl.int_range(pl.len()) - rank  # row of the group's least value
    # Of n others, sorted, the middle ones have these ranks; those behind the row itself move up by
    # one.
    lower, upper = (
        (middle + (middle >= rank).cast(pl.Int64)) for middle in ((others - 1) // 2, others // 2)
    )
    median = (pl.col("value").gather(start + lower) + pl.col("value").gather(start + upper)) / 2
    return ordered.with_columns((pl.col("value") - median).alias("deviation"))
