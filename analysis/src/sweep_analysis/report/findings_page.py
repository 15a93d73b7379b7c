"""Writes FINDINGS as one page for people: it loads nothing, long tables are folded, and columns sort."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report.document import Document
from sweep_analysis.report.folds import unfolded
from sweep_analysis.report.page import environment, source
from sweep_analysis.report.statements import pieces

FINDINGS = CHECKOUT / "results" / "FINDINGS.md"
DEEPEST = 2
"""Smaller headings are not in the table of contents."""


@dataclass
class Part:
    """A stretch of the page.

    Attributes:
        text: HTML that is always seen.
        tables: HTML of a statement's tables.
        summary: what the document says on the fold that they are in; empty if they are open.
    """

    text: str
    tables: str = ""
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
    """The page as HTML.

    Raises:
        InputError: the document cannot be read, or shows what is not there.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file, f"cannot be read: {error}", "restore it: `git checkout` has it") from error
    document = Document(file)
    parts = []
    for piece in pieces(text):
        if piece.kind:
            statement, summary = unfolded(piece.text)
            parts.append(Part(*document.statement(statement), summary))
        else:
            parts.append(Part(document.html(piece.text)))
    contents = [heading for heading in document.headings if heading.level <= DEEPEST]
    return (
        environment()
        .get_template("findings.html.j2")
        .render(
            title=contents[0].text if contents else file.stem,
            parts=parts,
            contents=contents[1:],
            css=source("page.css") + source("findings.css"),
            sort=source("sort.js"),
        )
    )
