"""Columns, types and units of the runner's records, whose format `runner/src/record/mod.rs` defines."""

from __future__ import annotations

from datetime import datetime
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import polars as pl

SCHEMA = 1
"""Version of the record format that `sweep_analysis` reads."""

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
"""Suffix of the name of a branch's instrumented build, whose trials count events and have no times."""

Outcome = Literal[
    "ok",
    "timeout",
    "hang",
    "crash",
    "wrong-answer",
    "refused",
    "bad-output",
    "dropped",
]
"""The end of a trial; only trials with `ok` have times."""

DROPPED = "dropped"
"""The outcome of a trial that did not run, because the sign of its branch had turned on too many machines of a box."""

_MOST_NS = 10**16
"""About four months in ns. A longer time, such as 2^63, comes from a wrong reading of a clock."""
_Ns = Annotated[int, msgspec.Meta(ge=0, lt=_MOST_NS)]
_Elapsed = Annotated[int, msgspec.Meta(ge=1, lt=_MOST_NS)]
_MOST = (1 << 63) - 1
"""The largest number of a column of type Int64; a record with a larger number is damaged."""
_Positive = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]


class Iteration(msgspec.Struct, gc=False):
    """One timed repeat inside a trial."""

    elapsed_ns: _Elapsed
    user_ns: _Ns
    system_ns: _Ns
    work_units: _Positive


class Usage(msgspec.Struct, gc=False):
    """Resources that the process used from start to exit."""

    max_rss_bytes: _Count
    voluntary_switches: _Count
    involuntary_switches: _Count
    minor_faults: _Count
    major_faults: _Count


class Metric(msgspec.Struct, gc=False):
    """A quantity that a trial reports in addition to its time, with its unit."""

    value: float
    unit: str


class Events(msgspec.Struct):
    """Events that an instrumented build counted during the timed iterations of one trial."""

    iterations: _Count
    work_units: _Positive
    workers: list[dict[str, _Count]]
    outside: dict[str, _Count]


class LineWait(msgspec.Struct):
    """A source line that waited for cache lines, and the source line that had written them."""

    at: str  # `file:line:column`
    transfers: _Count  # number of transfers of a cache line from another core
    waited_ns: _Count  # of all cores together
    written_at: str | None = None  # a source line, or another cause in brackets; null if none


class Simulated(msgspec.Struct):
    """The time of a simulated machine by activity, in all timed iterations of one trial."""

    spent_ns: dict[str, _Count]
    waits: list[LineWait]


class Trial(msgspec.Struct, gc=False):
    """One line of `trials.jsonl`; a field with a single value, except `schema`, is also a column of `TRIALS`.

    Unknown fields of later formats are ignored.
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
    celsius_after: float | None = (
        None  # this field and the next two are null if the host does not report them
    )
    throttles: _Count | None = None
    quota_throttled_ns: _Count | None = None
    layout: _Count | None = (
        None  # number of the build, from 1; null in a sweep that has one build of each branch
    )
    ghz_before: float | None = None  # older sweeps lack this field and the next two
    ghz_after: float | None = None
    core_to_core_ns: float | None = None
    placement: Literal["free", "pinned"] = (
        "free"  # older sweeps, which could not pin workers, lack the field
    )
    simulated: Simulated | None = None  # only on simulated machines
    simulated_seed: _Count | None = None  # older simulated sweeps lack this field


# Polars stores categories as numbers, which saves memory, and time in group-bys and joins.
# Names of trials are categories, too, because several frames share them.
_KINDS = {
    bool: pl.Boolean(),
    int: pl.Int64(),
    float: pl.Float64(),
    str: pl.Categorical(),
    datetime: pl.Datetime("us", "UTC"),
}


def _columns(record: type[msgspec.Struct]) -> dict[str, pl.DataType]:
    """The fields of a record with a single value, as columns; they may be null."""
    kinds = {it.name: _plain(it.type) for it in msgspec.structs.fields(record)}
    return {name: _KINDS[kind] for name, kind in kinds.items() if kind in _KINDS}


def _plain(kind: Any) -> Any:  # noqa: ANN401 - whatever the type of a field is
    """The type of a field's value, without `None` and without limits."""
    if get_origin(kind) is Literal:
        return str
    wraps = get_origin(kind) in (Union, UnionType, Annotated)
    return _plain(get_args(kind)[0]) if wraps else kind


USAGE = tuple(_columns(Usage))
"""Columns of `TRIALS` from the field `usage` of a record."""

TRIALS = pl.Schema(
    {name: kind for name, kind in _columns(Trial).items() if name != "schema"}
    | _columns(Usage)
    | dict.fromkeys(("reason", "stderr_tail"), pl.String)
    | {
        "seed": pl.UInt64,
        "parameters": pl.Categorical(),  # `name=value` pairs, sorted, joined by spaces
    }
)
"""One row per line of `trials.jsonl`, failed trials included: every field with a single value."""

WORDS = pl.col(pl.Categorical).cast(pl.String)
"""Converts categories to strings, as frames with few rows have them."""


def _of_trial(record: type[msgspec.Struct] | None = None, **own: pl.DataType) -> pl.Schema:
    """Columns of a frame with several rows per trial; words other than the trial's name are strings."""
    fields = _columns(record) if record else {}
    words = {name: pl.String() if kind == pl.Categorical else kind for name, kind in fields.items()}
    return pl.Schema({"trial": pl.Categorical()} | own | words)


ITERATIONS = _of_trial(Iteration, iteration=pl.Int64())
"""One row per timed iteration of a good trial; `iteration` counts from 0."""

METRICS = _of_trial(Metric, metric=pl.String())
"""One row per good trial and quantity that it reported in addition to its time; the workload names the quantity."""

EVENTS = _of_trial(
    worker=pl.Int64(),  # index of the worker in its pool; null for all external threads together
    event=pl.String(),  # name of the event in the fork's feature `instrument`
    count=pl.Int64(),
    work_units=pl.Int64(),  # work of the whole trial while events were counted
)
"""One row per counted trial, thread and kind of event."""

SPENT = _of_trial(
    spent_on=pl.String(),  # a key of `simulated.SPENT_ON`
    spent_ns=pl.Int64(),  # of all cores together, in all timed iterations
)
"""One row per good trial on a simulated machine and activity of its cores."""

LINE_WAITS = _of_trial(LineWait)
"""One row per good trial on a simulated machine and pair of source lines."""

PANEL = ["workload", "size", "parameters", "input", "mode", "placement"]
"""Columns that are constant in one panel of a figure."""

PLACE = [*PANEL, "threads"]
"""Columns that are constant in a comparison of branches: a panel at one thread count."""

POOL_CELL = [*PLACE, "branch"]
"""Columns of a configuration of the parallel program."""

PREDICTED_CELL = [name for name in POOL_CELL if name != "placement"]
"""Columns that a simulated and a measured configuration share: simulated machines do not pin workers."""

CELL_SET = ["program", *PLACE]
"""Columns of a set of configurations that differ only in branch; a block runs each configuration of the set once."""

CELL = [*CELL_SET, "branch"]
"""Columns of a configuration, which the records call a cell."""
