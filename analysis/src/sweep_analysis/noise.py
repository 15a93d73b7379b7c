"""Sets two sweeps of the same branches beside each other: how large the noise is, and which claims come again."""

from __future__ import annotations

import polars as pl

from sweep_analysis.compare import FASTER, SLOWER
from sweep_analysis.findings import Analysis
from sweep_analysis.labels import percent, with_panel

CLAIMS = (FASTER, SLOWER)


def noise_table(analyses: dict[str, Analysis]) -> pl.DataFrame:
    """How large the noise of each sweep is, per workload with all its thread counts.

    Out: one row per sweep and workload: `sweep`, `workload`, `A/A band` (what equal builds show), `largest change` of a
         branch and that `branch`, `claims` (branches called faster or slower). Sweeps without a baseline have no rows.
    """
    rows = []
    for name, analysis in analyses.items():
        pooled = _pooled(analysis)
        for part in pooled.partition_by("panel", maintain_order=True):
            furthest = part.sort(pl.col("time_ratio").log().abs(), descending=True).row(0, named=True)
            band = furthest["band"]
            rows.append(
                {
                    "sweep": name,
                    "workload": furthest["panel"],
                    "A/A band": None if band is None else f"±{(band - 1) * 100:.1f} %",
                    "largest change": percent(furthest["time_ratio"]),
                    "branch": furthest["branch"],
                    "claims": part.filter(pl.col("verdict").is_in(CLAIMS)).height,
                }
            )
    columns = ["sweep", "workload", "A/A band", "largest change", "branch"]
    return pl.DataFrame(rows, schema={**dict.fromkeys(columns, pl.String), "claims": pl.Int64})


def second_look(first: Analysis, second: Analysis) -> pl.DataFrame:
    """What became of the claims of one sweep in another.

    Out: one row per branch and workload that `first` calls faster or slower: its change and verdict in either sweep;
         null in the second where it was not measured there.
    """
    columns = ["panel", "branch", "time_ratio", "verdict"]
    claimed = _pooled(first).filter(pl.col("verdict").is_in(CLAIMS)).select(columns)
    again = _pooled(second).select(columns)
    joined = claimed.join(again, on=["panel", "branch"], how="left", suffix="_again", maintain_order="left")

    def change(column: str) -> pl.Expr:
        return pl.col(column).map_elements(percent, return_dtype=pl.String)

    return joined.select(
        pl.col("panel").alias("workload"),
        "branch",
        change("time_ratio").alias("first"),
        pl.col("verdict").alias("verdict of the first"),
        change("time_ratio_again").alias("second"),
        pl.col("verdict_again").alias("verdict of the second"),
    )


def _pooled(analysis: Analysis) -> pl.DataFrame:
    """Rows by workload of all branches but the twin, with `panel`."""
    rows = analysis.comparisons.filter(pl.col("level") == "workload")
    return with_panel(rows.filter(pl.col("branch") != (analysis.sweep.twin or "")))
