"""Counts the runs that hung, and the work that good and hung runs finished.

A lost wake-up stops a program for good, so experiments on lost wake-ups count hangs. If a run hung, its
record has the number of finished iterations, including warm-ups, of which these experiments have none. If a run failed in another way, its record lacks this
number, so such runs are counted separately, without their work.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.frames import HANGS, cast_to
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, PLACE, WORDS

NO_THREAD, PUSHER, SLEEPER = "no thread", "the thread that pushes", "the thread that goes to sleep"
"""The thread that fences, so that no sleeper misses a job on a worker's own deque (rayon-fork/src/sleep/README.md, 9)."""

_FENCED_BY = {
    "demand": SLEEPER,
    "asymmetric-fence": SLEEPER,
    "push-fence": PUSHER,
    "no-jec": PUSHER,
}
"""The fencing thread by feature of the fork; if a build has several of these features, the first one decides."""


def hangs(sweep: Sweep) -> pl.DataFrame:
    """Count the good, hung and otherwise failed runs of each branch, and the work of the good and hung runs.

    Out: rows of `frames.HANGS`.
    """
    trials = sweep.trials.filter(pl.col("program") == PARALLEL)
    done = sweep.iterations.group_by("trial").agg(
        pl.col("work_units").sum(), each=pl.col("work_units").first()
    )
    finished = pl.col("reason").str.extract(r"^iteration (\d+) got no further").cast(pl.Int64)
    of_cell = pl.col("each").drop_nulls().first().over(PLACE)
    told = pl.col("outcome").is_in(["ok", "hang"])
    units = pl.coalesce("work_units", finished * of_cell)
    counted = (
        trials.join(done, on="trial", how="left")
        .group_by("branch")
        .agg(
            told.sum().alias("runs"),
            (pl.col("outcome") == "hang").sum().alias("hung"),
            (~told).sum().alias("set_aside"),
            units.sum().alias("units"),
            pl.col("work_unit").drop_nulls().first().alias("unit"),
        )
        .with_columns(WORDS)
        .collect()
    )
    order = pl.DataFrame(
        {
            "branch": sweep.branches,
            "fenced_by": [_fenced_by(sweep, name) for name in sweep.branches],
        }
    )
    joined = order.join(counted, on="branch", maintain_order="left")
    return joined.select(cast_to(HANGS))


def _fenced_by(sweep: Sweep, branch: str) -> str:
    sources = [
        entry.get("source") or {}
        for entry in sweep.manifest.get("branches", [])
        if entry["name"] == branch
    ]
    features = {feature for source in sources for feature in source.get("features", [])}
    return next((who for feature, who in _FENCED_BY.items() if feature in features), NO_THREAD)
