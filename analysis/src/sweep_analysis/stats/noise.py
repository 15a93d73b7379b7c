"""Compares two sweeps of the same branches: which changes of the first sweep does the second sweep confirm?"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import percent, with_panel
from sweep_analysis.read.load import refuse_mixed
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import FASTER, SLOWER

CLAIMS = (FASTER, SLOWER)


def second_look(first: Analysis, second: Analysis) -> pl.DataFrame:
    """Find changes of one sweep that another sweep measured again.

    Out: one row per branch and workload whose change in `first` is larger than the A/A control's, with
         both changes, and the interval and result in `second`; null if `second` did not measure or test the change.

    Raises:
        InputError: one sweep was measured and the other was simulated, or their machines differ.
    """
    twins = first.comparisons.filter(pl.col("branch") == (first.sweep.twin or ""), level="workload")
    strayed = with_panel(twins).select("panel", "mode", twin="time_ratio")
    further = pl.col("time_ratio").log().abs() > pl.col("twin").log().abs()
    shown = (
        _pooled(first)
        .join(strayed, on=["panel", "mode"])
        .filter(further)
        .select("panel", "branch", "time_ratio", "twin")
    )
    refuse_mixed([first.sweep, second.sweep], "a second look")
    columns = ["panel", "branch", "time_ratio", "ratio_low", "ratio_high", "verdict"]
    joined = shown.join(
        _pooled(second).select(columns),
        on=["panel", "branch"],
        how="left",
        suffix="_again",
        maintain_order="left",
    )

    def change(column: str) -> pl.Expr:
        return pl.col(column).map_elements(percent, return_dtype=pl.String)

    return joined.select(
        pl.col("panel").alias("workload"),
        "branch",
        change("time_ratio").alias("first"),
        change("twin").alias("A/A control of the first"),
        change("time_ratio_again").alias("second"),
        change("ratio_low").alias("from"),
        change("ratio_high").alias("to"),
        pl.col("verdict").alias("result of the second"),
    )


def _pooled(analysis: Analysis) -> pl.DataFrame:
    rows = analysis.comparisons.filter(pl.col("level") == "workload")
    return with_panel(rows.filter(pl.col("branch") != (analysis.sweep.twin or "")))
