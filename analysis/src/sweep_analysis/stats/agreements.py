"""Counts trials with the sequential program's answer, for experiments about answers."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import AGREEMENTS
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.request import Place, Request
from sweep_analysis.read.schema import PARALLEL, SEQUENTIAL, WORDS

_LOAD = ["workload", "size", "parameters"]


def agreements(sweep: Sweep, asked: Request) -> pl.DataFrame:
    """Make a row for each load and branch, in the order of the plan; a row pools all thread counts, modes and placements.

    Out: rows of `frames.AGREEMENTS`.
    """
    ended = (
        sweep.trials.group_by(["program", *_LOAD, "branch", "outcome", "answer"])
        .agg(pl.len().alias("trials"))
        .collect()
        .with_columns(WORDS)
    )

    def of(program: str, place: Place) -> pl.DataFrame:
        return ended.filter(program=program, **dict(zip(_LOAD, place, strict=True)))

    first: dict[Place, Place] = {}
    rows = []
    for load in asked.loads:
        known = of(SEQUENTIAL, first.setdefault(load.sequential, load.place))
        answers = known.filter(outcome="ok")["answer"].drop_nulls().unique()
        expected = answers[0] if answers.len() == 1 else None
        for branch in asked.branches:
            own = of(PARALLEL, load.place).filter(branch=branch)
            is_ok, is_hung = pl.col("outcome") == "ok", pl.col("outcome") == "hang"
            numbers = {
                "trials": pl.lit(value=True),
                "agreeing": is_ok & (pl.col("answer") == pl.lit(expected, pl.String)),
                "hung": is_hung,
                "failed": ~is_hung & (~is_ok | pl.col("answer").is_null()),
            }
            rows.append(
                {
                    "workload": load.place[0],
                    "way": load.way(),
                    "instance": load.own(is_sequential=True),
                    "expected": expected,
                    "branch": branch,
                    **{name: own.filter(which)["trials"].sum() for name, which in numbers.items()},
                }
            )
    return pl.DataFrame(rows, schema=AGREEMENTS)
