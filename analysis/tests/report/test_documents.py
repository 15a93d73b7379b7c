"""Links between documents lead to existing files and headings."""

from __future__ import annotations

import re
from pathlib import Path

from sweep_analysis.read.load import CHECKOUT

FOLDERS = ["analysis", "findings", "manycore", "rayon-fork", "results", "runner", "workloads"]
LINK = re.compile(r"\]\((?!https?:)(?P<file>[^)#\s]*)#?(?P<heading>[^)\s]*)\)")


def headings(file: Path) -> set[str]:
    """The headings of `file` as a link names them: small letters, no signs, hyphens for blanks."""
    found = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-").lower() for heading in found}


def test_every_link_leads_to_a_file_and_to_a_heading() -> None:
    files = [
        *CHECKOUT.glob("*.md"),
        *(file for folder in FOLDERS for file in (CHECKOUT / folder).rglob("*.md")),
    ]
    broken, count = [], 0
    for file in files:
        for link in LINK.finditer(file.read_text(encoding="utf-8")):
            target = file.parent / link["file"] if link["file"] else file
            count += 1
            if not target.exists() or (link["heading"] and link["heading"] not in headings(target)):
                broken.append(f"{file.relative_to(CHECKOUT)}: {link[0]}")
    assert count > 100, "links were not found"
    assert not broken
