"""One change from two sweeps of the same branches.

What a build, an hour and a day add to what one sweep can know.

Shuffled functions do not stand for a recompilation, or for another day: changes of the same
branches in two sweeps differ by more than their intervals say. How much more is estimated from all
workloads and branches that both sweeps have, and counts as a variance of each sweep (random
effects). Where the two differ by even more, the interval grows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy import special

from sweep_analysis.read.schema import PANEL, POOL_CELL
from sweep_analysis.stats.location import CONFIDENCE, Floats

_PLACE = ["baseline", "quantity", "level", *POOL_CELL]


def matching(comparisons: pl.DataFrame, row: dict[str, Any]) -> dict[str, Any] | None:
    """The row of another sweep's comparisons that is about the same as `row`, if it has an interval."""
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in _PLACE)
    found = comparisons.filter(same).drop_nulls("ratio_low")
    return found.row(0, named=True) if found.height else None


def together(
    first: pl.DataFrame, second: pl.DataFrame, row: dict[str, Any], again: dict[str, Any]
) -> dict[str, float]:
    """`time_ratio`, `ratio_low` and `ratio_high` of `row` of the first sweep and `again` of the second, pooled.

    In: all rows of `frames.COMPARISONS` of either.
    """
    between, common = between_sweeps(first, second, str(row["quantity"]))
    logs, errors = (
        np.array(part) for part in zip(*(_known(it) for it in (row, again)), strict=True)
    )
    variances = errors**2 + between
    weights = 1 / variances
    middle = float((weights * logs).sum() / weights.sum())
    apart = abs(float(logs[0] - logs[1])) / float(np.sqrt(variances.sum()))
    half = (
        special.stdtrit(max(common, 1), (1 + CONFIDENCE) / 2)
        * max(apart, 1.0)
        / np.sqrt(weights.sum())
    )
    return {
        "time_ratio": float(np.exp(middle)),
        "ratio_low": float(np.exp(middle - half)),
        "ratio_high": float(np.exp(middle + half)),
    }


def between_sweeps(first: pl.DataFrame, second: pl.DataFrame, quantity: str) -> tuple[float, int]:
    """Variance of a log-ratio between sweeps beyond what either knows of itself, and the workloads that tell of it."""
    rows = [
        frame.filter(quantity=quantity, level="workload").drop_nulls(["ratio_low", "band"])
        for frame in (first, second)
    ]
    both = rows[0].join(rows[1], on=_PLACE, nulls_equal=True, suffix="_again")
    if both.is_empty():
        return 0.0, 0
    differ = (both["time_ratio"].log() - both["time_ratio_again"].log()).to_numpy()
    noise = sum(_errors(both, end) ** 2 for end in ("", "_again"))
    return max(float(np.mean(differ**2 - noise)) / 2, 0.0), both.select("branch", *PANEL).height


def _errors(rows: pl.DataFrame, end: str = "") -> Floats:
    """Standard errors, from half of the interval as if units were many.

    Few of them count as less sure.
    """
    half = (rows[f"ratio_high{end}"].log() - rows[f"ratio_low{end}"].log()).to_numpy() / 2
    return np.asarray(half / special.ndtri((1 + CONFIDENCE) / 2), dtype=np.float64)


def _known(row: dict[str, Any]) -> tuple[float, float]:
    half = float(np.log(row["ratio_high"] / row["ratio_low"])) / 2
    return float(np.log(row["time_ratio"])), half / float(special.ndtri((1 + CONFIDENCE) / 2))
