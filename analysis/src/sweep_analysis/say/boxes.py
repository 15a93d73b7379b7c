"""Writes the signs over a box of machines as a table and in sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import count, listed, percent, with_panel
from sweep_analysis.stats.boxes import UNDECIDED
from sweep_analysis.stats.compare import FASTER, SLOWER

_LESS = {FASTER: "less", SLOWER: "more"}
_US, _MS = 1e3, 1e6


def box_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Select the columns of `frames.BOX` that a reader needs; ratios become changes in per cent."""
    named = with_panel(rows)
    bound = pl.max_horizontal("faster_bound", "slower_bound") * 100
    return named.select(
        pl.col("panel").alias("workload"),
        "threads",
        "branch",
        pl.format("{} of {}", "faster", "machines").alias("faster on"),
        pl.format("{} %", bound.floor().cast(pl.Int64)).alias("share that agrees, at least"),
        _change("ratio").alias("median"),
        _change("ratio_low").alias("5 %"),
        _change("ratio_high").alias("95 %"),
        pl.format(
            "{} to {}, {} of {} faster",
            _change("control_low"),
            _change("control_high"),
            "control_faster",
            "control",
        ).alias("A/A control"),
        pl.struct("verdict", "price", "rho", "flips_at")
        .map_elements(_result, return_dtype=pl.String)
        .alias("result"),
    )


def box_sentence(rows: pl.DataFrame, branch: str, baseline: str) -> str:
    """A sentence on the signs of a branch that hold over the box and the signs that do not hold, without sizes.

    In: rows of `frames.BOX`.
    """
    own = with_panel(rows).filter(branch=branch).sort("threads", "workload")
    groups = {
        f"takes {less} time on": [_holds(row) for row in own.filter(verdict=sign).rows(named=True)]
        for sign, less in _LESS.items()
    }
    groups["is undecided on"] = [
        _open(row) for row in own.filter(verdict=UNDECIDED).rows(named=True)
    ]
    told = [f"{what} {listed(cells)}" for what, cells in groups.items() if cells]
    return f"Over the box, `{branch}` against `{baseline}` {'; '.join(told)}"


def _cell(row: dict[str, Any]) -> str:
    return f"`{row['workload']}` with {count(row['threads'], 'thread')}"


def _holds(row: dict[str, Any]) -> str:
    agreeing = row[row["verdict"]]
    bound = int(100 * row[f"{row['verdict']}_bound"])
    return f"{_cell(row)} ({agreeing} of {count(row['machines'], 'machine')}, at least {bound} % of the box)"


def _open(row: dict[str, Any]) -> str:
    flips = _flips(row)
    told = f"faster on {row['faster']} of {row['machines']}"
    return f"{_cell(row)} ({told}{f'; {flips}' if flips else ''})"


def _result(row: dict[str, Any]) -> str:
    flips = _flips(row)
    return str(row["verdict"]) + (f"; {flips}" if flips and row["verdict"] == UNDECIDED else "")


def _flips(row: dict[str, Any]) -> str:
    """The cost parameter and the values at which the branch is slower; empty if no sign flips."""
    if row["flips_at"] is None:
        return ""
    side = "above" if row["rho"] > 0 else "below"
    return f"slower where {row['price'].removesuffix('-ns')} is {side} {_value(row)}"


def _value(row: dict[str, Any]) -> str:
    """The value of the cost parameter at which the sign flips, with two digits and its unit."""
    value, unit = row["flips_at"], ""
    if row["price"].endswith("-ns"):
        size, unit = next(
            (it for it in ((_MS, " ms"), (_US, " µs")) if value >= it[0]), (1.0, " ns")
        )
        value /= size
    return f"{float(f'{value:.2g}'):g}{unit}"


def _change(ratio: str) -> pl.Expr:
    return pl.col(ratio).map_elements(percent, return_dtype=pl.String)
