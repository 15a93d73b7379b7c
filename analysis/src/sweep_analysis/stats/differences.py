"""Compares the changes of branches in a simulated sweep with their changes in a measured sweep.

Accurate times do not suffice: the order of two branches may be wrong, although both times are accurate.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.schema import POOL_CELL, PREDICTED_CELL, TWIN_SUFFIX
from sweep_analysis.stats.analysis import Analysis

NEAR = 0.10
"""A simulated ratio of two branches is accurate if it is within a factor of 1 + `NEAR` of the measured ratio, either way."""

THRESHOLD = 0.80
"""The validation of gains and losses needs at least this share of accurate configurations. It also needs each certain sign to be right."""


def differences(simulated: Analysis, measured: Analysis) -> pl.DataFrame:
    """Join the time ratios of two sweeps with the same configurations and baseline; the largest differences come first.

    Out: a row per workload, thread count and branch that both sweeps have. `simulated` and `measured` are
    times over the baseline's time. `low` and `high` are the 95 % interval of `measured`; `is_certain` says
    that this interval excludes 1. `is_right` says that both ratios are on the same side of 1, and is null
    unless certain. `is_near` means accurate. For `is_bimodal`, see `states`; in bimodal rows `is_certain`,
    `is_right` and `is_near` are null or false.

    Raises:
        InputError: the baselines differ, or the sweeps share no configuration.
    """
    if simulated.baseline != measured.baseline:
        raise InputError(
            measured.sweep.path,
            f"its baseline is `{measured.baseline}`, that of {simulated.sweep.path.name} is `{simulated.baseline}`",
            "sweep both with the same branch first",
        )
    ratio = pl.col("time_ratio")
    predicted, seen = (_cells(analysis) for analysis in (simulated, measured))
    rows = predicted.select(*POOL_CELL, ratio.alias("simulated"), "is_bimodal").join(
        seen.select(
            *PREDICTED_CELL,
            ratio.alias("measured"),
            pl.col("ratio_low", "ratio_high").name.replace("ratio_", ""),
        ),
        on=PREDICTED_CELL,
        nulls_equal=True,
    )
    if rows.is_empty():
        raise InputError(
            measured.sweep.path,
            f"it shares no configuration with {simulated.sweep.path.name}",
            "sweep the same branches and workloads; `cargo runner validate` does",
        )
    is_one = ~pl.col("is_bimodal")
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
    return rows.select(*POOL_CELL, "time_ratio", "ratio_low", "ratio_high", "is_bimodal")
