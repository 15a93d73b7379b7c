"""Compares replays of recorded programs with the programs themselves.

A recording lacks the work of a program before its first use of a pool, and after its last use. One
thread does that work. So the prediction for two threads is the program's own time on one thread, less
the time that the replay saves by the second thread.
"""

from __future__ import annotations

from pathlib import PurePath

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.analysis import Analysis

MARGIN = 0.15
"""A prediction is accurate if it is within this factor of the measured time, either way."""

THRESHOLD = 0.8
"""Threshold: least share of accurate programs. It was set, as `MARGIN`, before any program was replayed."""


def replays(own: Analysis, replayed: list[Analysis]) -> pl.DataFrame:
    """One row per program, on the baseline.

    In: the sweep of the programs, and sweeps of `replay`, each of one recording with its program's name.
    Out: `workload`; its own median times `one_ms` and `two_ms`; `native` and `simulated`: the predicted
    time over `two_ms`.

    Raises:
        InputError: a replay is missing, or is of another branch.
    """
    table = _medians(own, "_ms").rename({"1_ms": "one_ms", "2_ms": "two_ms"})
    for kind in ("native", "simulated"):
        of_kind = [it for it in replayed if (it.sweep.machine is not None) == (kind == "simulated")]
        if any(it.baseline != own.baseline for it in of_kind):
            raise InputError(
                own.sweep.path,
                "a replay is of another branch",
                f"sweep `{own.baseline}` as its baseline",
            )
        saved = pl.concat(
            [_medians(it, "").select("workload", saved=pl.col("1") - pl.col("2")) for it in of_kind]
        )
        ratio = (pl.col("one_ms") - pl.col("saved")) / pl.col("two_ms")
        table = (
            table.join(saved, on="workload", how="left")
            .with_columns(ratio.alias(kind))
            .drop("saved")
        )
    for name in table.filter(pl.any_horizontal(pl.col("native", "simulated").is_null()))[
        "workload"
    ]:
        raise InputError(
            own.sweep.path,
            f"`{name}` lacks a measured or a simulated replay",
            "sweep `replay` on this host and with `--machine here`",
        )
    return table.sort("workload")


def is_near(kind: str) -> pl.Expr:
    """Whether a prediction of this kind is accurate."""
    return pl.col(kind).is_between(1 / (1 + MARGIN), 1 + MARGIN)


def _medians(analysis: Analysis, ending: str) -> pl.DataFrame:
    """Median times in ms by program, on one and on two threads."""
    recorded = pl.col("input").map_elements(
        lambda path: PurePath(path).stem, return_dtype=pl.String
    )
    cells = analysis.times.filter(program=PARALLEL, branch=analysis.baseline).with_columns(
        workload=pl.when(pl.col("input") == "").then("workload").otherwise(recorded)
    )
    columns = [
        (pl.col("elapsed_ns").filter(pl.col("threads") == threads).median() / 1e6).alias(
            f"{threads}{ending}"
        )
        for threads in (1, 2)
    ]
    return cells.group_by("workload").agg(columns)
