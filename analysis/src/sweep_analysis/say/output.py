"""Prints one table to stdout with its provenance; for CSV the provenance goes to stderr."""

from __future__ import annotations

import sys

import msgspec
import polars as pl

from sweep_analysis.read.errors import plain
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.provenance import provenance, sentence
from sweep_analysis.say import tables

FORMATS = ("csv", "md", "json")


def show(
    sweep: Sweep,
    name: str,
    frame: pl.DataFrame,
    form: str,
    *,
    read: pl.DataFrame,
) -> None:
    """Print `frame` in one of `FORMATS`.

    JSON output has the frame under `name`, and the provenance. Markdown output, for people, has `read` instead.
    """
    found = provenance(sweep)
    for note in sweep.notes:
        print(plain(f"note: {note}"), file=sys.stderr)
    if form == "json":
        whole = {name: frame.to_dicts(), "provenance": found | {"rows": frame.height}}
        print(msgspec.json.encode(whole).decode())
    elif form == "md":
        print(plain(tables.markdown(read)), end="")
        print(f"\n{sentence(found, frame.height)}")
    else:
        print(frame.write_csv(), end="")
        print(f"note: {sentence(found, frame.height)}", file=sys.stderr)
