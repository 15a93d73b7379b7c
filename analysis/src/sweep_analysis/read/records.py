"""Decodes the lines of a file of records into columns, and checks every field. Memory holds the decoded records of one batch."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import msgspec
import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError, check_regular
from sweep_analysis.read.labels import count
from sweep_analysis.read.schema import (
    DROPPED,
    EVENTS,
    INSTRUMENTED_SUFFIX,
    ITERATIONS,
    LINE_WAITS,
    METRICS,
    SCHEMA,
    SPENT,
    TRIALS,
    USAGE,
    Trial,
)
from sweep_analysis.read.written import wrong_field

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BATCH = 8 << 20
"""Bytes of lines in one batch. The lines of a batch are decoded together, and then become columns."""

BUFFER = 1 << 20

_TIMED = ("elapsed_ns", "user_ns", "system_ns", "work_units")
_PLAIN = [name for name in TRIALS if name not in (*USAGE, "parameters")]
_UNKNOWN = SimpleNamespace(**dict.fromkeys(USAGE))

_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the decoder for a line that is not a record."""


@dataclass(frozen=True)
class Records:
    """The contents of a `trials.jsonl`, as frames.

    Attributes:
        trials: rows of `schema.TRIALS`, timed builds only.
        iterations: rows of `schema.ITERATIONS`.
        counted: rows of `schema.TRIALS` of instrumented builds, under the names of their branches.
        dropped: rows of `schema.TRIALS` that did not run, because their branches had turned their signs over a box.
        events: rows of `schema.EVENTS`.
        metrics: rows of `schema.METRICS`.
        spent: rows of `schema.SPENT`.
        line_waits: rows of `schema.LINE_WAITS`.
        notes: sentences on records that were left out.
    """

    trials: pl.LazyFrame
    iterations: pl.LazyFrame
    counted: pl.LazyFrame
    dropped: pl.LazyFrame
    events: pl.LazyFrame
    metrics: pl.LazyFrame
    spent: pl.LazyFrame
    line_waits: pl.LazyFrame
    notes: list[str]

    @classmethod
    def frames(cls) -> list[str]:
        """Names of the attributes that are frames."""
        return [it.name for it in fields(cls) if it.name != "notes"]


def file_of(folder: Path) -> Path:
    """The file with the records of the sweep in `folder`: compressed if the sweep is finished.

    If the runner was killed while it compressed, both files exist; the uncompressed file is complete.
    """
    plain, packed = folder / "trials.jsonl", folder / "trials.jsonl.zst"
    return packed if packed.is_file() and not plain.is_file() else plain


def parse(file: Path, *, leaves_out: bool = False) -> Records:
    """Decode a whole file.

    With `leaves_out`, lines that are invalid or repeat a trial are left out, and a note reports their number.

    Raises:
        InputError: the file has no whole line, a line is not a valid record, or the compression is damaged.
        OSError: the file cannot be read.
    """
    notes: list[str] = []
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in Records.frames()}
    decoder = msgspec.json.Decoder(Trial)
    name = str(file)  # Made once, not for each line.
    seen: set[str] = set()
    broken = 0
    for batch in _batches(_whole_lines(file, notes)):
        timed: list[Trial] = []
        counted: list[Trial] = []
        dropped: list[Trial] = []
        for number, line in batch:
            try:
                record = _decode(decoder, line, f"{name}:{number}", seen)
            except InputError:
                if not leaves_out:
                    raise
                broken += 1
                continue
            is_counted = record.branch.endswith(INSTRUMENTED_SUFFIX)
            record.branch = record.branch.removesuffix(INSTRUMENTED_SUFFIX)
            kept = counted if is_counted else timed
            (dropped if record.outcome == DROPPED else kept).append(record)
        _add(parts["trials"], _trials(timed))
        _add(parts["iterations"], _iterations(timed))
        _add(parts["counted"], _trials(counted))
        _add(parts["dropped"], _trials(dropped))
        for frame, (schema, rows_of) in _INSIDE.items():
            _add(parts[frame], _inside(counted if frame == "events" else timed, schema, rows_of))
    if broken:
        notes.append(
            f"{count(broken, 'line')} of {file.name} {'is not a record' if broken == 1 else 'are not records'} and "
            f"left out; `cargo runner sweep --resume {file.parent.name}` sets such lines aside."
        )
    if not parts["trials"]:
        raise InputError(
            file, "no trial was recorded", "run the sweep, or resume it with `--resume`"
        )
    return Records(**{name: _whole(frames) for name, frames in parts.items()}, notes=notes)


def _add(parts: list[pl.DataFrame], part: pl.DataFrame) -> None:
    """Append rows in a compact form: columns have the shortest integer types, and empty columns become null columns."""
    if not parts:
        parts.append(part.clear())  # This empty part keeps the types of the columns.
    if part.height:
        filled = part.with_columns(it.cast(pl.Null) for it in part if it.null_count() == it.len())
        parts.append(
            filled.with_columns(it.shrink_dtype() for it in filled if it.dtype.is_integer())
        )


def _whole(parts: list[pl.DataFrame]) -> pl.LazyFrame:
    """Join all parts to one lazy frame, which restores the types of the columns that a query reads."""
    types = parts.pop(0).schema
    if not parts:
        return pl.LazyFrame(schema=types)
    whole = pl.concat(parts, how="vertical_relaxed", rechunk=True)
    parts.clear()
    return whole.lazy().cast(
        {name: kind for name, kind in types.items() if whole.schema[name] != kind}
    )


def _whole_lines(file: Path, notes: list[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines with their numbers. A last line without a newline is excluded, and a note reports it."""
    check_regular(file)
    number = 0
    is_packed = file.suffix == ".zst"
    with io.BufferedReader(zstd.ZstdFile(file) if is_packed else io.FileIO(file), BUFFER) as stream:
        try:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    notes.append(
                        f"The last line of {file.name} (line {number}, {len(line)} bytes) was torn off while it was "
                        "written; it is set aside. `cargo runner sweep --resume` runs that trial again."
                    )
                elif line.strip():
                    yield number, line
        except (EOFError, zstd.ZstdError) as error:
            where = f"cannot be read after line {number}: {error}"
            raise InputError(file, where, "restore it from a copy") from error


def _batches(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield the lines with their numbers, in batches of about `BATCH` bytes."""
    batch, size = [], 0
    for number, line in lines:
        batch.append((number, line))
        size += len(line)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _decode(decoder: msgspec.json.Decoder[Trial], line: bytes, where: str, seen: set[str]) -> Trial:
    """The record of a line; adds its trial to `seen`, and refuses a second record of that trial."""
    try:
        record = decoder.decode(line)
    except _NO_JSON as error:
        _refuse(line, where, error)
    if record.schema != SCHEMA:
        _refuse(line, where, None)
    _check(record, where)
    if record.trial in seen:
        what = f"field `trial`: `{record.trial}` occurs more than once"
        remedy = "two sweeps were mixed: take the folder as the runner wrote it"
        raise InputError(where, what, remedy)
    seen.add(record.trial)
    return record


def _refuse(line: bytes, where: str, error: Exception | None) -> NoReturn:
    """Raise the error for a bad line: not a JSON object, another version, or a bad field."""
    try:
        written = msgspec.json.decode(line, type=dict[str, Any])
    except _NO_JSON as broken:
        what, remedy = f"not a record: {broken}", "restore the file as the runner wrote it"
        raise InputError(where, what, remedy) from broken
    if written.get("schema") != SCHEMA:
        what = f"field `schema` is {written.get('schema')}, this analysis reads {SCHEMA}"
        raise InputError(where, what, "use the analysis of the commit that made the sweep")
    if isinstance(error, msgspec.ValidationError):
        what = wrong_field(error, written)
    raise InputError(where, what, "set the trial aside or run it again") from error


def _check(record: Trial, where: str) -> None:
    instrumented = record.branch.endswith(INSTRUMENTED_SUFFIX)
    is_ok = record.outcome == "ok"
    if is_ok and not record.iterations and not instrumented:
        what = "field `iterations` is empty though `outcome` is `ok`"
    elif is_ok and instrumented != (record.events is not None):
        is_there = "present" if record.events else "missing"
        what = f"field `events` is {is_there} in a trial of `{record.branch}`"
    elif not 0 <= record.seed < 1 << 64:
        what = f"field `seed` is `{record.seed}`: expected `int` of 64 bits"
    elif instrumented and record.iterations:
        what = "field `iterations` has times of an instrumented build"
    else:
        return
    raise InputError(where, what, "see results/README.md")


def _trials(records: list[Trial]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), records)) for name in _PLAIN}
    columns["parameters"] = [pairs(it.parameters) for it in records]
    usage = [_UNKNOWN if it.usage is None else it.usage for it in records]
    columns |= {name: list(map(attrgetter(name), usage)) for name in USAGE}
    return pl.DataFrame({name: columns[name] for name in TRIALS}, schema=TRIALS)


def pairs(parameters: dict[str, str]) -> str:
    """The text of the column `parameters` of `TRIALS`."""
    return _pairs(tuple(parameters.items()))


@lru_cache
def _pairs(parameters: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(parameters))


def _iterations(records: list[Trial]) -> pl.DataFrame:
    good = [record for record in records if record.outcome == "ok"]
    flat = [it for record in good for it in record.iterations]
    numbers = np.array([len(record.iterations) for record in good], dtype=np.int64)
    starts = np.repeat(np.cumsum(numbers) - numbers, numbers)
    owner = np.repeat(np.arange(len(good)), numbers)
    trials = pl.Series([record.trial for record in good], dtype=pl.Categorical)
    columns: dict[str, Any] = {
        "trial": trials.gather(owner),
        "iteration": np.arange(len(flat), dtype=np.int64) - starts,
    }
    columns |= {
        name: np.fromiter(map(attrgetter(name), flat), np.int64, len(flat)) for name in _TIMED
    }
    return pl.DataFrame(columns, schema=ITERATIONS)


def _events(record: Trial) -> Iterator[tuple[Any, ...]]:
    if record.events is not None:
        for worker, counts in [*enumerate(record.events.workers), (None, record.events.outside)]:
            for event, number in counts.items():
                yield worker, event, number, record.events.work_units


_INSIDE: dict[str, tuple[pl.Schema, Callable[[Trial], Iterable[tuple[Any, ...]]]]] = {
    "events": (EVENTS, _events),
    "metrics": (METRICS, lambda it: ((name, m.value, m.unit) for name, m in it.metrics.items())),
    "spent": (SPENT, lambda it: it.simulated.spent_ns.items() if it.simulated else ()),
    "line_waits": (
        LINE_WAITS,
        lambda it: map(msgspec.structs.astuple, it.simulated.waits if it.simulated else ()),
    ),
}
"""Frames with several rows per good trial: the columns, and a function from a record to its rows without `trial`."""


def _inside(
    records: list[Trial], schema: pl.Schema, rows_of: Callable[[Trial], Iterable[tuple[Any, ...]]]
) -> pl.DataFrame:
    good = (record for record in records if record.outcome == "ok")
    rows = [(record.trial, *row) for record in good for row in rows_of(record)]
    return pl.DataFrame(rows, schema=schema, orient="row")
