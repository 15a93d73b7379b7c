"""The fields of `manifest.json` and `host.json` that the analysis reads, with their types."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import msgspec

from sweep_analysis.read.errors import InputError, check_regular
from sweep_analysis.read.schema import FREE

_Cpus = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
SPEEDUP_BY_BRANCH = "speedup-by-branch"
"""The figure of every report: speed-up by threads, with a panel for each workload."""
_MOST_SHOWN = 40
"""Maximum number of characters of a value in an error message."""


class _Point(msgspec.Struct):
    topology: str
    cpus: _Cpus
    prices: dict[str, float]


class _Machine(msgspec.Struct):
    name: str
    title: str | None = None
    sha256: str | None = None
    points: list[_Point] = []


class _Processor(msgspec.Struct):
    model_name: str | None = None
    is_virtual: bool | None = None


class _Kernel(msgspec.Struct):
    osrelease: str | None = None


class Host(msgspec.Struct):
    """Fields of `host.json`; facts that the runner could not read are null."""

    id: str | None = None
    cores: _Cpus | None = None
    cpus_usable: _Cpus | None = None
    cpu: _Processor = msgspec.field(default_factory=_Processor)
    kernel: _Kernel = msgspec.field(default_factory=_Kernel)
    simulated: _Machine | None = None


class _Checkout(msgspec.Struct):
    commit: str | None = None
    dirty: bool | None = None


class _Load(msgspec.Struct):
    workload: str
    size: str
    parameters: dict[str, str]


class Experiment(msgspec.Struct, frozen=True):
    """The named experiment that a sweep ran.

    Attributes:
        name: name in `experiments.toml`.
        shows: the experiment's purpose, in one line.
        source: the publication that the experiment repeats; empty if there is none.
        figure: the kind of the experiment's figure.
        sequential_ignores: parameters that the sequential program ignores.
    """

    name: str
    shows: str
    source: str = ""
    figure: str = SPEEDUP_BY_BRANCH
    sequential_ignores: frozenset[str] = frozenset()


class _Asked(msgspec.Struct):
    workloads: list[_Load] = []
    branches: list[str] = []
    modes: list[str] = []
    placements: list[str] = msgspec.field(default_factory=lambda: [FREE])
    threads: list[_Count] = []
    twin: bool = False
    trials: _Count = 0
    layouts: _Count = 1
    warmup_iterations: _Count = 0
    timeout_s: float | None = None
    machine: _Machine | None = None
    experiment: Experiment | None = None


class _Source(msgspec.Struct):
    kind: str | None = None
    features: list[str] = []


class _Receipt(msgspec.Struct):
    version: str | None = None
    variant: str | None = None
    binary_sha256: str | None = None
    commit: _Checkout | None = None


class _Branch(msgspec.Struct):
    name: str
    baseline: bool = False
    hypothesis: str | None = None
    source: _Source = msgspec.field(default_factory=_Source)
    receipt: _Receipt | None = None
    claims: list[Any] = []


class _Shard(msgspec.Struct):
    host: str | None = None


class Manifest(msgspec.Struct):
    """Fields of `manifest.json`."""

    name: str | None = None
    created_at: str | None = None
    host: str | None = None
    checkout: _Checkout = msgspec.field(default_factory=_Checkout)
    command_line: list[str] = []
    asked: _Asked = msgspec.field(default_factory=_Asked)
    branches: list[_Branch] = []
    shards: list[_Shard] = []
    settle_ms: _Count | None = None
    trials_planned: _Count | None = None
    is_ad_hoc: bool = False


def read_fields(file: Path, fields: type[Host | Manifest]) -> dict[str, Any]:
    """Check the type of each field in `fields`, and read the file; absent fields get their defaults, unless those are null.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not a JSON object, or a field has another type.
    """
    remedy = "restore the file as the runner wrote it"
    check_regular(file)
    try:
        written = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(file, f"not a JSON object: {error}", remedy) from error
    try:
        known = msgspec.convert(written, fields)
    except msgspec.ValidationError as error:
        raise InputError(file, wrong_field(error, written), remedy) from error
    whole: dict[str, Any] = _completed(written, known)
    return whole


def _completed(written: Any, known: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return the written value, and for absent fields the defaults from `known`."""
    if isinstance(known, list):
        return [_completed(*pair) for pair in zip(written, known, strict=True)]
    if not isinstance(known, msgspec.Struct):
        return written
    fields = {name: getattr(known, name) for name in known.__struct_fields__}
    return written | {
        name: _completed(written[name], value) if name in written else msgspec.to_builtins(value)
        for name, value in fields.items()
        if value is not None
    }


def wrong_field(error: msgspec.ValidationError, written: Any) -> str:  # noqa: ANN401 - whatever JSON has
    """The message for an error of the decoder: the field, its value and the problem."""
    wrong, _, path = str(error).partition(" - at `$")
    value = written
    for name, index in _STEP.findall(path.partition("[...]")[0].rstrip("`")):
        value = value[name] if name else value[int(index)]
    shown = json.dumps(value)
    if len(shown) > _MOST_SHOWN:
        shown = shown[:_MOST_SHOWN] + "…"
    where = path.rstrip("`").removeprefix(".") or "the whole"
    return f"field `{where}` is `{shown}`: {wrong[:1].lower()}{wrong[1:]}"
