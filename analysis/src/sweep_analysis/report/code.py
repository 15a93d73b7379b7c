"""The code that a simulated machine names: the line as it was at the sweep's commit, and the function around it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.say.tables import POOL

_FUNCTION = re.compile(r"^(?P<indent> *)(?:pub(?:\([^)]*\))? |const |unsafe |async )*fn (?P<name>\w+)", re.MULTILINE)
_READERS = ("load", "glimpse")
"""Functions that only read a word for others, who are the answer to who waits."""
LONGEST = 90
"""Letters of a line of code that a table shows."""


@dataclass(frozen=True)
class Line:
    """A line of source.

    Attributes:
        place: file and line, as in `sleep/counters/packed.rs:91`.
        functions: the one around it; of one that only reads a word, those of its file that call it.
        text: the code, cut if it is long.
    """

    place: str
    functions: list[str]
    text: str


def line_at(commit: str, at: str) -> Line:
    """The line of `FILE:LINE:COLUMN`, the file being one of the checkout.

    Raises:
        InputError: Git does not have it.
    """
    file, number, _ = at.rsplit(":", 2)
    lines = _lines(commit, file)
    if int(number) > len(lines):
        raise InputError(f"{commit}:{file}", f"has no line {number}", "the sweep's checkout had changes of its own")
    text = lines[int(number) - 1].strip()
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return Line(f"{file.removeprefix(POOL)}:{number}", _functions(lines, int(number)), shown)


def _functions(lines: list[str], number: int) -> list[str]:
    name = _name_above(lines, number)
    if name not in _READERS:
        return [name]
    calls = [at for at, line in enumerate(lines, 1) if re.search(rf"\bself\.{name}\(\)", line)]
    return list(dict.fromkeys(_name_above(lines, at) for at in calls)) or [name]


def _name_above(lines: list[str], number: int) -> str:
    found = list(_FUNCTION.finditer("\n".join(lines[:number])))
    return found[-1]["name"] if found else "?"


@cache
def _lines(commit: str, file: str) -> list[str]:
    # Commits and files are those of committed records; which Git is the user's choice.
    shown = subprocess.run(  # noqa: S603
        ["git", "show", f"{commit}:{file}"],  # noqa: S607
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        raise InputError(f"{commit}:{file}", "Git does not have it", "`git fetch --unshallow` brings older commits")
    return shown.stdout.splitlines()
