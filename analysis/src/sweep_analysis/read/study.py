"""Reads the 2022 study's own files: a folder of `speedup-<branch>-<threads>-threads.csv`.

Each row is a run: a `name` (the workload) and a time in a column `time_ns`, `time_us`, `time_ms` or
`time_s`. The branch `sequential` is the program without a pool. Branches ran one after another, not
in blocks. Runs are paired by their number, which does not remove drift.

Blank lines are ignored. A file with other columns is refused, because rows that differ in such a column are not
repeats of one run.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from sweep_analysis.read.errors import InputError, check_regular
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import FREE, ITERATIONS, PARALLEL, SEQUENTIAL, TRIALS

FILES = "speedup-*.csv"
_NAME = re.compile(
    r"speedup-(?P<branch>[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+)-(?P<threads>[1-9][0-9]{0,5})-threads\.csv"
)
_UNITS = {"time_ns": 1, "time_us": 1_000, "time_ms": 1_000_000, "time_s": 1_000_000_000}
_NO_NAME = r"^$|[\x00-\x1f\x7f-\x9f]"
_SHORTEST_NS, _LONGEST_NS = 0.5, 2**62
_BASELINE = "master"
_ORDER = (
    "These are files of the 2022 study, whose branches ran one after another. So a change of the host between two "
    "branches counts as a difference between them."
)


def read_study(folder: Path) -> Sweep:
    """Read all files of the study in `folder`, each run as a trial of one iteration.

    Raises:
        InputError: the name, columns or values of a file differ from the form above.
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
    notes = [_ORDER]
    baseline = _BASELINE if _BASELINE in branches else None
    if baseline is None:
        notes.append(f"There is no branch {_BASELINE}, so nothing is compared.")
    return Sweep(folder, {}, {}, trials, iterations, branches, baseline, notes=notes)


def _semicolons(file: Path) -> str:
    """Name semicolons in the first line, which spreadsheets write between columns where numbers have commas."""
    try:
        head = file.read_text("utf-8").partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        return ""
    return "; its columns are separated by `;`" if ";" in head else ""


def _read(file: Path) -> pl.DataFrame:
    """Rows with `workload`, `branch`, `threads` and `elapsed_ns`."""
    named = _NAME.fullmatch(file.name)
    if named is None:
        what = "the name is not `speedup-<branch>-<threads>-threads.csv`"
        raise InputError(file, what, "rename or remove it")
    remedy = f"write CSV in UTF-8 with commas between the columns `name` and one of {', '.join(_UNITS)}, and points in numbers"
    try:
        check_regular(file)
        table = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(file, f"cannot be read ({why}){_semicolons(file)}", remedy) from error
    table = table.rename(str.strip)
    times = [name for name in table.columns if name in _UNITS]
    if sorted(table.columns) != sorted(["name", *times[:1]]) or not times:
        raise InputError(file, f"its columns are {table.columns}", remedy)
    stripped = table.select(pl.all().str.strip_chars()).with_row_index("line", 2)
    runs = stripped.filter(~pl.all_horizontal(pl.col("name", times[0]).fill_null("") == ""))
    elapsed = pl.col(times[0]).cast(pl.Float64, strict=False) * _UNITS[times[0]]
    is_run = ~pl.col("name").str.contains(_NO_NAME) & elapsed.is_between(_SHORTEST_NS, _LONGEST_NS)
    for line, name, time in runs.filter(~is_run.fill_null(value=False)).iter_rows():
        what = f"a row needs a name and a positive time, but has {name!r} and {time!r}"
        raise InputError(f"{file}:{line}", what, remedy)
    if runs.is_empty():
        raise InputError(file, "it has no runs", "export it again, or remove it from the folder")
    return runs.select(
        workload="name",
        branch=pl.lit(named["branch"]),
        threads=pl.lit(int(named["threads"]), pl.Int64),
        elapsed_ns=elapsed.round().cast(pl.Int64),
    )
