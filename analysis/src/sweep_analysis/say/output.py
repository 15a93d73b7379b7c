"""Prints one table: data to stdout, and where they come from with them or, for CSV, beside them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import TextIO

import msgspec
import polars as pl

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
    more: Mapping[str, object] | None = None,
    read: pl.DataFrame | None = None,
) -> None:
    """Print `frame` in one of `FORMATS`.

    JSON has it under `name`, with `more` and the provenance beside it.

    Markdown, which people read, has `read` in its place if there is such.
    """
    found = provenance(sweep)
    for note in sweep.notes:
        print(f"note: {note}", file=sys.stderr)
    if form == "json":
        whole = {
            name: frame.to_dicts(),
            **(more or {}),
            "provenance": found | {"rows": frame.height},
        }
        print(msgspec.json.encode(whole).decode())
    elif form == "md":
        print(table(frame if read is None else read), end="")
        print(f"\n{paragraph(sentence(found, frame.height))}")
    else:
        print(frame.write_csv(), end="")
        print(f"note: {sentence(found, frame.height)}", file=sys.stderr)


def table(frame: pl.DataFrame, stream: TextIO | None = None) -> str:
    """A table for people: as wide as the terminal that `stream` is, or else in Markdown."""
    if not (stream or sys.stdout).isatty():
        return tables.markdown(frame)
    return tables.fitted(frame, shutil.get_terminal_size().columns)


def paragraph(text: str, stream: TextIO | None = None) -> str:
    """A sentence or more: in lines as long as the terminal that `stream` is, or in one."""
    if not (stream or sys.stdout).isatty():
        return text
    width = max(shutil.get_terminal_size().columns, tables.MIN_WIDTH)
    return textwrap.fill(text, width, break_on_hyphens=False)
