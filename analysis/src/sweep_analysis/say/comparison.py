"""Writes one comparison as text, with its builds and the detectable change.

Terminal, page and documents all use this module, so that a comparison has the same words everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from sweep_analysis.read.labels import (
    QUANTITY_NAMES,
    count,
    percent,
    ranges,
    with_panel,
    without_size,
)
from sweep_analysis.read.schema import PANEL
from sweep_analysis.stats.compare import FASTER, POOLED, SLOWER, UNCLEAR, kind_of_cell

FEW_COUNTS = 3
"""If a row pools more thread counts than this, its text names only the first and the last."""
_SAYS = {"p50": ("has", "lower", "higher"), "p99": ("has", "lower", "higher")}
"""Verb and directions of latencies; the verb of time and CPU time is `takes`."""
_UNCHANGED = percent(1.0)


def in_words(
    row: dict[str, Any],
    against: str = "",
    place: str = "",
    notes: Sequence[str] = (),
    *,
    name: Callable[[str], str] = str,
    which: str = "",
) -> str:
    """Write one comparison: the change, its place, and its 95 % interval.

    In: a row of `frames.COMPARISONS`, or a row that pools several sweeps. `notes` follow the interval.

    Out: `−7.8 % CPU time on ticks (−9.1 % to −6.4 %)`. With `against`, a clause:
    `champion takes 7.8 % less CPU time than master on ticks (−9.1 % to −6.4 %)`, where `name`
    formats the names of branches. `which` names the interval if the context does not.
    """
    what, change = QUANTITY_NAMES[row["quantity"]], percent(row["time_ratio"])
    where = f" {place}" if place else ""
    bounds = interval(row)
    beside = _in_brackets([which + bounds if bounds else "", *notes])
    if not against:
        return f"{change} {what}{where}{beside}"
    verb, less, more = _SAYS.get(row["quantity"], ("takes", "less", "more"))
    branch, other = name(row["branch"]), name(against)
    if change == _UNCHANGED:
        return f"{branch} {verb} the same {what} as {other}{where}{beside}"
    direction = less if row["time_ratio"] < 1 else more
    return f"{branch} {verb} {change[1:]} {direction} {what} than {other}{where}{beside}"


def interval(row: dict[str, Any]) -> str:
    """The 95 % interval of a comparison; empty if there is none."""
    low, high = row["ratio_low"], row["ratio_high"]
    return "" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def marked(row: dict[str, Any]) -> str:
    """The change without its interval, for a cell of a table; bold if significant."""
    change = percent(row["time_ratio"])
    return f"**{change}**" if row["verdict"] in (FASTER, SLOWER) else change


def place_of(comparisons: pl.DataFrame, row: dict[str, Any], *, code: bool = False) -> str:
    """The place of a row: `on ticks with 4 threads`, `over 18 configurations of 7 programs …`.

    In: all rows of the decisions, and the row to describe.
    """
    where = f"over {programs(comparisons, row)}" if row["workload"] is None else ""
    if not where:
        panel = panel_of(comparisons, row)
        where = f"on `{panel}`" if code else f"on {panel}"
    threads = threads_of(comparisons, row)
    return f"{where} with {threads}" if threads else where


def panel_of(comparisons: pl.DataFrame, row: dict[str, Any]) -> str:
    """The name of a row's workload from `labels.with_panel`."""
    if row.get("panel"):
        return str(row["panel"])
    named = without_size(with_panel(comparisons))
    return str(named.filter(_here(row))["panel"][0])


def programs(comparisons: pl.DataFrame, row: dict[str, Any]) -> str:
    """The numbers of programs and of configurations that a row pools.

    The same program with other parameters counts as another configuration, not as another program.
    """
    own = same_branch(comparisons, row)
    at = (
        {"level": "workload"}
        if row["threads"] is None
        else {"level": "cell", "threads": row["threads"]}
    )
    own = own.filter(**at)
    configurations, named = own.height, count(own["workload"].n_unique(), "program")
    if configurations == own["workload"].n_unique():
        return f"{named} together"
    return f"{count(configurations, 'configuration')} of {named} together"


def threads_of(comparisons: pl.DataFrame, row: dict[str, Any]) -> str:
    """The thread count of a row, or the thread counts that the row pools, as text."""
    numbers, is_oversubscribed = pooled_counts(comparisons, row)
    if not numbers:
        return ""
    named = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > FEW_COUNTS else ranges(numbers)
    beyond = ", more than CPUs" if is_oversubscribed and row["threads"] is None else ""
    return f"{named} {'thread' if numbers == [1] else 'threads'}{beyond}"


def pooled_counts(comparisons: pl.DataFrame, row: dict[str, Any]) -> tuple[list[int], bool]:
    """The thread counts that a row pools, and whether they exceed the CPUs."""
    if row["threads"] is not None:
        return [int(row["threads"])], bool(row["oversubscribed"])
    cells = same_branch(comparisons, row).filter(level="cell")
    if row["level"] == "workload":
        # A mean excludes bimodal configurations; if all configurations are bimodal, the text names all.
        cells = cells.filter(_here(row))
        tested = cells.filter(~pl.col("is_bimodal"))
        cells = cells if tested.is_empty() else tested
    cells = cells.with_columns(kind=kind_of_cell()).filter(pl.col("kind") == pl.col("kind").min())
    if cells.is_empty():
        return [], False
    return cells["threads"].unique().sort().to_list(), cells["kind"][0] == len(POOLED) - 1


def counted_once(rows: pl.DataFrame) -> pl.DataFrame:
    """Select rows of `frames.COMPARISONS` so that each comparison occurs once.

    A row that pools one configuration repeats its row of level `cell`.
    """
    return rows.filter((pl.col("level") == "cell") | (pl.col("cells") > 1))


def same_branch(comparisons: pl.DataFrame, row: dict[str, Any]) -> pl.DataFrame:
    """The comparisons with the baseline, branch and quantity of `row`."""
    return comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    )


def _here(row: dict[str, Any]) -> pl.Expr:
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in PANEL)


def _in_brackets(notes: list[str]) -> str:
    told = "; ".join(note for note in notes if note)
    return f" ({told})" if told else ""


MOST_TOLD = 10
"""A detectable ratio above this limit is written as a bound, without its size."""


def detectable(row: dict[str, Any]) -> str:
    """The detectable change of an inconclusive row of `frames.COMPARISONS`; empty if unknown."""
    ratio = row["detectable"]
    return f"detectable: {size(ratio)}" if ratio else ""


def detectable_of(rows: pl.DataFrame) -> str:
    """The median and the largest detectable change of all inconclusive rows, in brackets."""
    known = rows.filter(verdict=UNCLEAR)["detectable"].drop_nulls().sort()
    if known.is_empty():
        return ""
    middle, most = size(known[(known.len() - 1) // 2]), size(known[-1])
    both = middle if middle == most else f"median {middle}, largest {most}"
    return f" (detectable: {both})"


def detectable_column() -> pl.Expr:
    """The detectable change of each row, as a column of a table."""
    return pl.col("detectable").map_elements(size, return_dtype=pl.String)


def builds(row: dict[str, Any]) -> str:
    """The smallest and the largest change of a build of a row, and the median, which pooled sweeps lack."""
    low, median, high = (row[name] for name in ("build_low", "build_median", "build_high"))
    if low is None or high is None:
        return "unknown"
    middle = f", median {percent(median)}" if median is not None else ""
    return f"{percent(low)} to {percent(high)}{middle}"


def builds_column(name: str) -> pl.Expr:
    """`builds` of each row, as a column of a table."""
    columns = ("build_low", "build_median", "build_high")
    return pl.struct(columns).map_elements(builds, return_dtype=pl.String).alias(name)


def size(ratio: float) -> str:
    """Format a detectable ratio as a change in per cent, and a very large ratio as a lower bound."""
    if ratio < MOST_TOLD:
        return f"{(ratio - 1) * 100:.1f}\N{NO-BREAK SPACE}%"
    return f"above {(MOST_TOLD - 1) * 100}\N{NO-BREAK SPACE}%"
