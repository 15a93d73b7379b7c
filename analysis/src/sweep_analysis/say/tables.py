"""Writes frames as CSV and Parquet, and as tables for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, percent, source_lines, with_panel
from sweep_analysis.read.schema import FREE, PANEL, WORDS
from sweep_analysis.say.boxes import box_table, waits_table
from sweep_analysis.say.comparison import builds_column, detectable_column
from sweep_analysis.say.predictions import predictions_table
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.latency import KINDS, QUANTILES
from sweep_analysis.stats.simulated import SPENT_ON
from sweep_analysis.stats.validation import MARGIN

DIGITS = 4
"""Significant digits in tables for people; CSV and Parquet have all digits."""

SUFFIXES = ("csv", "parquet")
"""File formats of `write`, by the ending of the file's name."""

Column = pl.Expr | str

_CELL: tuple[Column, ...] = (pl.col("panel").alias("workload"), "branch", "threads")


def write(frame: pl.DataFrame, file: Path) -> None:
    """Write `frame` in the format that the ending of `file` names, one of `SUFFIXES`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".csv":
        frame.write_csv(file)
    else:
        frame.with_columns(WORDS).write_parquet(file)


def markdown(frame: pl.DataFrame) -> str:
    """Format a Markdown table; numbers are rounded to `DIGITS` significant digits."""
    numeric = [frame.schema[name].is_numeric() for name in frame.columns]
    lines = [frame.columns, ["---:" if right else "---" for right in numeric]]
    lines += [[text(value).replace("|", "\\|") for value in row] for row in frame.rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def text(value: object) -> str:
    """The text of a table cell; empty for a missing value."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    return str(value)


def for_people(analysis: Analysis, name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Convert rows of the frame `name` of `analysis.FRAMES` to the columns for people, for page, document and terminal."""
    named = rows
    if set(PANEL) <= set(rows.columns):
        # The names of panels depend on all panels of the sweep.
        panels = with_panel(analysis.frame(name).select(PANEL).unique(maintain_order=True))
        named = rows.join(panels, on=PANEL, how="left", nulls_equal=True, maintain_order="left")
    if name in COLUMNS:
        return named.select(COLUMNS[name])
    if name in WIDE:
        return WIDE[name](named)
    if "panel" in named.columns:
        named = named.select(pl.col("panel").alias("workload"), pl.exclude(*PANEL, "panel"))
    return rounded(named)


def comparison_table(comparisons: pl.DataFrame, units: str = "builds") -> pl.DataFrame:
    """Select the columns of `frames.COMPARISONS` that a reader needs; ratios become changes in per cent.

    In: rows with `panel`; `units` is the plural of the sampling unit.
    """
    several = ["quantity"] if comparisons["quantity"].n_unique() > 1 else []
    return comparisons.with_columns(pl.col("panel").fill_null("all together")).select(
        *_CELL,
        *several,
        pl.col("verdict").alias("result"),
        *_changes(),
        builds_column(f"change of single {units}: smallest to largest, median"),
        detectable_column(),
        "pairs",
        pl.col("units").alias(f"number of {units}"),
        pl.col("p_corrected").round(3).alias("p corrected"),
    )


def validation_table(cells: pl.DataFrame) -> pl.DataFrame:
    """Configurations with predicted and measured times. In: rows of `frames.VALIDATION` with `panel`."""
    return cells.select(
        *_CELL,
        pl.col("predicted_ms").alias("simulated ms"),
        pl.col("measured_ms").alias("measured ms"),
        pl.col("ratio").alias("simulated / measured"),
        pl.col("predicted_scaling").alias("over 1 thread, simulated"),
        pl.col("measured_scaling").alias("over 1 thread, measured"),
        pl.when("is_near")
        .then(pl.lit("yes"))
        .otherwise(pl.lit("no"))
        .alias(f"within {MARGIN:.0%}"),
    )


def differences_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Select the columns of simulated and measured ratios that a reader needs, as changes in per cent.

    In: rows of `differences.differences` with `panel`.
    """
    change = [
        ((pl.col(name) - 1) * 100).round(1).alias(name)
        for name in ("simulated", "measured", "low", "high")
    ]
    sign = {True: "right", False: "wrong"}
    return rows.with_columns(change).select(
        pl.col("panel").alias("workload"),
        "threads",
        "branch",
        pl.col("simulated").alias("simulated, %"),
        pl.col("measured").alias("measured, %"),
        pl.format("{} to {}", "low", "high").alias("95 % interval"),
        pl.col("is_right")
        .replace_strict(sign, return_dtype=pl.String)
        .fill_null("inconclusive")
        .alias("sign"),
    )


def _spent(shares: pl.DataFrame) -> pl.DataFrame:
    cell = ["panel", "branch", "threads", "work_unit"]
    totals = shares.group_by(cell, maintain_order=True).agg(pl.col("ns_per_unit").sum())
    wide = shares.with_columns(_whole_percent("share")).pivot(
        "spent_on", index=cell, values="share"
    )
    return totals.join(wide, on=cell, maintain_order="left").select(
        *_CELL,
        pl.col("work_unit").alias("unit"),
        pl.col("ns_per_unit").alias("core ns per unit"),
        *(pl.col(name).alias(told) for name, told in SPENT_ON.items() if name in wide.columns),
    )


def _whole_percent(column: str) -> pl.Expr:
    return pl.format("{}\N{NO-BREAK SPACE}%", (pl.col(column) * 100).round(1)).alias(column)


def _latencies(waits: pl.DataFrame) -> pl.DataFrame:
    wide = waits.with_columns(pl.col("wait_us").round(1)).pivot(
        "quantile", index=["panel", "branch", "threads", "kind", "trials"], values="wait_us"
    )
    present = [quantile for quantile in QUANTILES if quantile in wide.columns]
    return wide.select(
        *_CELL, pl.col("kind").replace_strict(KINDS).alias("latency"), *present, "trials"
    )


def _writes_per_push(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.pivot(
        "branch", index=["panel", "threads"], values="writes_per_push", maintain_order=True
    ).rename({"panel": "workload"})


def rounded(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with all fractions rounded to three places."""
    return frame.with_columns(pl.col(pl.Float64).round(3))


def placement_table(placed: pl.DataFrame) -> pl.DataFrame:
    """Select the columns of `frames.PLACEMENTS` that a reader needs; ratios become changes in per cent."""
    named = with_panel(placed.with_columns(placement=pl.lit(FREE)))
    changes = {"ratio": "pinned", "ratio_low": "from", "ratio_high": "to"}
    return named.select(
        pl.col("panel").alias("workload"),
        "threads",
        "quantity",
        *(
            pl.col(name).map_elements(percent, return_dtype=pl.String).alias(head)
            for name, head in changes.items()
        ),
        "pairs",
        "units",
        pl.col("p_holm").round(3).alias("p corrected"),
        pl.when("moved").then(pl.lit("yes")).otherwise(pl.lit("")).alias("significant"),
    )


def _changes() -> list[pl.Expr]:
    band = ((pl.col("band") - 1) * 100).round(1).cast(pl.String)
    ends = (_change("ratio_low", "from"), _change("ratio_high", "to"))
    return [
        _change("time_ratio", "change"),
        *ends,
        pl.format("±{}\N{NO-BREAK SPACE}%", band).alias("noise floor"),
    ]


def _change(ratio: str, name: str) -> pl.Expr:
    return pl.col(ratio).map_elements(percent, return_dtype=pl.String).alias(name)


def _rounded(name: str, heading: str, divisor: float = 1.0) -> pl.Expr:
    return (pl.col(name) / divisor).round(3).alias(heading)


_OUTCOME: tuple[Column, ...] = (
    pl.col("verdict").alias("result"),
    *_changes(),
    detectable_column(),
    pl.col("cells").alias("configurations"),
    _rounded("p_holm", "p corrected"),
    "reason",
)
"""Columns with the result of a pre-registered hypothesis."""

COLUMNS: dict[str, list[Column]] = {
    "speedups": [
        *_CELL,
        _rounded("elapsed_ms", "mean ms"),
        _rounded("speedup", "speedup"),
        _rounded("speedup_low", "from"),
        _rounded("speedup_high", "to"),
        _rounded("efficiency", "efficiency"),
        _rounded("karp_flatt", "Karp–Flatt"),
        "trials",
    ],
    "costs": [
        *_CELL,
        _rounded("ns_per_unit", "wall µs per unit", 1e3),
        _rounded("cpu_ns_per_unit", "CPU µs per unit", 1e3),
        _rounded("cpus_busy", "CPUs busy"),
        _rounded("cpus_busy_low", "from"),
        _rounded("cpus_busy_high", "to"),
        _rounded("cpus_idle", "CPUs idle"),
        "trials",
    ],
    "lines": [
        *_CELL,
        "line",
        pl.col("work_unit").alias("per"),
        "writes",
        pl.col("writes_low").alias("from"),
        pl.col("writes_high").alias("to"),
        "loads",
        pl.col("cas_failures").alias("failed CAS"),
        "trials",
    ],
    "line-waits": [
        pl.col("panel").alias("workload"),
        "threads",
        "branch",
        _whole_percent("share").alias("of waiting"),
        _whole_percent("core_share").alias("of all time"),
        *source_lines("source line"),
        pl.col("ns_per_unit").alias("waited ns per unit"),
        pl.col("transfers_per_unit").alias("transfers per unit"),
        pl.col("transfers_per_iteration").round(1).alias("per iteration"),
        pl.col("work_unit").alias("unit"),
    ],
    "claims": ["branch", "expect", "against", "quantity", "workloads", "threads", *_OUTCOME],
    "claim-details": [
        "claim",
        "branch",
        pl.col("panel").alias("workload"),
        pl.col("at_threads").alias("threads"),
        pl.col("quantity").replace_strict(QUANTITY_NAMES, return_dtype=pl.String),
        *_OUTCOME,
    ],
    "calibration": [
        pl.col("panel").fill_null("all together").alias("workload"),
        "branch",
        "threads",
        pl.col("quantity").replace_strict(QUANTITY_NAMES, return_dtype=pl.String),
        pl.col("verdict").alias("result"),
        _change("time_ratio", "change"),
        _change("equal_low", "from (90 %)"),
        _change("equal_high", "to"),
        pl.col("cells").alias("configurations"),
    ],
    "ledger": ["what", "reason", "branch", pl.col("left_out").alias("left out"), "of"],
}
"""The columns for people, by table. In: rows of the frame, with `panel` if each row is a configuration."""

WIDE: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "comparisons": comparison_table,
    "placements": placement_table,
    "box": box_table,
    "box-waits": waits_table,
    "predictions": predictions_table,
    "spent": _spent,
    "latencies": _latencies,
    "writes-per-push": _writes_per_push,
}
"""Functions that make the tables for people with other rows or columns than the frame.

A table that is neither here nor in `COLUMNS` prints the frame, rounded.
"""
