"""Reads the 2022 study's own layout: `<date>/speedup-<branch>-<threads>-threads.csv`.

The study's notebook shows the file names and that rows have a `name` (the algorithm); the threads
and the branch come from the file's name. The rest is read strictly, as follows.

* A time per row: a column `time_ns`, `time_us`, `time_ms` or `time_s`, or `elapsed_ns`; or `time`
  with its unit given.
* Several rows of one name are repeated runs, each taken as a trial of its own, in the order of the
  file.
* A column `program`, if there, says `sequential` or `parallel` for each row. Rows of a branch
  called `sequential` (`speedup-sequential-1-threads.csv`) are the program without a pool as well.
* Any other column is ignored, and so are blank lines. A file without a run, a missing value, or a
  time that is not a positive number, is an error.

Branches were run one after another, not in blocks: runs are paired by their number, which is as
good as any pairing of independent runs, but takes out no drift.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import FREE, ITERATIONS, PARALLEL, SEQUENTIAL, TRIALS

FILE_NAME = re.compile(r"speedup-(?P<branch>.+)-(?P<threads>[1-9][0-9]*)-threads\.csv")
TIME_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
"""Nanoseconds of each unit that a time may have."""
BASELINE = "master"
"""The study's baseline."""
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators of columns other than the comma. Files that use one of them have decimal commas, too."""
QUOTES = re.compile(r"^[\"'`]|[\"'`]$|^[^,]*,")
"""Quotes that the reader leaves in a name: of another kind, or around a whole line."""
TWICE = re.compile(r"_duplicated_\d+$")
"""The suffix that the library adds to a repeated name."""
MOST_NS = float(2**63)
"""Times are kept as signed 64-bit numbers of nanoseconds; a larger one is a mistake of units."""
_LINE = "line of the file"
"""No program calls a column so; `line` it may."""


def read_study(folder: Path, time_unit: str | None = None) -> Sweep:
    """Read all files of the study's layout in `folder`.

    Args:
        folder: the dated folder.
        time_unit: unit of a column `time`; columns that name their unit need none.

    Raises:
        InputError: no such file, a name that breaks the pattern, a column or value that cannot be
            read.
    """
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise InputError(
            folder,
            "no file `speedup-<branch>-<threads>-threads.csv`",
            "give the dated folder itself",
        )
    trials: list[dict[str, Any]] = []
    iterations: list[dict[str, Any]] = []
    for file in files:
        found = FILE_NAME.fullmatch(file.name)
        if found is None:
            raise InputError(
                file,
                "the name is not `speedup-<branch>-<threads>-threads.csv`",
                "rename or remove it",
            )
        # A pipe would be waited for.
        if not file.is_file():
            raise InputError(file, "it is no regular file", "rename or remove it")
        for row in _read_rows(file, time_unit).rows(named=True):
            trial, iteration = _trial(row, found["branch"], int(found["threads"]))
            trials.append(trial)
            iterations.append(iteration)
    branches = list(dict.fromkeys(trial["branch"] for trial in trials))
    baseline = BASELINE if BASELINE in branches else None
    order = (
        "These are files of the study's layout: branches ran one after another, so what changed on the host between "
        "them counts as a difference between branches."
    )
    notes = [order]
    if baseline is None:
        notes.append(f"There is no branch {BASELINE}, so nothing is compared.")
    _as_baselines(trials, baseline)
    return Sweep(
        path=folder,
        manifest={},
        host={},
        trials=pl.LazyFrame(trials, schema=TRIALS),
        iterations=pl.LazyFrame(iterations, schema=ITERATIONS),
        branches=[branch for branch in branches if branch != SEQUENTIAL],
        baseline=baseline,
        notes=notes,
    )


def _read_rows(file: Path, time_unit: str | None) -> pl.DataFrame:
    """Rows with `name`, `program`, `replicate` and `elapsed_ns`."""
    try:
        _check_text(file, file.read_bytes())
        columns = pl.read_csv(file, n_rows=0).columns
        other = [mark for mark in SEPARATORS if len(columns) == 1 and mark in columns[0]]
        if other:
            raise InputError(
                file,
                f"its columns are separated by {SEPARATORS[other[0]]}: {columns[0]!r}",
                "export it with commas between columns, and points in numbers",
            )
        quoted = [name for name in columns if QUOTES.search(name)]
        if quoted:
            raise InputError(
                file,
                f"its header has quotes that are no part of a name: {quoted[0]!r}",
                'write names and numbers without quotes, or each in its own `"`',
            )
        twice = [name for name in columns if TWICE.search(name)]
        if twice:
            raise InputError(
                file,
                f"column `{TWICE.sub('', twice[0])}` is there twice",
                "keep one of the two",
            )
        frame = pl.read_csv(file).with_row_index(_LINE, offset=2)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            file, f"not a CSV file: {str(error).splitlines()[0]}", "export it again"
        ) from error
    if "name" not in columns:
        raise InputError(file, f"no column `name` among {columns}", "each row names its algorithm")
    column, factor = _time_column(file, columns, time_unit)
    frame = frame.filter(~pl.all_horizontal(pl.col(columns).is_null()))
    if frame.is_empty():
        raise InputError(
            file, "it has a header and no runs", "export it again, or remove it from the folder"
        )
    elapsed = frame[column].cast(pl.Float64, strict=False)
    # NaN is above every number, and in no range.
    is_time = elapsed.is_between(0, MOST_NS / factor, closed="none").fill_null(value=False)
    bad = (~is_time | frame["name"].is_null()).arg_true()
    if len(bad):
        raise InputError(
            f"{file}:{frame[_LINE][bad[0]]}",
            f"`name` is {frame['name'][bad[0]]!r} and `{column}` is {frame[column][bad[0]]!r}",
            "every row needs a name and a positive time",
        )
    program = (
        frame["program"]
        if "program" in frame.columns
        else pl.Series([PARALLEL] * frame.height, dtype=pl.String)
    )
    unknown = set(program) - {PARALLEL, SEQUENTIAL}
    if unknown:
        raise InputError(
            file, f"`program` is {sorted(map(str, unknown))}", f"say `{PARALLEL}` or `{SEQUENTIAL}`"
        )
    rows = pl.DataFrame(
        {
            "name": frame["name"],
            "program": program,
            "elapsed_ns": (elapsed * factor).round().cast(pl.Int64),
        }
    )
    return rows.with_columns(pl.int_range(pl.len()).over("name", "program").alias("replicate"))


def _check_text(file: Path, content: bytes) -> None:
    """Refuse what is no text in UTF-8, of which the library reads part, or says less.

    Raises:
        InputError: it is in another encoding, damaged, or has a quote that nothing closes.
    """
    utf16 = "it is text in UTF-16", "export it as UTF-8 (in Excel: `CSV UTF-8`)"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(file, *utf16)
    for number, line in enumerate(content.split(b"\n"), 1):
        if 0 in line:
            # Every letter of English has one in UTF-16.
            if 2 * line.count(0) >= len(line) - 1:
                raise InputError(file, *utf16)
            raise InputError(
                f"{file}:{number}", f"a NUL byte in {line!r}", "it is damaged: export it again"
            )
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{file}:{number}", f"{line!r} is not UTF-8", "export it as UTF-8"
            ) from error
        if line.count(b'"') % 2:
            raise InputError(
                f"{file}:{number}",
                f"a quote is never closed: {line.decode()!r}",
                "close it, or remove it",
            )


def _time_column(file: Path, columns: list[str], time_unit: str | None) -> tuple[str, int]:
    """Name of the column with times, and the nanoseconds of its unit."""
    known = {f"time_{unit}": factor for unit, factor in TIME_UNITS.items()} | {"elapsed_ns": 1}
    present = [name for name in columns if name in known or name == "time"]
    if len(present) != 1:
        raise InputError(
            file,
            f"{'several columns' if present else 'no column'} of times among {columns}",
            f"exactly one of {', '.join(known)}, or `time`",
        )
    if present[0] != "time":
        return present[0], known[present[0]]
    if time_unit is None:
        raise InputError(
            file, "column `time` has no unit", f"give `--time-unit`, one of {', '.join(TIME_UNITS)}"
        )
    return "time", TIME_UNITS[time_unit]


def _trial(row: dict[str, Any], branch: str, threads: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """One run as a trial of one iteration; `work_units` is 1, so that time per unit is the time."""
    program = SEQUENTIAL if branch == SEQUENTIAL else row["program"]
    name = f"{row['name']}/{branch}/{program}/{threads}/{row['replicate']}"
    trial = {
        "trial": name,
        "cell": name.rpartition("/")[0],
        "replicate": row["replicate"],
        "block": row["replicate"],
        "position": 0,
        "branch": branch,
        "program": program,
        "workload": row["name"],
        "size": "study",
        "parameters": "",
        "threads": threads,
        "mode": "unknown",
        "placement": FREE,
        "freq_state": "unknown",
        "oversubscribed": False,
        "outcome": "ok",
    }
    elapsed = row["elapsed_ns"]
    return trial, {
        "trial": name,
        "iteration": 0,
        "elapsed_ns": elapsed,
        "user_ns": 0,
        "system_ns": 0,
        "work_units": 1,
    }


def _as_baselines(trials: list[dict[str, Any]], baseline: str | None) -> None:
    """Record sequential runs as a sweep does.

    One thread, the baseline's name, a number of their own.
    """
    runs: Counter[str] = Counter()
    for trial in trials:
        if trial["program"] == SEQUENTIAL:
            workload = trial["workload"]
            trial |= {"threads": 1, "branch": baseline or trial["branch"], "block": runs[workload]}
            runs[workload] += 1
