"""Links between documents lead to existing files and headings; generated results are Markdown."""

from __future__ import annotations

import re
from pathlib import Path

from sweep_analysis.read.load import CHECKOUT

FOLDERS = ["analysis", "findings", "manycore", "rayon-fork", "results", "runner", "workloads"]
RAW = re.compile(r"^ {0,3}(?:[*+-] |\d+\. |> )?<!--[^>]*-->(?=.)", re.MULTILINE)
"""A comment at the beginning of a line: Markdown shows the rest of that line as HTML, with its backticks."""
LINK = re.compile(r"\]\((?!https?:)(?P<file>[^)#\s]*)#?(?P<heading>[^)\s]*)\)")


def headings(file: Path) -> set[str]:
    """The headings of `file` as a link names them: small letters, no signs, hyphens for blanks."""
    found = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-").lower() for heading in found}


def documents() -> list[Path]:
    return [
        *CHECKOUT.glob("*.md"),
        *(file for folder in FOLDERS for file in (CHECKOUT / folder).rglob("*.md")),
    ]


def test_no_line_begins_with_a_comment_before_its_text() -> None:
    assert RAW.search("* <!-- analysis: effect -->on `inject`<!-- /analysis -->")
    raw = [file for file in documents() if RAW.search(file.read_text(encoding="utf-8"))]
    assert not raw


def test_every_link_leads_to_a_file_and_to_a_heading() -> None:
    broken, count = [], 0
    for file in documents():
        for link in LINK.finditer(file.read_text(encoding="utf-8")):
            target = file.parent / link["file"] if link["file"] else file
            count += 1
            if not target.exists() or (link["heading"] and link["heading"] not in headings(target)):
                broken.append(f"{file.relative_to(CHECKOUT)}: {link[0]}")
    assert count > 100, "links were not found"
    assert not broken
