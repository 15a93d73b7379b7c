"""Reads a sweep's folder into frames; an error names the file, line and field."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import LAYOUTS, SEEDS, Replicates, count
from sweep_analysis.read.records import Records, file_of, parse
from sweep_analysis.read.schema import EVENTS, LINE_WAITS, METRICS, SPENT, TRIALS, TWIN_SUFFIX
from sweep_analysis.read.written import Host, Manifest, read_fields

CHECKOUT = Path(__file__).resolve().parents[4]
"""The checkout that this package lies in."""

SWEEPS = CHECKOUT / "results" / "sweeps"
"""Where sweeps are committed."""


@dataclass(frozen=True)
class Sweep:
    """All records of one sweep.

    Attributes:
        path: the folder of the sweep.
        manifest: the contents of `manifest.json`.
        host: the contents of `host.json`.
        trials, iterations, counted, dropped, events, metrics, spent, line_waits: see `records.Records`.
        branches: names in the order of the manifest, without the A/A control.
        baseline: the branch that other branches are compared with, or None if the sweep names no baseline.
        notes: sentences for the report on records that the reader left out.
    """

    path: Path
    manifest: dict[str, Any]
    host: dict[str, Any]
    trials: pl.LazyFrame
    iterations: pl.LazyFrame
    branches: list[str]
    baseline: str | None
    counted: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=TRIALS))
    dropped: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=TRIALS))
    events: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=EVENTS))
    metrics: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=METRICS))
    spent: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=SPENT))
    line_waits: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=LINE_WAITS))
    notes: list[str] = field(default_factory=list)

    @property
    def twin(self) -> str | None:
        """Name of the A/A control of the baseline, whether or not the control ran."""
        return None if self.baseline is None else self.baseline + TWIN_SUFFIX

    @property
    def layouts(self) -> int:
        """Number of builds per branch that differ only in link order; of a simulated sweep, number of seeds."""
        layouts: int = self.manifest.get("asked", {}).get("layouts", 1)
        return layouts

    @property
    def machine(self) -> str | None:
        """Name of the simulated machine; None if the trials ran on the host itself."""
        machine = _machine(self.manifest.get("asked"), "machine")
        return str(machine["name"]) if machine else None

    @property
    def points(self) -> list[dict[str, Any]]:
        """The machines of a box, the first being point 1; empty if the sweep is not over a box."""
        machine = _machine(self.manifest.get("asked"), "machine")
        return list(machine.get("points", [])) if machine else []

    @property
    def label(self) -> str:
        """The label that every output adds to a simulated sweep; empty for a measured one."""
        if self.points:
            return f"simulated: a box of {count(len(self.points), 'machine')}"
        return f"simulated: {self.machine}" if self.machine else ""

    @property
    def replicates(self) -> Replicates:
        """The sampling unit: seeds of a simulated sweep, builds of a measured one."""
        return SEEDS if self.machine else LAYOUTS


def find_sweep(asked: Path, sweeps: Path = SWEEPS) -> Path:
    """Find the folder that an argument names: a path, a name below `sweeps`, the start of such a name, or `latest`.

    Raises:
        InputError: there is no such sweep, or several names have this start.
    """
    if asked.is_dir():
        return asked
    known = sorted(folder for folder in sweeps.glob("*") if (folder / "manifest.json").is_file())
    if str(asked) == "latest" and known:
        return known[-1]
    if (sweeps / asked).is_dir():
        return sweeps / asked
    begun = [folder for folder in known if folder.name.startswith(str(asked))]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise InputError(
            asked,
            "several sweeps have this beginning",
            f"type more of the name, such as {begun[0].name} or {begun[1].name}",
        )
    names = (
        ", ".join(folder.name for folder in known[-3:])
        or "none yet; `cargo runner sweep` makes one"
    )
    raise InputError(
        asked, "no such folder, and no sweep of that name", f"the newest in {sweeps.name}/: {names}"
    )


def read_sweep(folder: Path, *, leaves_out: bool = False) -> Sweep:
    """Read `manifest.json`, `host.json` and `trials.jsonl` of one sweep.

    A torn last line is left out, and a note reports it. With `leaves_out`, every line that is not a valid
    record or repeats a trial is left out, too.

    Raises:
        InputError: a file is missing or empty, a line is not a record of the version read here, or the
            files are of different sweeps.
    """
    if not folder.is_dir():
        raise InputError(
            folder, "no such folder", "give the folder of a sweep, as listed by `ls results/sweeps`"
        )
    manifest = _read_object(folder / "manifest.json", Manifest)
    host = _read_object(folder / "host.json", Host)
    file = file_of(folder)
    try:
        records = parse(file, leaves_out=leaves_out)
    except OSError as error:
        raise _unreadable(file, error) from error
    notes = list(records.notes)
    branches, baseline = _branches(manifest, records)
    if baseline is None:
        notes.append("The manifest names no baseline branch, so nothing can be compared.")
    notes += _hosts(folder, manifest, host)
    _refuse_mixed_trials(folder, manifest, host, records)
    frames = {name: getattr(records, name) for name in Records.frames()}
    return Sweep(
        folder, manifest, host, branches=branches, baseline=baseline, notes=notes, **frames
    )


def refuse_mixed(sweeps: list[Sweep], where: str) -> None:
    """Refuse to compare or pool sweeps unless all are measured, or all have the cost parameters of one simulated machine.

    Raises:
        InputError: the sweeps are of several kinds.
    """
    first, *others = sweeps
    for other in others:
        if _identity(first) != _identity(other):
            what = " and ".join(
                f"{it.path.name} is {it.label or 'measured'}" for it in (first, other)
            )
            if first.machine == other.machine:
                what += ", with other cost parameters"
            raise InputError(
                where,
                what,
                "compare measured sweeps with each other, or sweeps of one simulated machine",
            )


def _identity(sweep: Sweep) -> str | None:
    """The hash of the cost parameters of the sweep's simulated machine; None if the sweep was measured."""
    machine = _machine(sweep.manifest.get("asked"), "machine")
    return str(machine.get("sha256")) if machine else None


def _machine(told: object, name: str) -> dict[str, Any] | None:
    """The simulated machine in the field `name` of a manifest's `asked` or of `host.json`; None without one."""
    machine = told.get(name) if isinstance(told, dict) else None
    return machine if isinstance(machine, dict) and "name" in machine else None


def _refuse_mixed_trials(
    folder: Path, manifest: dict[str, Any], host: dict[str, Any], records: Records
) -> None:
    """Refuse a sweep whose manifest, host and trials disagree on the simulated machine.

    Raises:
        InputError: they disagree.
    """
    asked, ran = (
        machine and machine["name"]
        for machine in (_machine(manifest.get("asked"), "machine"), _machine(host, "simulated"))
    )
    remedy = "files of two sweeps were mixed: take the folder as the runner wrote it"
    names = [name or "no simulated machine" for name in (asked, ran)]
    if asked != ran:
        raise InputError(
            folder / "host.json",
            f"it describes {names[1]}, but the manifest names {names[0]}",
            remedy,
        )
    good = records.trials.filter(pl.col("outcome") == "ok").select("trial")
    simulated = records.spent.select("trial").unique()
    odd = simulated if asked is None else good.join(simulated, on="trial", how="anti")
    found = odd.collect()
    if found.height:
        what = f"field `simulated` is {'present' if asked is None else 'missing'} in {count(found.height, 'trial')}"
        raise InputError(file_of(folder), f"{what}, but the manifest names {names[0]}", remedy)


def _hosts(folder: Path, manifest: dict[str, Any], host: dict[str, Any]) -> list[str]:
    """Warnings if trials ran on several machines, or if `host.json` describes another machine than the manifest.

    Raises:
        InputError: a shard's `host.json` is missing or broken.
    """
    shards = manifest.get("shards") or []
    machines = sorted({str(shard.get("host")) for shard in shards})
    told, begun = host.get("id"), manifest.get("host")
    if not shards and None not in (told, begun) and told != begun:
        return [
            (
                f"host.json describes machine {told}, but the sweep was begun on {begun}: files of two sweeps were mixed, "
                "so facts about the host may be wrong. Take the folder as the runner wrote it."
            )
        ]
    if len(machines) < 2:  # noqa: PLR2004 - shards of one machine are as good as one sweep
        return []
    notes = [
        (
            f"Trials of {len(machines)} machines ({', '.join(machines)}) were merged. Branches are compared inside blocks, "
            "each on one machine; speed-ups, fits and drift compare blocks, so they mix machines. The page describes "
            "the host of the first."
        )
    ]
    hosts = [_read_object(file, Host) for file in sorted(folder.glob("shards/*/host.json"))]
    cpus = {str(shard.get("cpus_usable")) for shard in hosts}
    if len(cpus) > 1:
        notes.append(
            f"The merged machines have different numbers of CPUs ({', '.join(sorted(cpus))}): the same thread count may "
            "oversubscribe one machine and not another. Analyse each shard separately."
        )
    return notes


def _unreadable(file: Path, error: OSError) -> InputError:
    return InputError(
        file,
        f"cannot be read ({error.strerror})",
        "a sweep has manifest.json, host.json and trials.jsonl",
    )


def _read_object(file: Path, fields: type[Host | Manifest]) -> dict[str, Any]:
    try:
        return read_fields(file, fields)
    except OSError as error:
        raise _unreadable(file, error) from error


def _branches(manifest: dict[str, Any], records: Records) -> tuple[list[str], str | None]:
    """Return the branches without the A/A control, in the order of the manifest or else of the records; and the baseline."""
    listed = manifest.get("branches") or []
    seen = records.trials.select(pl.col("branch").unique(maintain_order=True)).collect()["branch"]
    present = seen.to_list()
    names = list(dict.fromkeys([*(entry["name"] for entry in listed), *present]))
    marked = [entry["name"] for entry in listed if entry.get("baseline")]
    twins = [name.removesuffix(TWIN_SUFFIX) for name in names if name.endswith(TWIN_SUFFIX)]
    candidates = marked or [name for name in twins if name in names]
    baseline = candidates[0] if candidates else None
    twin = None if baseline is None else baseline + TWIN_SUFFIX
    return [name for name in names if name in present and name != twin], baseline
