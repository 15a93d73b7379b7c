"""Keeps what a large `trials.jsonl` holds as Parquet: made once, found by content, so that it is never out of date.

An entry is a folder named by the SHA-256 of the file and of the shape of the frames. It is written beside its place and
renamed into it whole, so a reader sees all of it or nothing, two writers do not disturb each other, and what a killed
writer leaves is never read. An entry that does not have the sizes that it was written with is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from sweep_analysis.read.records import Records, is_packed
from sweep_analysis.read.schema import EVENTS, ITERATIONS, LINE_WAITS, METRICS, SPENT, TRIALS

FORMAT = 1
"""To be raised when equal lines give other frames of the same columns."""

WORTH_BYTES = 8 << 20
"""Smaller files are decoded in well under a second, so they are not kept twice."""
_PACKED_TO = 16
"""How many times larger a file of records is than its compressed form, about."""

PLACE = "SWEEP_ANALYSIS_CACHE"
"""Environment variable that names another folder; empty: nothing is kept."""


def folder(checkout: Path) -> Path | None:
    """Where entries are kept: `target/analysis-cache` of the checkout, unless `PLACE` says otherwise."""
    place = os.environ.get(PLACE)
    if place is None:
        return checkout / "target" / "analysis-cache"
    return Path(place) if place else None


def read(file: Path, parse: Callable[[Path, Path | None], Records], place: Path | None) -> Records:
    """What `parse` makes of `file`, from `place` if it is there.

    A place that cannot be written is as good as none: the records are then parsed each time.

    Raises:
        InputError: whatever `parse` raises; such files are not kept.
        OSError: `file` cannot be read.
    """
    size = file.stat().st_size * (_PACKED_TO if is_packed(file) else 1)
    if place is None or size < WORTH_BYTES:
        return parse(file, None)
    entry = place / _key(file)
    if not _is_whole(entry):
        try:
            draft = _draft(entry)
        except OSError:
            return parse(file, None)
        try:
            _write(entry, draft, parse(file, draft))
        except OSError:
            return parse(file, None)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return _load(entry)


def _key(file: Path) -> str:
    shapes = [list(schema.items()) for schema in (TRIALS, ITERATIONS, EVENTS, METRICS, SPENT, LINE_WAITS)]
    with file.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256")
    # The name stands in notes, so that equal files of another name are other entries.
    content.update(repr((FORMAT, pl.__version__, shapes, file.name)).encode())
    return content.hexdigest()


def _is_whole(entry: Path) -> bool:
    try:
        about = json.loads((entry / "about.json").read_text(encoding="utf-8"))
        return all((entry / name).stat().st_size == size for name, size in about["sizes"].items())
    except (OSError, ValueError, KeyError):
        return False


def _draft(entry: Path) -> Path:
    """A folder beside `entry` in which it is prepared."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=".draft-", dir=entry.parent))


def _write(entry: Path, draft: Path, records: Records) -> None:
    """Write `records` below `draft`, and rename them into their place."""
    whole = draft / "whole"
    whole.mkdir()
    for name in Records.frames():
        getattr(records, name).sink_parquet(whole / f"{name}.parquet", compression="lz4")
    sizes = {file.name: file.stat().st_size for file in whole.iterdir()}
    about = {"notes": records.notes, "sizes": sizes}
    (whole / "about.json").write_text(json.dumps(about), encoding="utf-8")
    if entry.exists() and not _is_whole(entry):
        shutil.rmtree(entry, ignore_errors=True)
    with contextlib.suppress(OSError):  # somebody else made the same entry meanwhile
        whole.rename(entry)
    if not _is_whole(entry):
        raise OSError(f"{entry} cannot be kept")


def _load(entry: Path) -> Records:
    about = json.loads((entry / "about.json").read_text(encoding="utf-8"))
    frames = {name: pl.scan_parquet(entry / f"{name}.parquet") for name in Records.frames()}
    return Records(**frames, notes=about["notes"])
