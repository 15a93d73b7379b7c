"""Reads a sweep's folder into frames, or says exactly which file, line and field is in the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from sweep_analysis.errors import InputError
from sweep_analysis.schema import (
    EVENTS,
    INSTRUMENTED_SUFFIX,
    ITERATIONS,
    METRICS,
    OUTCOMES,
    PARALLEL,
    SCHEMA,
    SEQUENTIAL,
    TRIALS,
    TWIN_SUFFIX,
    Trial,
)


@dataclass(frozen=True)
class Sweep:
    """Everything that was recorded in one sweep.

    Attributes:
        path: the folder it was read from.
        manifest: `manifest.json` as it is; empty for the study's layout.
        host: `host.json` as it is; empty for the study's layout.
        trials: rows of `schema.TRIALS`, failed trials included; all that may have times, and nothing else.
        iterations: rows of `schema.ITERATIONS`, good trials only.
        branches: names in the order of the manifest, the A/A twin excluded.
        baseline: the branch that others are compared with, or None if the sweep names none.
        counted: rows of `schema.TRIALS`, the trials of instrumented builds, which have no times; `branch` is the branch
            that was built so.
        events: rows of `schema.EVENTS`, good counted trials only.
        metrics: rows of `schema.METRICS`, good timed trials only.
        notes: what was set aside while reading, in sentences for the report.
    """

    path: Path
    manifest: dict[str, Any]
    host: dict[str, Any]
    trials: pl.LazyFrame
    iterations: pl.LazyFrame
    branches: list[str]
    baseline: str | None
    counted: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=TRIALS))
    events: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=EVENTS))
    metrics: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=METRICS))
    notes: list[str] = field(default_factory=list)

    @property
    def twin(self) -> str | None:
        """Name that the baseline's A/A twin has, whether or not it was run."""
        return None if self.baseline is None else self.baseline + TWIN_SUFFIX

    @property
    def layouts(self) -> int:
        """Builds per branch that differ only in where their functions lie; trials take turns with them."""
        asked = self.manifest.get("asked")
        layouts = asked.get("layouts", 1) if isinstance(asked, dict) else 1
        return layouts if isinstance(layouts, int) else 1


def read_sweep(folder: Path) -> Sweep:
    """Read `manifest.json`, `host.json` and `trials.jsonl` of one sweep.

    A torn last line (no newline at its end: the sweep was killed while writing) is set aside and noted.

    Raises:
        InputError: a file is missing or empty, or a line is not a record of the version read here.
    """
    if not folder.is_dir():
        raise InputError(folder, "no such folder", "give the folder of a sweep, as listed by `ls results/sweeps`")
    manifest = _read_object(folder / "manifest.json")
    host = _read_object(folder / "host.json")
    records, notes = read_records(folder / "trials.jsonl")
    timed, counted = split(records)
    trials, iterations = to_frames(timed)
    branches, baseline = _branches(manifest, timed)
    if baseline is None:
        notes.append("The manifest names no baseline branch, so nothing can be compared.")
    counted_trials, _ = to_frames(counted)
    events = to_events(counted)
    return Sweep(
        folder,
        manifest,
        host,
        trials,
        iterations,
        branches,
        baseline,
        counted=counted_trials,
        events=events,
        metrics=to_metrics(timed),
        notes=notes,
    )


def read_records(file: Path) -> tuple[list[Trial], list[str]]:
    """Decode `trials.jsonl`; returns the records and notes on what was set aside.

    Raises:
        InputError: the file is missing or has no record, or a line is no valid record.
    """
    text = _read_bytes(file)
    lines = text.split(b"\n")
    torn = lines.pop()  # what follows the last newline: nothing, or half a record
    notes = []
    if torn:
        notes.append(
            f"The last line of {file.name} (line {len(lines) + 1}, {len(torn)} bytes) was torn off while "
            "it was written; it is set aside. `cargo runner sweep --resume` runs that trial again."
        )
    decoder = msgspec.json.Decoder(Trial)
    records = [_decode(decoder, line, f"{file}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]
    if not records:
        raise InputError(file, "no trial was recorded", "run the sweep, or resume it with `--resume`")
    repeated = [trial for trial, count in Counter(record.trial for record in records).items() if count > 1]
    if repeated:
        raise InputError(
            file,
            f"field `trial`: {len(repeated)} identities occur more than once, first `{repeated[0]}`",
            "a trial is recorded once; two sweeps were mixed, so take the folder as the runner wrote it",
        )
    return records, notes


def split(records: list[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Records of timed builds, and those of instrumented ones under the names of their branches."""
    timed = [record for record in records if not record.branch.endswith(INSTRUMENTED_SUFFIX)]
    counted = [record for record in records if record.branch.endswith(INSTRUMENTED_SUFFIX)]
    for record in counted:
        record.branch = record.branch.removesuffix(INSTRUMENTED_SUFFIX)
    return timed, counted


def to_metrics(records: list[Trial]) -> pl.LazyFrame:
    """Lay what trials told beside their times out as rows of `schema.METRICS`."""
    rows = [
        (record.trial, name, metric.value, metric.unit)
        for record in records
        if record.outcome == "ok"
        for name, metric in record.metrics.items()
    ]
    return pl.LazyFrame(rows, schema=METRICS, orient="row")


def to_events(counted: list[Trial]) -> pl.LazyFrame:
    """Lay counted records out as rows of `schema.EVENTS`."""
    rows = [
        {
            "trial": record.trial,
            "worker": worker,
            "event": event,
            "count": number,
            "work_units": record.events.work_units,
        }
        for record in counted
        if record.events is not None
        for worker, counts in [*enumerate(record.events.workers), (None, record.events.outside)]
        for event, number in counts.items()
    ]
    return pl.LazyFrame(rows, schema=EVENTS)


def to_frames(records: list[Trial]) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Lay records out as rows of `schema.TRIALS` and `schema.ITERATIONS`."""
    trials = [
        {name: getattr(record, name) for name in TRIALS if hasattr(record, name)}
        | {"parameters": " ".join(f"{name}={value}" for name, value in sorted(record.parameters.items()))}
        | ({} if record.usage is None else msgspec.to_builtins(record.usage))
        for record in records
    ]
    iterations = [
        {"trial": record.trial, "iteration": index, **msgspec.to_builtins(iteration)}
        for record in records
        if record.outcome == "ok"
        for index, iteration in enumerate(record.iterations)
    ]
    return pl.LazyFrame(trials, schema=TRIALS), pl.LazyFrame(iterations, schema=ITERATIONS)


def _decode(decoder: msgspec.json.Decoder[Trial], line: bytes, where: str) -> Trial:
    try:
        version = msgspec.json.decode(line, type=_Version).schema
    except msgspec.DecodeError as error:
        raise InputError(where, f"not a record: {error}", "restore the file as the runner wrote it") from error
    if version != SCHEMA:
        raise InputError(
            where,
            f"field `schema` is {version}, this analysis reads {SCHEMA}",
            "use the analysis of the commit that made the sweep",
        )
    try:
        record = decoder.decode(line)
    except msgspec.ValidationError as error:
        raise InputError(where, f"not a trial record: {error}", "see results/README.md for the format") from error
    _check(record, where)
    return record


def _check(record: Trial, where: str) -> None:
    """Refuse values that have the right type and no meaning."""
    if record.outcome not in OUTCOMES:
        raise InputError(where, f"field `outcome` is `{record.outcome}`", f"known outcomes: {', '.join(OUTCOMES)}")
    if record.program not in (PARALLEL, SEQUENTIAL):
        raise InputError(where, f"field `program` is `{record.program}`", f"known programs: {PARALLEL}, {SEQUENTIAL}")
    if record.threads < 1:
        raise InputError(where, f"field `threads` is {record.threads}", "a pool has at least one thread")
    _check_counts(record, where)
    for index, iteration in enumerate(record.iterations):
        for name in ("elapsed_ns", "work_units"):
            value = getattr(iteration, name)
            if value <= 0:
                raise InputError(
                    where,
                    f"field `iterations[{index}].{name}` is {value}",
                    "time and work are positive; the workload must report what it did",
                )


def _check_counts(record: Trial, where: str) -> None:
    """Refuse a trial with times and counts, or with neither: a time of an instrumented build is worth nothing."""
    instrumented = record.branch.endswith(INSTRUMENTED_SUFFIX)
    if record.outcome == "ok" and not record.iterations and not instrumented:
        raise InputError(where, "field `iterations` is empty though `outcome` is `ok`", "see results/README.md")
    if record.outcome == "ok" and instrumented != (record.events is not None):
        raise InputError(
            where,
            f"field `events` is {'present' if record.events else 'missing'} in a trial of `{record.branch}`",
            f"trials of builds named `…{INSTRUMENTED_SUFFIX}` have counts, and no others have",
        )
    if instrumented and record.iterations:
        raise InputError(where, "field `iterations` has times of an instrumented build", "counted trials have none")
    if record.events is not None and record.events.work_units <= 0:
        raise InputError(
            where,
            f"field `events.work_units` is {record.events.work_units}",
            "counts are divided by it: take them anew",
        )


class _Version(msgspec.Struct):
    schema: int


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(
            file,
            f"cannot be read ({error.strerror})",
            "a sweep has manifest.json, host.json and trials.jsonl",
        ) from error


def _read_object(file: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(_read_bytes(file), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(file, f"not a JSON object: {error}", "restore the file as the runner wrote it") from error


def _branches(manifest: dict[str, Any], records: list[Trial]) -> tuple[list[str], str | None]:
    """Names in the order of the manifest (else of appearance), without the twin; and the baseline."""
    listed = [entry for entry in manifest.get("branches", []) if isinstance(entry, dict) and "name" in entry]
    seen = list(dict.fromkeys(record.branch for record in records))
    names = list(dict.fromkeys([*(entry["name"] for entry in listed), *seen]))
    marked = [entry["name"] for entry in listed if entry.get("baseline")]
    twins = [name.removesuffix(TWIN_SUFFIX) for name in names if name.endswith(TWIN_SUFFIX)]
    candidates = marked or [name for name in twins if name in names]
    baseline = candidates[0] if candidates else None
    present = set(seen)
    return [
        name for name in names if name in present and (baseline is None or name != baseline + TWIN_SUFFIX)
    ], baseline
