"""Reads the 2022 study's own files: a folder of `speedup-<branch>-<threads>-threads.csv`.

Each row is a run: a `name` (the workload) and a time in a column `time_ns`, `time_us`, `time_ms` or
`time_s`. The branch `sequential` is the program without a pool. Branches ran one after another, not
in blocks. Runs are paired by their number, which does not remove drift.

Blank lines are ignored. All other unexpected lines are refused, because a file that is read in part gives a wrong
result. So are further columns, because rows that differ in them are not repeats of one run.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
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
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators of columns other than the comma. Files that use one of them often have decimal commas, too."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHORTEST_NS, _LONGEST_NS = 0.5, 2**62
_ROWS = {"workload": pl.String, "branch": pl.String, "threads": pl.Int64, "elapsed_ns": pl.Int64}
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


def _read(file: Path) -> pl.DataFrame:
    """Rows with `workload`, `branch`, `threads` and `elapsed_ns`."""
    named = _NAME.fullmatch(file.name)
    if named is None:
        what = "the name is not `speedup-<branch>-<threads>-threads.csv`"
        raise InputError(file, what, "rename or remove it")
    lines = _lines(file)
    _, header = next(lines, (0, [""]))
    times = [name for name in header if name in _UNITS]
    other = [word for mark, word in _SEPARATORS.items() if len(header) == 1 and mark in header[0]]
    if other:
        what = f"its columns are separated by {other[0]}: {header[0]!r}"
        raise InputError(file, what, "export it with commas between columns, and points in numbers")
    if header.count("name") != 1 or len(times) != 1:
        remedy = f"it needs `name` and one of {', '.join(_UNITS)}, each once"
        raise InputError(file, f"its columns are {header}", remedy)
    more = [f"`{name}`" for name in header if name not in ("name", times[0])]
    if more:
        what = f"it has also the columns {', '.join(more)}, so rows may not be repeats of one run"
        remedy = f"keep only `name` and `{times[0]}`, and write one file per value of the others"
        raise InputError(file, what, remedy)
    rows = []
    for number, row in lines:
        if len(row) != len(header):
            what = f"{row} has {len(row)} values, and the header {len(header)}"
            raise InputError(f"{file}:{number}", what, "write numbers with points, not commas")
        name, time = (row[header.index(column)] for column in ("name", times[0]))
        try:
            elapsed = float(time) * _UNITS[times[0]]
        except ValueError:
            elapsed = 0
        if not name or not _SHORTEST_NS < elapsed < _LONGEST_NS:  # NaN is in no range
            what = f"`name` is {name!r} and `{times[0]}` is {time!r}"
            remedy = "every row needs a name and a positive time"
            raise InputError(f"{file}:{number}", what, remedy)
        rows.append((name, named["branch"], int(named["threads"]), round(elapsed)))
    if not rows:
        remedy = "export it again, or remove it from the folder"
        raise InputError(file, "it has no runs", remedy)
    return pl.DataFrame(rows, schema=_ROWS, orient="row")


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The values of each line that is not blank, and its number."""
    try:
        check_regular(file)
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "export it as UTF-8 (in Excel: `CSV UTF-8`)"
        raise InputError(file, "it is not text in UTF-8", remedy) from error
    except OSError as error:
        raise InputError(
            file, f"cannot be read ({error.strerror})", "make the file readable"
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        if _CONTROL.search(line):
            what = f"a control character in {line[:60]!r}"
            raise InputError(f"{file}:{number}", what, "it is damaged: export it again as UTF-8")
    reader = csv.reader(io.StringIO(text), strict=True)
    number = 1
    try:
        for row in reader:
            values = [value.strip() for value in row]
            if any(values):
                yield number, values
            number = reader.line_num + 1
    except csv.Error as error:
        what = f"not a line of a CSV file: {error}"
        raise InputError(f"{file}:{number}", what, "close its quotes, or export it again") from None
