"""Makes the ledger: the data that figures exclude, with amounts and reasons."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.frames import LEDGER
from sweep_analysis.read.labels import QUANTITY_NAMES
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import CELL, CELL_SET, PARALLEL, TWIN_SUFFIX
from sweep_analysis.stats.bursts import bursts
from sweep_analysis.stats.compare import QUANTITIES, TESTED
from sweep_analysis.stats.speedup import with_time_outs


def ledger(sweep: Sweep, times: pl.LazyFrame, baseline: str | None) -> pl.DataFrame:
    """Count the data that figures leave out, by reason: rows of `frames.LEDGER`. In: rows of `frames.TIMES`."""
    torn = [_row("records", note, None, 1, None) for note in sweep.notes if "torn" in note]
    rows = torn + _trials(sweep)
    frame = times.collect()
    pool = frame.select(*CELL, "block").filter(pl.col("program") == PARALLEL)
    rows += _pairs(pool, baseline) + _cells(pool)
    rows += _zeros(frame)
    struck = (
        0 if sweep.machine else bursts(with_time_outs(sweep, frame).lazy(), "ns_per_unit").height
    )
    if struck:
        reason = "a burst of other work (in wall time)"
        rows.append(_row("blocks of comparisons", reason, None, struck, pool["block"].n_unique()))
    warmups = sweep.manifest.get("asked", {}).get("warmup_iterations", 0) * frame.height
    if warmups:
        total = int(frame["iterations"].sum()) + warmups
        rows.append(_row("iterations", "warm-up", None, warmups, total))
    return pl.DataFrame(rows, schema=LEDGER)


def _row(
    what: str, reason: str, branch: str | None, left_out: int, of: int | None
) -> dict[str, Any]:
    return {"what": what, "reason": reason, "branch": branch, "left_out": left_out, "of": of}


def _trials(sweep: Sweep) -> list[dict[str, Any]]:
    """Failed trials by branch and outcome, and trials that counted events instead of time."""
    rows = []
    for trials, text in ((sweep.trials, "failed: {}"), (sweep.counted, "counted, and failed: {}")):
        per_branch = trials.with_columns(pl.len().over("branch").alias("of"))
        failed = (
            per_branch.filter(pl.col("outcome") != "ok")
            .group_by("branch", "outcome", "of")
            .len()
            .collect()
        )
        for branch, outcome, of, number in failed.sort("branch", "outcome").rows():
            rows.append(_row("trials", text.format(outcome), branch, number, of))
    counted = (
        sweep.counted.filter(pl.col("outcome") == "ok")
        .group_by("branch")
        .len()
        .sort("branch")
        .collect()
    )
    rows += [
        _row("trials", "counted, so never timed", branch, number, number)
        for branch, number in counted.rows()
    ]
    return rows


def _pairs(pool: pl.DataFrame, baseline: str | None) -> list[dict[str, Any]]:
    if baseline is None:
        return []
    paired = pool.filter(pl.col("branch") == baseline).select("block")
    others = pool.filter(pl.col("branch") != baseline)
    lonely = others.join(paired, on="block", how="anti").group_by("branch").len().sort("branch")
    of = dict(others.group_by("branch").len().rows())
    return [
        _row("pairs", f"no good trial of {baseline} in the block", branch, number, of[branch])
        for branch, number in lonely.rows()
    ]


def _zeros(times: pl.DataFrame) -> list[dict[str, Any]]:
    own = times.filter(pl.col("program") == PARALLEL)
    rows = []
    for quantity in TESTED:
        column = QUANTITIES[quantity]
        told = own.select(*CELL, column).drop_nulls(column)
        zeros = told.filter((pl.col(column) <= 0).any().over(CELL))
        if zeros.height:
            reason = f"a zero in their configuration has no ratio (in {QUANTITY_NAMES[quantity]})"
            rows.append(_row("trials of comparisons", reason, None, zeros.height, told.height))
    return rows


def _cells(pool: pl.DataFrame) -> list[dict[str, Any]]:
    """Sets of configurations that some branch's means exclude, because that branch has no good trial of them."""
    if pool.is_empty():
        return []
    every = pool["branch"].n_unique()
    present = pool.group_by(CELL_SET).agg(pl.col("branch").unique().alias("present"))
    short = present.filter(pl.col("present").list.len() < every)
    branches = set(pool["branch"])
    missing = sorted({name for found in short["present"] for name in branches - set(found)})
    named = ", ".join(name for name in missing if not name.endswith(TWIN_SUFFIX)) or ", ".join(
        missing
    )
    reason = f"not all branches have it (missing: {named})"
    return (
        [_row("configurations of means", reason, None, short.height, present.height)]
        if short.height
        else []
    )
