"""Compares what a simulated and a measured sweep say of branches.

Whether the same ones gain and lose, and by how much.

How near times are says nothing of that: two branches that are both a fifth too quick may still be
in the wrong order.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.schema import POOL_CELL, TWIN_SUFFIX
from sweep_analysis.stats.analysis import Analysis

NEAR = 0.10
"""A simulated ratio of two branches is near if it is at most this far from the measured one, either way as a factor."""

MARK = 0.80
"""Share of the cells that must be near for a simulation to be believed; each sign that is certain must be right."""


def differences(simulated: Analysis, measured: Analysis) -> pl.DataFrame:
    """The two sweeps' ratios of time, cell by cell.

    In: two sweeps of the same cells, with one baseline. Out: a row a workload, number of threads
    and branch that both have: `simulated` and `measured` (time over the baseline's), `low` and
    `high` (95 % interval of the latter), `is_certain` (the interval excludes 1), `is_right` (they
    are on the same side of 1; null unless certain), `is_near`, and `two_states` of the simulated
    cell (`states`), which is then neither certain nor near nor far. Sorted by what they differ by,
    most first.

    Raises:
        InputError: the baselines differ, or no cell is in both.
    """
    if simulated.baseline != measured.baseline:
        raise InputError(
            measured.sweep.path,
            f"its baseline is `{measured.baseline}`, that of {simulated.sweep.path.name} is `{simulated.baseline}`",
            "sweep both with the same branch first",
        )
    ratio = pl.col("time_ratio")
    predicted, seen = (_cells(analysis) for analysis in (simulated, measured))
    rows = predicted.select(*POOL_CELL, ratio.alias("simulated"), "two_states").join(
        seen.select(
            *POOL_CELL,
            ratio.alias("measured"),
            pl.col("ratio_low", "ratio_high").name.replace("ratio_", ""),
        ),
        on=POOL_CELL,
        nulls_equal=True,
    )
    if rows.is_empty():
        raise InputError(
            measured.sweep.path,
            f"no branch of it has a cell in common with {simulated.sweep.path.name}",
            "sweep the same branches and workloads; `cargo runner validate` does",
        )
    is_one = ~pl.col("two_states")
    certain = ((pl.col("low") > 1) | (pl.col("high") < 1)).fill_null(value=False) & is_one
    same_side = (pl.col("simulated") - 1) * (pl.col("measured") - 1) > 0
    apart = (pl.col("simulated") / pl.col("measured")).log().abs()
    return rows.with_columns(
        is_certain=certain,
        is_right=pl.when(certain).then(same_side),
        is_near=pl.when(is_one).then(apart <= pl.lit(1 + NEAR).log()),
    ).sort(apart, *POOL_CELL, descending=[True, *[False] * len(POOL_CELL)], maintain_order=True)


def _cells(analysis: Analysis) -> pl.DataFrame:
    rows = analysis.comparisons.filter(
        pl.col("level") == "cell",
        pl.col("baseline") == analysis.baseline,
        ~pl.col("branch").str.ends_with(TWIN_SUFFIX),
    )
    return rows.select(*POOL_CELL, "time_ratio", "ratio_low", "ratio_high", "two_states")
