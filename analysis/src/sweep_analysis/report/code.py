"""The code that a simulated machine names.

The line as it was at the sweep's commit, and the function around it.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
from dataclasses import dataclass
from functools import cache

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.say.tables import POOL

_FUNCTION = re.compile(
    r"^(?P<indent> *)(?:pub(?:\([^)]*\))? |const |unsafe |async )*fn (?P<name>\w+)", re.MULTILINE
)
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+):\d+(?: \((?:.* / )?(?P<name>.+)\))?")
_OF_A_RELEASE = re.compile(r"[\w-]+-\d+\.\d+\.\d+[^/]*/")
"""How the path of another's crate begins; its code is not ours to quote."""
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
        text: the code, cut if it is long; empty for another's crate.
    """

    place: str
    functions: list[str]
    text: str


def line_at(commit: str, at: str) -> Line:
    """The line of `FILE:LINE:COLUMN`, perhaps with ` (FUNCTION)` behind it.

    Of a file of the checkout, or of a crate.

    Raises:
        InputError: Git does not have it.
    """
    place = _PLACE.fullmatch(at)
    if place is None:
        raise InputError(
            at, "it is no place in a source", "`FILE:LINE:COLUMN` or `FILE:LINE:COLUMN (FUNCTION)`"
        )
    # A module that another file's `#[path]` names has `./` in it.
    file, number, named = posixpath.normpath(place["file"]), int(place["line"]), place["name"]
    shown = f"{file.removeprefix(POOL)}:{number}"
    if _OF_A_RELEASE.match(file):
        return Line(shown, [named or "?"], "")
    lines = _lines(commit, file)
    if number > len(lines):
        raise InputError(
            f"{commit}:{file}",
            f"has no line {number}",
            "the sweep's checkout had changes of its own",
        )
    text = lines[number - 1].strip()
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return Line(shown, [named] if named else _functions(lines, number), cut)


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
        raise InputError(
            f"{commit}:{file}",
            "Git does not have it",
            "`git fetch --unshallow` brings older commits",
        )
    return shown.stdout.splitlines()
