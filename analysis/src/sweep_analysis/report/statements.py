"""Fills the statements of Markdown files from committed sweeps, so that nobody types a measured number.

A statement stands between `<!-- analysis: KIND SWEEP … -->` and `<!-- /analysis -->`; everything
between the two is written here, and so are the pictures that it shows. `KIND` is one of
`statement_kinds.KINDS`, `SWEEP` a name below `results/sweeps` or the beginning of one; some kinds
take several, and some none. Other words follow the sweeps. A long table is folded; with the word
`open` it stays open, for where it is the answer itself. The words `fixed` and `dynamic` choose one
mode of the CPU frequency. Without line breaks around it, a statement is a part of a sentence or a
cell.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT, find_sweep, read_sweep, refuse_mixed
from sweep_analysis.report.statement import Statement
from sweep_analysis.report.statement_box import BOXES
from sweep_analysis.report.statement_kinds import (
    KINDS,
    SEVERAL_MACHINES,
    TABLES_WITHOUT_BOX,
    WITHOUT_BOX,
    WITHOUT_SWEEPS,
)
from sweep_analysis.stats.analysis import Analysis, analyse

FILES = [
    *(CHECKOUT / "README.md", CHECKOUT / "results/FINDINGS.md", CHECKOUT / "results/METHOD.md"),
    *(CHECKOUT / "results/EVIDENCE.md", CHECKOUT / "results/PUBLISHED.md"),
    *(CHECKOUT / "rivals/README.md", CHECKOUT / "workloads/services/README.md"),
    CHECKOUT / "rayon-fork/README.md",
    *(CHECKOUT / "findings/README.md", *sorted(CHECKOUT.glob("findings/*/README.md"))),
]
"""The files that have statements, and hold no number elsewhere: see `typed_numbers`."""

_STATEMENT = re.compile(
    r"(<!-- analysis: (?P<words>[^>]*?) -->(?P<break>\n?))(?P<text>.*?)(<!-- /analysis -->)",
    re.DOTALL,
)
_OPEN = "open"
_MODES = ("dynamic", "fixed")
_SWEEP = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z")

_NO_PROSE = re.compile(
    r"""
    ^(?P<fence>```|~~~).*?^(?P=fence)  # code
    | `[^`\n]+`
    | \]\([^)\n]*\)                    # where a link leads
    | <[^>\n]*>                        # tags
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NAMES = re.compile(
    r"\b(?:rayon|rayon-core|Rust|rustc|Python|Linux|Apache) \d+(?:\.\d+)*|\b20\d\d\b"
    r"|\b95.% intervals?|\bmargin of 2.%"
)
"""Names that hold digits: versions, years, levels."""

_RESULT = re.compile(
    r"[+−±]\d|\d+\.\d|\d\s?(?:%|‰|\u00d7|[nµum]s\b|s\b|[kMG]?Hz\b|[KMG]i?B\b)|\bhung \d",
    re.IGNORECASE,
)
"""A number that somebody measured: it has a sign, a fraction or a unit."""


def asked_by(statement: str, where: str, folder: Path) -> tuple[str, Statement]:
    """Parses a statement's comment into its kind and its request.

    `where` and `folder` are those of `Statement`.
    """
    kind, *words = statement.split() or [""]
    named = [word for word in words if _SWEEP.match(word)]
    if kind not in KINDS or bool(named) == (kind in WITHOUT_SWEEPS):
        raise InputError(where, f"unknown kind `{kind}`, or no sweep", f"known: {', '.join(KINDS)}")
    modes = [word for word in words if word in _MODES]
    rest = [word for word in words if word not in (_OPEN, *_MODES, *named)]
    sweeps = [_analysis(find_sweep(Path(name))) for name in named]
    return kind, Statement(
        where, folder, sweeps, rest, _OPEN in words, modes[0] if modes else "", _analysis
    )


def made(file: Path) -> dict[Path, str]:
    """The texts that the statements of `file` make.

    The file itself with all statements filled, and the pictures that it shows.

    Raises:
        InputError: a statement is of no known kind, or its sweep cannot be read, or lacks the data
            that it asks for.
    """
    texts: dict[Path, str] = {}

    def fill(found: re.Match[str]) -> str:
        where = f"{file}: statement `{found['words']}`"
        kind, asked = asked_by(found["words"], where, file.parent)
        # `SEVERAL_MACHINES` names the sweep of each line or number; `WITHOUT_SWEEPS` names no sweep.
        if kind not in SEVERAL_MACHINES | WITHOUT_SWEEPS:
            refuse_mixed([it.sweep for it in asked.sweeps], where)
        _refuse_without_box(kind, asked)
        text, pictures = KINDS[kind](asked)
        label = asked.sweep.sweep.label if asked.sweeps and kind != "published" else ""
        texts.update(pictures)
        if not found["break"]:
            return f"{found[1]}{text.strip()}{found[5]}"
        if label not in text:
            text = f"*{label}*\n\n{text}"
        return f"{found[1]}{text.strip()}\n{found[5]}"

    filled = _STATEMENT.sub(fill, file.read_text(encoding="utf-8"))
    return {file: filled} | texts


def _refuse_without_box(kind: str, asked: Statement) -> None:
    """A simulated statement needs its box, since its size hangs on prices that nobody knows exactly.

    Raises:
        InputError: `kind` says how large something is on one simulated machine.
    """
    named = [it.sweep for it in asked.sweeps if it.sweep.machine]
    is_table = kind == "table" and bool(TABLES_WITHOUT_BOX.intersection(asked.words))
    if named and not is_table and kind not in {*BOXES, *WITHOUT_BOX}:
        raise asked.refused(
            f"`{kind}` of {named[0].path.name}: a simulated size without its box cannot be printed",
            f"sweep with `--box`, and state {' or '.join(f'`{it}`' for it in BOXES)}",
        )


@cache
def _analysis(folder: Path) -> Analysis:
    """A committed sweep never changes, and several files speak of it."""
    return analyse(read_sweep(folder))


def typed_numbers(text: str) -> list[str]:
    """Lines that hold a result outside statements, code and addresses.

    Counts, sizes and numbers of threads may be typed: they are no measurements.
    """
    prose = _STATEMENT.sub("", text)
    prose = _NAMES.sub("", _NO_PROSE.sub("", prose))
    return [line.strip() for line in prose.splitlines() if _RESULT.search(line)]


def words(text: str, *, tables: bool = True) -> int:
    """How many words a reader of a page reads: those of code, comments and addresses are none."""
    read = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    read = re.sub(r"^(```|~~~).*?^\1", "", read, flags=re.DOTALL | re.MULTILINE)
    read = re.sub(r"\]\([^)\n]*\)|<[^>\n]*>", "", read)
    if not tables:
        read = re.sub(r"^\|.*$", "", read, flags=re.MULTILINE)
    return len(read.split())
