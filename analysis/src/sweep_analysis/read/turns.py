"""Reads benchmark runs that alternate between builds into rows of `frames.TIMES`; each run is a JSON line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import TIMES
from sweep_analysis.read.schema import PARALLEL


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of a benchmark.

    Attributes:
        benchmark: name of the benchmark.
        build: name of the build; the A/A control has the suffix `schema.TWIN_SUFFIX`.
        turn: number of the round, in which each build runs each benchmark once.
        seconds: wall time, above zero.
    """

    benchmark: str
    build: str
    turn: int
    seconds: float


def read_turns(file: Path) -> pl.DataFrame:
    """Read the runs in a file of JSON lines.

    The round is the sampling unit, so it fills the column `layout`.

    Raises:
        InputError: the file cannot be read, or a line is not a run.
    """
    try:
        lines = file.read_bytes().splitlines()
        return times_of(msgspec.json.decode(line, type=Run) for line in lines)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(
            file, str(error), "name a file that `cargo xtask upstream --demo` wrote"
        ) from error


def times_of(runs: Iterable[Run]) -> pl.DataFrame:
    """Rows of `frames.TIMES`, all with the same thread count; columns that runs lack are null."""
    kept = list(runs)
    names = dict.fromkeys(run.benchmark for run in kept)
    at = {name: number for number, name in enumerate(names)}
    rows = [
        {
            "program": PARALLEL,
            "workload": run.benchmark,
            "branch": run.build,
            "threads": 2,
            "oversubscribed": False,
            "layout": run.turn,
            "replicate": run.turn,
            "block": run.turn * len(at) + at[run.benchmark],
            "ns_per_unit": run.seconds * 1e9,
        }
        for run in kept
    ]
    return pl.DataFrame(rows, schema=TIMES)
