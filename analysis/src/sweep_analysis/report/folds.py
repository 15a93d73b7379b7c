"""Folds a long table of a Markdown document, so that a reader meets answers first."""

from __future__ import annotations

from html import escape

LONGEST = 8
"""Most rows of a table that stays open: more do not fit on a screen beside the answer that they are for."""


def folded(text: str, summary: str) -> str:
    """Markdown that a reader opens by touching `summary`.

    Without blank lines around it, a table would not be one.
    """
    return f"<details><summary>{escape(summary, quote=False)}</summary>\n\n{text.strip()}\n\n</details>\n"
