"""Writes FINDINGS as one page for people: it loads nothing, and its charts answer to the reader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report.document import Document
from sweep_analysis.report.folds import unfolded
from sweep_analysis.report.live import Shown, chart
from sweep_analysis.report.page import environment, source
from sweep_analysis.report.statement_tables import named
from sweep_analysis.report.statements import Piece, analysis_of, pieces
from sweep_analysis.stats.thread_times import COLUMNS

FINDINGS = CHECKOUT / "results" / "FINDINGS.md"
BY_THREADS = "by-threads"
"""The kind of statement whose table a chart shows."""
SPENT = ("figure", "spent")
"""Kind and first word of the statement whose picture a chart shows."""
DEEPEST = 2
"""Smaller headings are not in the table of contents."""


@dataclass
class Part:
    """A stretch of the page.

    Attributes:
        text: HTML that is always seen.
        folded: HTML of tables and pictures; where a chart shows the same, a reader with scripts opens it first.
        chart: what a chart shows after the text; None if there is none.
        is_charted: whether this chart or one before it shows what is folded.
        summary: what the document itself says on the fold; empty if it has none.
    """

    text: str
    folded: str = ""
    chart: dict[str, Any] | None = None
    is_charted: bool = False
    summary: str = ""


def write_findings(output: Path, file: Path = FINDINGS) -> Path:
    """Write the page to `output`, a file if it ends in `.html`, else a folder; returns the page.

    Raises:
        InputError: the document cannot be read, or shows what is not there.
    """
    page = output if output.suffix == ".html" else output / "index.html"
    text = render_findings(file)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def render_findings(file: Path) -> str:
    """The page as HTML; without scripts it has tables and pictures in the place of charts."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file, f"cannot be read: {error}", "restore it: `git checkout` has it") from error
    document = Document(file)
    parts = _parts(document, list(pieces(text)))
    contents = [heading for heading in document.headings if heading.level <= DEEPEST]
    return (
        environment()
        .get_template("findings.html.j2")
        .render(
            title=contents[0].text if contents else file.stem,
            parts=parts,
            contents=contents[1:],
            css=source("page.css") + source("findings.css"),
            scripts=[source("sort.js"), source("charts.js")],
        )
    )


def _parts(document: Document, found: list[Piece]) -> list[Part]:
    """Statements of one section that a chart can show together have one chart, at the first of them."""
    parts: list[Part] = []
    groups: dict[tuple[str, str], list[Shown]] = {}
    first: dict[tuple[str, str], Part] = {}
    for piece in found:
        if not piece.kind:
            parts.append(Part(document.html(piece.text)))
            continue
        text, summary = unfolded(piece.text)
        around, tables = document.statement(text)
        part = Part(around, tables, summary=summary)
        parts.append(part)
        shown = _shown(piece)
        if shown is None:
            continue
        if piece.kind == SPENT[0]:
            part.text, part.folded = "", around
        section = next((it.anchor for it in reversed(document.headings) if it.level <= DEEPEST), "")
        group = (section, piece.kind)
        groups.setdefault(group, []).append(shown)
        first.setdefault(group, part)
        part.is_charted = True
    for group, part in first.items():
        part.chart = chart(groups[group])
    return parts


def _shown(piece: Piece) -> Shown | None:
    """What a chart shows of a statement; None if it stays as it is."""
    if piece.kind == BY_THREADS and piece.words[0] in COLUMNS:
        quantity, *rest = piece.words
        return Shown(analysis_of(piece.sweeps[0]), quantity, *named(rest))
    if (piece.kind, *piece.words[:1]) == SPENT:
        return Shown(analysis_of(piece.sweeps[0]), "", [], [])
    return None
