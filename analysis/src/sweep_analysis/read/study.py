"""Reads the 2022 study's own files: a folder of `speedup-<branch>-<threads>-threads.csv`.

Each row is a run: a `name` (the workload) and a time in a column `time_ns`, `time_us`, `time_ms` or
`time_s`. The branch `sequential` is the program without a pool. Branches ran one after another, not
in blocks: runs are paired by their number, which takes out no drift.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import FREE, ITERATIONS, PARALLEL, SEQUENTIAL, TRIALS

FILES = "speedup-*-threads.csv"
_NAME = re.compile(r"speedup-(?P<branch>.+)-(?P<threads>[1-9][0-9]*)-threads\.csv")
_UNITS = {"time_ns": 1, "time_us": 1_000, "time_ms": 1_000_000, "time_s": 1_000_000_000}
_BASELINE = "master"
_ORDER = (
    "These are files of the study's layout: branches ran one after another, so what changed on the host between "
    "them counts as a difference between branches."
)


def read_study(folder: Path) -> Sweep:
    """Read all files of the study in `folder`, each run as a trial of one iteration.

    Raises:
        InputError: a file's name, columns or values are not as above.
    """
    rows = pl.concat(_read(file) for file in sorted(folder.glob(FILES)))
    branches = [name for name in rows["branch"].unique(maintain_order=True) if name != SEQUENTIAL]
    is_pool = pl.col("branch") != SEQUENTIAL
    cell = pl.concat_str("workload", "branch", "threads", separator="/")
    run = pl.int_range(pl.len()).over("workload", "branch", "threads")
    known = rows.with_columns(replicate=run, block=run, cell=cell).with_columns(
        trial=pl.concat_str("cell", "replicate", separator="/"),
        program=pl.when(is_pool).then(pl.lit(PARALLEL)).otherwise(pl.lit(SEQUENTIAL)),
        branch=pl.when(is_pool).then("branch").otherwise(pl.lit(_BASELINE)),
        threads=pl.when(is_pool).then("threads").otherwise(1),
        position=0, size=pl.lit("study"), parameters=pl.lit(""), mode=pl.lit("unknown"),
        placement=pl.lit(FREE), freq_state=pl.lit("unknown"), oversubscribed=False, outcome=pl.lit("ok"),
        iteration=0, user_ns=0, system_ns=0, work_units=1,
    )  # fmt: skip
    trials, iterations = (
        known.lazy().select(
            (pl.col(name) if name in known.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in schema.items()
        )
        for schema in (TRIALS, ITERATIONS)
    )
    baseline = _BASELINE if _BASELINE in branches else None
    return Sweep(folder, {}, {}, trials, iterations, branches, baseline, notes=[_ORDER])


def _read(file: Path) -> pl.DataFrame:
    """Rows with `workload`, `branch`, `threads` and `elapsed_ns`."""
    named = _NAME.fullmatch(file.name)
    try:
        frame = pl.read_csv(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(file, f"not a CSV file: {error}", "export it again") from error
    times = [name for name in frame.columns if name in _UNITS]
    if named is None or "name" not in frame.columns or len(times) != 1:
        remedy = (
            f"speedup-<branch>-<threads>-threads.csv with `name` and one of {', '.join(_UNITS)}"
        )
        raise InputError(file, f"its columns are {frame.columns}", remedy)
    elapsed = (frame[times[0]].cast(pl.Float64, strict=False) * _UNITS[times[0]]).round()
    bad = (
        ~elapsed.is_between(1, 2.0**62).fill_null(value=False) | frame["name"].is_null()
    ).arg_true()
    if len(bad):
        what = (
            f"`name` is {frame['name'][bad[0]]!r} and `{times[0]}` is {frame[times[0]][bad[0]]!r}"
        )
        raise InputError(f"{file}:{bad[0] + 2}", what, "every row needs a name and a positive time")
    return frame.select(
        pl.col("name").alias("workload"),
        branch=pl.lit(named["branch"]),
        threads=pl.lit(int(named["threads"]), pl.Int64),
        elapsed_ns=elapsed.cast(pl.Int64),
    )
