"""Columns, types and units of what the runner wrote.

The record format of `runner/src/record/mod.rs`.
"""

from __future__ import annotations

from datetime import datetime
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import polars as pl

SCHEMA = 1
"""Version of the record format that this package reads."""

SEQUENTIAL = "sequential"
"""Value of `program` for the program without a pool."""

PARALLEL = "parallel"
"""Value of `program` for the program on the pool under test."""

TWIN_SUFFIX = "-again"
"""Suffix of the name of the A/A control of the baseline."""

FREE = "free"
"""Value of `placement` where the kernel decides which CPU a worker runs on."""

PINNED = "pinned"
"""Value of `placement` where worker i of the pool stays on the i-th CPU."""

INSTRUMENTED_SUFFIX = "-instrumented"
"""Suffix of the name of a branch's instrumented build. Its trials count events and have no times."""

Outcome = Literal[
    "ok", "timeout", "hang", "crash", "wrong-answer", "refused", "bad-output", "build-failed"
]
"""How a trial ended; only `ok` carries times."""

_MOST_NS = 10**16
"""An iteration of four months: times from here on, such as 2^63, come from a clock that was read wrongly."""
_Ns = Annotated[int, msgspec.Meta(ge=0, lt=_MOST_NS)]
_Elapsed = Annotated[int, msgspec.Meta(ge=1, lt=_MOST_NS)]
_MOST = (1 << 63) - 1
"""The largest number of a column; a larger one is damaged."""
_Positive = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]


class Iteration(msgspec.Struct, gc=False):
    """One timed repeat inside a trial."""

    elapsed_ns: _Elapsed
    user_ns: _Ns
    system_ns: _Ns
    work_units: _Positive


class Usage(msgspec.Struct, gc=False):
    """Resources that the process used over its whole life."""

    max_rss_bytes: _Count
    voluntary_switches: _Count
    involuntary_switches: _Count
    minor_faults: _Count
    major_faults: _Count


class Metric(msgspec.Struct, gc=False):
    """A quantity beside the time, with its unit."""

    value: float
    unit: str


class Events(msgspec.Struct):
    """Events that an instrumented build counted inside the timed regions of one trial."""

    iterations: _Count
    work_units: _Positive
    workers: list[dict[str, _Count]]
    outside: dict[str, _Count]


class LineWait(msgspec.Struct):
    """A line of source that waited for lines of memory which another, or the same, had written."""

    at: str
    transfers: _Count
    waited_ns: _Count
    written_at: str | None = None


class Simulated(msgspec.Struct):
    """Where the time of a simulated machine went, in all timed iterations of one trial."""

    spent_ns: dict[str, _Count]
    waits: list[LineWait]


class Trial(msgspec.Struct, gc=False):
    """One line of `trials.jsonl`; a field of one value is a column of `TRIALS`, too.

    Fields that the format gains later are ignored, never guessed.
    """

    schema: int
    trial: str
    cell: str
    replicate: _Count
    block: _Count
    position: _Count
    branch: str
    program: Literal["parallel", "sequential"]
    workload: str
    size: str
    parameters: dict[str, str]
    input: str | None
    threads: _Positive
    mode: str
    freq_state: str
    oversubscribed: bool
    seed: int
    started_at: datetime  # RFC 3339, UTC
    process_ns: _Count
    outcome: Outcome
    reason: str | None
    stderr_tail: str | None
    variant: str | None
    answer: str | None
    work_unit: str | None
    warmup: list[Iteration]
    iterations: list[Iteration]
    usage: Usage | None
    metrics: dict[str, Metric]
    load_before: float | None
    steal_ns: _Count | None
    events: Events | None = None
    celsius_after: float | None = None  # this and the two below: only where the host shows them
    throttles: _Count | None = None
    quota_throttled_ns: _Count | None = None
    layout: _Count | None = (
        None  # the build, from 1; null in a sweep that has one build of each branch
    )
    ghz_before: float | None = None  # sweeps before the clock was measured have neither
    ghz_after: float | None = None
    core_to_core_ns: float | None = None  # nor this
    placement: Literal["free", "pinned"] = (
        "free"  # or `PINNED`; sweeps before workers could be pinned do not say so
    )
    simulated: Simulated | None = None  # only on simulated machines
    simulated_seed: _Count | None = None  # nor older sweeps of such


# Words that many rows share are numbers to Polars: they take a fraction of the memory, and of the
# time to group by and to join. So are the names of trials, which several frames share.
_KINDS = {
    bool: pl.Boolean(),
    int: pl.Int64(),
    float: pl.Float64(),
    str: pl.Categorical(),
    datetime: pl.Datetime("us", "UTC"),
}


def _columns(record: type[msgspec.Struct]) -> dict[str, pl.DataType]:
    """The fields of a record that hold one value each, as columns; they may be null."""
    kinds = {it.name: _plain(it.type) for it in msgspec.structs.fields(record)}
    return {name: _KINDS[kind] for name, kind in kinds.items() if kind in _KINDS}


def _plain(kind: Any) -> Any:  # noqa: ANN401 - whatever the type of a field is
    """The type of a field's value: without what else it may be, or what it may not be."""
    if get_origin(kind) is Literal:
        return str
    wraps = get_origin(kind) in (Union, UnionType, Annotated)
    return _plain(get_args(kind)[0]) if wraps else kind


USAGE = tuple(_columns(Usage))
"""Columns of `TRIALS` that a record has under `usage`."""

TRIALS = pl.Schema(
    {name: kind for name, kind in _columns(Trial).items() if name != "schema"}
    | _columns(Usage)
    | dict.fromkeys(("reason", "stderr_tail"), pl.String)
    | {
        "seed": pl.UInt64,
        "parameters": pl.Categorical(),  # `name=value` pairs, sorted, joined by spaces
    }
)
"""One row per line of `trials.jsonl`, failed ones included: every field of it that holds one value."""

WORDS = pl.col(pl.Categorical).cast(pl.String)
"""All words as strings, as frames of few rows have them, which were made of trials."""

ITERATIONS = pl.Schema(
    {
        "trial": pl.Categorical(),
        "iteration": pl.Int64(),  # 0-based, in order
        "elapsed_ns": pl.Int64(),
        "user_ns": pl.Int64(),
        "system_ns": pl.Int64(),
        "work_units": pl.Int64(),
    }
)
"""One row per timed iteration of a good trial; joins to `TRIALS` on `trial`. Warm-ups are left out."""

METRICS = pl.Schema(
    {
        "trial": pl.Categorical(),
        "metric": pl.String(),  # as the workload names it
        "value": pl.Float64(),
        "unit": pl.String(),
    }
)
"""One row per good trial and quantity that it told beside its time; joins to `TRIALS` on `trial`."""

EVENTS = pl.Schema(
    {
        "trial": pl.Categorical(),
        "worker": pl.Int64(),  # index in its pool; null for all threads that are no workers
        "event": pl.String(),  # what is counted, as the fork's instrument names it
        "count": pl.Int64(),
        "work_units": pl.Int64(),  # done by the whole trial while it was counted
    }
)
"""One row per counted trial, thread and kind of event; joins to the counted trials on `trial`."""

SPENT = pl.Schema(
    {
        "trial": pl.Categorical(),
        "spent_on": pl.String(),  # a key of `simulated.SPENT_ON`
        "spent_ns": pl.Int64(),  # of all cores together, in all timed iterations
    }
)
"""One row per good trial on a simulated machine and what its cores did; joins to `TRIALS` on `trial`."""

LINE_WAITS = pl.Schema(
    {
        "trial": pl.Categorical(),
        "at": pl.String(),  # the access: `file:line:column`
        "written_at": pl.String(),  # the write before it, or in brackets another cause; null if there was none
        "transfers": pl.Int64(),  # how often a line of memory came from elsewhere
        "waited_ns": pl.Int64(),  # of all cores together
    }
)
"""One row per good trial on a simulated machine and pair of lines of source; joins to `TRIALS` on `trial`."""

PANEL = ["workload", "size", "parameters", "input", "mode", "placement"]
"""Columns that one panel of a figure holds constant: all of a cell but program, branch and threads."""

PLACE = [*PANEL, "threads"]
"""Where branches are compared: a panel at one thread count."""

POOL_CELL = [*PLACE, "branch"]
"""A cell of the pool's program."""

CELL_SET = ["program", *PLACE]
"""The cells that differ only in branch; one block visits all of them once."""

CELL = [*CELL_SET, "branch"]
"""A cell in this package's terms."""
