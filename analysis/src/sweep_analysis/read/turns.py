"""Runs of a program's builds in turns, which are no sweep: one line each, as rows of `frames.TIMES`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import TIMES
from sweep_analysis.read.schema import PARALLEL


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run.

    Attributes:
        benchmark: what ran.
        build: the build that ran it; the A/A control has the suffix of `schema.TWIN_SUFFIX`.
        turn: the visit to the benchmark, in which each build runs once.
        seconds: what it took, above zero.
    """

    benchmark: str
    build: str
    turn: int
    seconds: float


def read_turns(file: Path) -> pl.DataFrame:
    """The runs of a file of JSON lines.

    The turn takes the place of the link-order build (`layout`): it is what repeats.

    Raises:
        InputError: the file cannot be read, or a line is no run.
    """
    try:
        lines = file.read_bytes().splitlines()
        return times_of(msgspec.json.decode(line, type=Run) for line in lines)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(
            file, str(error), "give lines that `cargo xtask upstream --demo` wrote"
        ) from error


def times_of(runs: Iterable[Run]) -> pl.DataFrame:
    """Rows of `frames.TIMES`, of one thread count; columns that no run tells are null."""
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
