"""Writes frames as CSV, Parquet and Markdown, and rounds them for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, count, percent, with_panel
from sweep_analysis.read.schema import FREE, PANEL, WORDS
from sweep_analysis.say.boxes import box_table
from sweep_analysis.say.comparison import builds_column, detectable_column
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.claims import FALSIFIED, HELD, OPEN, UNTESTED
from sweep_analysis.stats.events import HEADLINE, scale
from sweep_analysis.stats.latency import KINDS, QUANTILES
from sweep_analysis.stats.simulated import SPENT_ON
from sweep_analysis.stats.validation import MARGIN

DIGITS = 4
"""Significant digits in tables for people; CSV and Parquet have all digits."""

EXPECTATIONS = {
    "faster": "faster than ",
    "slower": "slower than ",
    "equal": "as fast as ",
    "no-faster": "no faster than ",
    "no-slower": "no slower than ",
}
"""The text for each expectation of a pre-registered hypothesis."""

FEW_NAMES = 3
"""Maximum number of workloads that a text names if a hypothesis leaves them out, or if they were not measured."""

MANY_NAMES = 6
"""If a hypothesis is about more workloads, the text gives their number instead of their names."""


MOST_ROWS = 5000
"""Maximum number of rows of a table in Markdown. CSV and Parquet have all rows."""

POOL = "rayon-fork/src/"
"""The folder of nearly all source lines that wait; tables for people omit it."""

_CELL = (pl.col("panel").alias("workload"), "branch", "threads")
"""The first columns of most tables."""

SUFFIXES = ("csv", "parquet", "md")
"""File formats of `write`, by the ending of the file's name."""


def write(frame: pl.DataFrame, file: Path, label: str = "") -> None:
    """Write `frame` in the format that the ending of `file` names, one of `SUFFIXES`.

    `label` is a line below a Markdown table.
    """
    writers: dict[str, Callable[[], object]] = {
        ".csv": lambda: frame.write_csv(file),
        ".parquet": lambda: frame.with_columns(WORDS).write_parquet(file),
        ".md": lambda: file.write_text(
            _readable(frame) + (label and f"\n{label}\n"), encoding="utf-8"
        ),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    writers[file.suffix]()


def _readable(frame: pl.DataFrame) -> str:
    """A Markdown file of a frame; a long frame is cut, with a line that names the CSV file."""
    rest = frame.height - MOST_ROWS
    return markdown(frame.head(MOST_ROWS)) + (
        f"\n{count(rest, 'more row')} in the CSV file.\n" if rest > 0 else ""
    )


def markdown(frame: pl.DataFrame) -> str:
    """A Markdown table, numbers rounded to `DIGITS` significant digits."""
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
    """Rows of the frame `name` of `analysis.FRAMES` with the columns for people, for page, document and terminal."""
    named = rows
    if set(PANEL) <= set(rows.columns):
        # The names of panels depend on all panels of the sweep.
        panels = with_panel(analysis.frame(name).select(PANEL).unique(maintain_order=True))
        named = rows.join(panels, on=PANEL, how="left", nulls_equal=True, maintain_order="left")
    if name == "claims":
        return claim_table(rows, analysis.times["workload"].unique(maintain_order=True).to_list())
    if name in READABLE:
        return READABLE[name](named)
    if "panel" in named.columns:
        named = named.select(pl.col("panel").alias("workload"), pl.exclude(*PANEL, "panel"))
    return rounded(named)


def comparison_table(comparisons: pl.DataFrame, units: str = "builds") -> pl.DataFrame:
    """The columns of `frames.COMPARISONS` that a reader needs, ratios as changes in per cent.

    In: rows with `panel`; `units` is the plural of the sampling unit.
    """
    several = ["quantity"] if comparisons["quantity"].n_unique() > 1 else []
    return comparisons.with_columns(pl.col("panel").fill_null("all together")).select(
        *_CELL,
        *several,
        pl.col("verdict").alias("result"),
        *_changes(),
        builds_column(units),
        detectable_column(),
        _change("cpu_ratio", "CPU time"),
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
    """Where simulated and measured ratios of branches are apart.

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


def speedup_table(speedups: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.SPEEDUPS` that a reader needs. In: rows with `panel`."""
    return speedups.select(
        *_CELL,
        pl.col("elapsed_ms").round(3).alias("median ms"),
        pl.col("speedup").round(3),
        pl.col("speedup_low").round(3).alias("from"),
        pl.col("speedup_high").round(3).alias("to"),
        pl.col("efficiency").round(3),
        pl.col("karp_flatt").round(3).alias("Karp–Flatt"),
        "trials",
    )


def line_table(lines: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.LINE_RATES` that a reader needs, per a suitable number of units of work.

    In: rows with `panel`.
    """
    parts = []
    for part in lines.partition_by("panel", maintain_order=True):
        factor, words = scale(part["writes"])
        rates = ("writes", "writes_low", "writes_high", "loads", "cas_failures")
        parts.append(
            part.with_columns(*((pl.col(name) * factor).alias(name) for name in rates)).select(
                *_CELL,
                "line",
                pl.concat_str(pl.lit("per " + words), pl.col("work_unit")).alias("counted"),
                "writes",
                pl.col("writes_low").alias("from"),
                pl.col("writes_high").alias("to"),
                "loads",
                pl.col("cas_failures").alias("failed CAS"),
                "trials",
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame()


def event_table(rates: pl.DataFrame) -> pl.DataFrame:
    """A row per branch and thread count, a column per event of `HEADLINE`.

    In: rows of `events.headline_rates` with `panel`.
    """
    parts = []
    for part in rates.partition_by("panel", maintain_order=True):
        factor, words = scale(part["per_unit"])
        present = [event for event in HEADLINE if event in set(part["event"])]
        wide = part.with_columns(pl.col("per_unit") * factor).pivot(
            "event", index=["panel", "branch", "threads", "work_unit"], values="per_unit"
        )
        parts.append(
            wide.select(
                *_CELL,
                pl.concat_str(pl.lit("per " + words), pl.col("work_unit")).alias("counted"),
                *(pl.col(event).alias(HEADLINE[event]) for event in present),
            )
        )
    return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()


def spent_table(shares: pl.DataFrame) -> pl.DataFrame:
    """A row per configuration, a column per key of `simulated.SPENT_ON` with its share.

    In: rows of `frames.SPENT_SHARES` with `panel`.
    """
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


def line_wait_table(rates: pl.DataFrame) -> pl.DataFrame:
    """Pairs of source lines. In: rows of `frames.LINE_WAIT_RATES` with `panel`."""
    return rates.select(
        pl.col("panel").alias("workload"),
        "threads",
        "branch",
        _whole_percent("share").alias("of waiting"),
        _whole_percent("core_share").alias("of all time"),
        pl.col("at").str.strip_prefix(POOL).alias("source line"),
        pl.col("written_at").str.strip_prefix(POOL).fill_null("no thread").alias("written by"),
        pl.col("ns_per_unit").alias("waited ns per unit"),
        pl.col("transfers_per_unit").alias("transfers per unit"),
        pl.col("transfers_per_iteration").round(1).alias("per iteration"),
        pl.col("work_unit").alias("unit"),
    )


def _whole_percent(column: str) -> pl.Expr:
    return pl.format("{}\N{NO-BREAK SPACE}%", (pl.col(column) * 100).round(1)).alias(column)


def latency_table(waits: pl.DataFrame) -> pl.DataFrame:
    """A row per configuration and kind of latency, a column per quantile, in µs.

    In: rows of `frames.LATENCIES` with `panel`.
    """
    wide = waits.with_columns(pl.col("wait_us").round(1)).pivot(
        "quantile", index=["panel", "branch", "threads", "kind", "trials"], values="wait_us"
    )
    present = [quantile for quantile in QUANTILES if quantile in wide.columns]
    return wide.select(
        *_CELL, pl.col("kind").replace_strict(KINDS).alias("latency"), *present, "trials"
    )


def rounded(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with all fractions rounded to three places."""
    return frame.with_columns(pl.col(pl.Float64).round(3))


def cost_table(costs: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.COSTS` that a reader needs, times in µs. In: rows with `panel`."""
    return rounded(
        costs.select(
            *_CELL,
            (pl.col("ns_per_unit") / 1e3).alias("wall µs per unit"),
            (pl.col("cpu_ns_per_unit") / 1e3).alias("CPU µs per unit"),
            pl.col("cpus_busy").alias("CPUs busy"),
            pl.col("cpus_busy_low").alias("from"),
            pl.col("cpus_busy_high").alias("to"),
            pl.col("cpus_idle").alias("CPUs idle"),
            "trials",
        )
    )


def placement_table(placed: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.PLACEMENTS` that a reader needs, ratios as changes in per cent."""
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


def ledger_table(ledger: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.LEDGER` under names for people."""
    return ledger.select("what", "reason", "branch", pl.col("left_out").alias("left out"), "of")


def claim_table(claims: pl.DataFrame, workloads: list[str]) -> pl.DataFrame:
    """One row per pre-registered hypothesis, with its text and result.

    In: rows of `frames.CLAIMS`, and the workloads of the sweep.
    """
    return claims.select(
        "branch",
        pl.struct("expect", "against", "quantity", "workloads", "threads")
        .map_elements(lambda claim: claim_in_words(claim, workloads), return_dtype=pl.String)
        .alias("hypothesis"),
        *_outcome(),
    )


def claim_detail_table(details: pl.DataFrame) -> pl.DataFrame:
    """Hypotheses by workload, those that are held or falsified first.

    In: `frames.CLAIM_DETAILS` with `panel`.
    """
    rank = pl.col("verdict").replace_strict(
        {HELD: 0, FALSIFIED: 1, OPEN: 2, UNTESTED: 3}, return_dtype=pl.Int64
    )
    return details.sort("claim", rank, "time_ratio").select(
        "claim",
        "branch",
        pl.col("panel").alias("workload"),
        pl.col("at_threads").alias("threads"),
        pl.col("quantity").replace_strict(QUANTITY_NAMES),
        *_outcome(),
    )


def claim_in_words(claim: dict[str, Any], workloads: list[str]) -> str:
    """The text of a hypothesis, such as `as fast as master on all workloads but quicksort, up to the CPUs`.

    Args:
        claim: `expect`, `against`, `quantity`, `workloads` and `threads` of a row of
            `frames.CLAIMS`.
        workloads: those of the sweep. For a long list the text names the workloads that it leaves out.
    """
    words = EXPECTATIONS[claim["expect"]] + str(claim["against"])
    words += " in CPU time" if claim["quantity"] == "cpu" else ""
    named = claim["workloads"].split(",") if claim["workloads"] else []
    inside = [name for name in workloads if name in named]
    left_out = [name for name in workloads if name not in named]
    if named and not inside:
        words += f" on {', '.join(named[:FEW_NAMES])}" + (
            " and others" if len(named) > FEW_NAMES else ""
        )
    elif named and left_out and len(inside) > FEW_NAMES >= len(left_out):
        words += f" on all workloads but {' and '.join(left_out)}"
    elif named and left_out and len(inside) > MANY_NAMES:
        words += f" on {len(inside)} of {len(workloads)} workloads"
    elif named and left_out:
        words += f" on {' and '.join(inside)}"
    return words + (f", {threads_in_words(claim['threads'])}" if claim["threads"] else "")


def threads_in_words(text: str) -> str:
    """The text of a range of threads: `16..=cpus` is `16 threads up to the CPUs`."""
    ends = {"cpus": "the CPUs", "cores": "the cores"}
    first, dots, last = text.partition("..")
    last = last.removeprefix("=")
    if not dots:
        return (
            f"as many threads as {ends[first].removeprefix('the ')}"
            if first in ends
            else count(int(first), "thread")
        )
    up_to = f"up to {ends.get(last, count(int(last), 'thread') if last.isdecimal() else last)}"
    if not first:
        return up_to
    begin = count(int(first), "thread") if first.isdecimal() else ends[first]
    return f"{begin} and more" if not last else f"{begin} {up_to}"


def _outcome() -> list[pl.Expr | str]:
    """Columns with the result of a hypothesis."""
    return [
        pl.col("verdict").alias("result"),
        *_changes(),
        detectable_column(),
        pl.col("cells").alias("configurations"),
        pl.col("p_holm").round(3).alias("p corrected"),
        "reason",
    ]


def _changes() -> list[pl.Expr]:
    """Ratio, interval and noise floor as changes in per cent."""
    band = ((pl.col("band") - 1) * 100).round(1).cast(pl.String)
    ends = (_change("ratio_low", "from"), _change("ratio_high", "to"))
    return [
        _change("time_ratio", "change"),
        *ends,
        pl.format("±{}\N{NO-BREAK SPACE}%", band).alias("noise floor"),
    ]


def _change(ratio: str, name: str) -> pl.Expr:
    return pl.col(ratio).map_elements(percent, return_dtype=pl.String).alias(name)


READABLE: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "speedups": speedup_table,
    "comparisons": comparison_table,
    "lines": line_table,
    "writes-per-push": lambda rows: rows.pivot(
        "branch", index=["panel", "threads"], values="writes_per_push", maintain_order=True
    ).rename({"panel": "workload"}),
    "spent": spent_table,
    "line-waits": line_wait_table,
    "box": box_table,
    "latencies": latency_table,
    "claim-details": claim_detail_table,
    "costs": cost_table,
    "placements": placement_table,
    "ledger": ledger_table,
}
"""The function that selects the columns for people, by table; other tables print their frame."""
