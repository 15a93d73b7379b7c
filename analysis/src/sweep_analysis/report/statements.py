"""Makes the generated results of Markdown files from committed sweeps, so that no measured number is typed.

A generated result is the text between `<!-- analysis: KIND SWEEP … -->` and `<!-- /analysis -->`. This
module makes the text and its pictures. `KIND` is one of `statement_kinds.KINDS`. `SWEEP` is a name below
`results/sweeps`, or the start of such a name; some kinds take several sweeps, and some take no sweep. The
other words of the comment follow the sweeps. A long table is folded, unless the comment has the word `open`.
If the document has no line breaks around the text, the text is a part of a sentence or of a table row.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT, find_sweep, read_sweep
from sweep_analysis.report.statement import Statement
from sweep_analysis.report.statement_box import BOXES
from sweep_analysis.report.statement_kinds import (
    KINDS,
    TABLES_WITHOUT_BOX,
    WITHOUT_BOX,
    WITHOUT_SWEEPS,
)
from sweep_analysis.stats.analysis import Analysis, analyse

FILES = [
    *(CHECKOUT / "README.md", CHECKOUT / "results/FINDINGS.md", CHECKOUT / "results/METHOD.md"),
    *(CHECKOUT / "results/EVIDENCE.md", CHECKOUT / "results/PUBLISHED.md"),
    CHECKOUT / "results/predictions/README.md",
    *(CHECKOUT / "rivals/README.md", CHECKOUT / "workloads/services/README.md"),
    CHECKOUT / "rayon-fork/README.md",
    *(CHECKOUT / "findings/README.md", *sorted(CHECKOUT.glob("findings/*/README.md"))),
]
"""The files with generated results. A test refuses other measured numbers in `README.md` and `results/`: see `typed_numbers`."""

_STATEMENT = re.compile(
    r"(<!-- analysis: (?P<words>[^>]*?) -->(?P<break>\n?))(?P<text>.*?)(<!-- /analysis -->)",
    re.DOTALL,
)
_OPEN = "open"
_SWEEP = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z")

_NO_PROSE = re.compile(
    r"""
    ^(?P<fence>```|~~~).*?^(?P=fence)  # code
    | `[^`\n]+`
    | \]\([^)\n]*\)                    # targets of links
    | <[^>\n]*>                        # tags
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NAMES = re.compile(
    r"\b(?:rayon|rayon-core|Rust|rustc|Python|Linux|Apache) \d+(?:\.\d+)*|\b20\d\d\b"
    r"|\b95.% intervals?|\bmargin of 2.%"
)
"""Names with digits: versions, years, levels."""

_RESULT = re.compile(
    r"[+−±]\d|\d+\.\d|\d\s?(?:%|‰|\u00d7|[nµum]s\b|s\b|[kMG]?Hz\b|[KMG]i?B\b)|\bhung \d",
    re.IGNORECASE,
)
"""A measured number: it has a sign, a fraction or a unit."""


def asked_by(statement: str, where: str, folder: Path) -> tuple[str, Statement]:
    """Parse the comment of a generated result into its kind and its request.

    For `where` and `folder`, see `Statement`.
    """
    kind, *words = statement.split() or [""]
    named = [word for word in words if _SWEEP.match(word)]
    if kind not in KINDS:
        raise InputError(where, f"unknown kind `{kind}`", f"known: {', '.join(KINDS)}")
    if named and kind in WITHOUT_SWEEPS:
        raise InputError(where, f"`{kind}` takes no sweep", f"leave out {', '.join(named)}")
    if not named and kind not in WITHOUT_SWEEPS:
        remedy = "write its name as in results/sweeps, such as `2026-01-31T120000Z`"
        raise InputError(where, f"`{kind}` needs a sweep", remedy)
    rest = [word for word in words if word not in (_OPEN, *named)]
    sweeps = [_analysis(find_sweep(Path(name))) for name in named]
    return kind, Statement(where, folder, sweeps, rest, _OPEN in words, _analysis)


def made(file: Path) -> dict[Path, str]:
    """Generate all results of a file: returns the texts of the file and of its pictures, by path.

    Raises:
        InputError: a kind is unknown, a sweep cannot be read, or a sweep lacks the data of a result.
    """
    texts: dict[Path, str] = {}

    def fill(found: re.Match[str]) -> str:
        where = f"{file}: generated result `{found['words']}`"
        kind, asked = asked_by(found["words"], where, file.parent)
        _refuse_without_box(kind, asked)
        try:
            text, pictures = KINDS[kind](asked)
        except (ValueError, IndexError) as error:
            remedy = (
                f"see the function of `{kind}` in report/statement_*.py for the words that it takes"
            )
            raise InputError(where, f"the words do not fit ({error})", remedy) from error
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
    """Refuse a simulated size without a box, because such a size depends on cost parameters that are not exact.

    Raises:
        InputError: `kind` states a size on one simulated machine.
    """
    named = [it.sweep for it in asked.sweeps if it.sweep.machine]
    is_table = kind == "table" and bool(TABLES_WITHOUT_BOX.intersection(asked.words))
    if named and not is_table and kind not in {*BOXES, *WITHOUT_BOX}:
        raise asked.refused(
            f"`{kind}` of {named[0].path.name}: a simulated size without its box cannot be printed",
            f"sweep with `--box`, and use {' or '.join(f'`{it}`' for it in BOXES)}",
        )


@cache
def _analysis(folder: Path) -> Analysis:
    """The analysis of a committed sweep, cached because several files use it."""
    return analyse(read_sweep(folder))


def typed_numbers(text: str) -> list[str]:
    """Lines with a measured number outside generated results, code and addresses.

    Counts, sizes and numbers of threads may be typed, because they are not measurements.
    """
    prose = _STATEMENT.sub("", text)
    prose = _NAMES.sub("", _NO_PROSE.sub("", prose))
    return [line.strip() for line in prose.splitlines() if _RESULT.search(line)]


def words(text: str, *, tables: bool = True) -> int:
    """The number of words of a document, without code, comments and addresses."""
    read = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    read = re.sub(r"^(```|~~~).*?^\1", "", read, flags=re.DOTALL | re.MULTILINE)
    read = re.sub(r"\]\([^)\n]*\)|<[^>\n]*>", "", read)
    if not tables:
        read = re.sub(r"^\|.*$", "", read, flags=re.MULTILINE)
    return len(read.split())
