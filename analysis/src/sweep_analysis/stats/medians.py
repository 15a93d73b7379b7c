"""Computes the median of each configuration and its ratio to the baseline, for the table of a sweep, without tests."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.catalogue import is_paced
from sweep_analysis.read.frames import MEDIANS
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.request import Load, Request
from sweep_analysis.read.schema import PARALLEL, SEQUENTIAL, WORDS

_LOAD = ["workload", "size", "parameters"]
_CONDITION = ["mode", "placement"]
_SET = ["program", *_LOAD, *_CONDITION, "threads"]


def medians(sweep: Sweep, asked: Request, times: pl.DataFrame) -> pl.DataFrame:
    """Compute medians and ratios of every configuration, in the order of the plan.

    In:  rows of `frames.TIMES` of the sweep.
    Out: rows of `frames.MEDIANS`. A ratio is the median over blocks, so that drift does not change it.
    """
    cells = {
        (
            row["program"],
            *(row[name] for name in (*_LOAD, *_CONDITION)),
            row["threads"],
            row["branch"],
        ): row
        for row in _cells(sweep, times).iter_rows(named=True)
    }
    first: dict[Any, Load] = {}
    for load in asked.loads:
        first.setdefault(load.sequential, load)
    threads = sorted({key[-2] for key in cells})
    rows = []
    for load in asked.loads:
        for condition in asked.conditions:
            alone = (1, asked.names[0])
            reference = cells.get((SEQUENTIAL, *first[load.sequential].place, *condition, *alone))
            rows.append(_row(load, cells.get((SEQUENTIAL, *load.place, *condition, *alone)), None))
            rows += [
                _row(load, cells.get((PARALLEL, *load.place, *condition, number, name)), reference)
                for number in threads
                for name in asked.names
            ]
    return pl.DataFrame([row for row in rows if row], schema=MEDIANS)


def _row(
    load: Load, cell: dict[str, Any] | None, reference: dict[str, Any] | None
) -> dict[str, Any] | None:
    """A row of `frames.MEDIANS`; `reference` is the configuration of the sequential program."""
    if cell is None:
        return None
    is_sequential = cell["program"] == SEQUENTIAL
    base, own = (reference or {}).get("unit_ns"), cell["unit_ns"]
    if is_sequential:
        base = own
    workload, size, _ = load.place
    return {
        **{name: cell.get(name) for name in MEDIANS},
        "parameters": load.own(is_sequential=is_sequential),
        "paced": is_paced(workload, size, load.parameters),
        "trials": cell["trials"] or 0,
        "speed_up": base / own if base and own else None,
    }


def _cells(sweep: Sweep, times: pl.DataFrame) -> pl.DataFrame:
    """Make a row for each configuration, with the numbers from its own trials and from the baseline's trials."""
    cell = [*_SET, "branch"]
    recorded = sweep.trials.group_by(cell).agg(
        (pl.col("outcome") != "ok").sum().alias("failed"), pl.col("oversubscribed").last()
    )
    timed = (
        times.lazy()
        .group_by(cell)
        .agg(
            pl.len().alias("trials"),
            pl.col("elapsed_ns").median().alias("median_ns"),
            pl.col("cpu_ns").median(),
            pl.col("ns_per_unit").median().alias("unit_ns"),
        )
    )
    whole = recorded.collect().with_columns(WORDS)
    for part in (timed.collect(), _ratios(sweep, times)):
        whole = whole.join(part.with_columns(WORDS), on=cell, how="left")
    return whole


def _ratios(sweep: Sweep, times: pl.DataFrame) -> pl.DataFrame:
    """Compute `ratio` and `cpu_ratio` of each parallel configuration, except those of the baseline."""
    costs = {"ratio": "ns_per_unit", "cpu_ratio": "cpu_ns_per_unit"}
    pool = times.filter(pl.col("program") == PARALLEL).select(
        *_SET, "block", "branch", *costs.values()
    )
    is_base = pl.col("branch") == (sweep.baseline or "")
    base = pool.filter(is_base).drop("branch").unique([*_SET, "block"], keep="last")
    ratios = [
        (pl.col(cost) / pl.col(f"{cost}_base"))
        .log()
        .filter(pl.col(cost) > 0, pl.col(f"{cost}_base") > 0)
        .median()
        .exp()
        .alias(name)
        for name, cost in costs.items()
    ]
    return (
        pool.filter(~is_base)
        .join(base, on=[*_SET, "block"], suffix="_base")
        .group_by([*_SET, "branch"])
        .agg(ratios)
    )
