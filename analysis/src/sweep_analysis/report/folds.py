"""Folds a long table of a Markdown document, so that a reader meets answers first, and finds the fold again."""

from __future__ import annotations

import re
from html import escape, unescape

LONGEST = 8
"""Most rows of a table that stays open: more do not fit on a screen beside the answer that they are for."""

_FOLD = re.compile(r"<details><summary>(?P<summary>[^\n]*)</summary>\n\n(?P<text>.*?)\n</details>\n", re.DOTALL)


def folded(text: str, summary: str) -> str:
    """Markdown that a reader opens by touching `summary`. Without blank lines around it, a table would not be one."""
    return f"<details><summary>{escape(summary, quote=False)}</summary>\n\n{text.strip()}\n\n</details>\n"


def unfolded(text: str) -> tuple[str, str]:
    """A statement without its fold, and what stood on it; nothing if it has none."""
    found = _FOLD.search(text)
    return (_FOLD.sub(r"\g<text>", text), unescape(found["summary"])) if found else (text, "")
