"""Formats a table of given columns and texts, for a terminal or as Markdown."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import zip_longest

from sweep_analysis.read.errors import plain

GAP = "  "

MAGENTA, PLAIN = "\x1b[35m", "\x1b[39m"

NARROWEST = 12
"""Minimum width of a column of words in characters; a narrower column would have one word per line."""


@dataclass(frozen=True)
class Look:
    """How a table is printed.

    Attributes:
        columns: width of the terminal in characters; None if lines may have any length.
        has_colour: whether the output is a terminal that shows colours.
        is_markdown: whether the output is a document, and not a terminal.
    """

    columns: int | None = None
    has_colour: bool = False
    is_markdown: bool = False

    def heading(self, text: str) -> str:
        """The line of a heading above tables."""
        return f"## {text}\n\n" if self.is_markdown else f"{text}\n"


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        title: heading of the column.
        is_number: whether the column's texts are aligned to the right.
    """

    title: str
    is_number: bool = True


def table(columns: list[Column], rows: list[list[str]], look: Look, marked: set[int]) -> str:
    """Format the table as text. In the rows whose numbers are in `marked`, the last cell is coloured."""
    # A line break in a text would end the row.
    cells = [[plain(cell).replace("\n", " ") for cell in row] for row in rows]
    titles = [column.title for column in columns]
    if look.is_markdown:
        lines = [titles, ["---:" if column.is_number else "---" for column in columns]]
        lines += [[cell.replace("|", "\\|") for cell in row] for row in cells]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
    widths = _widths(columns, cells, look.columns)
    text = ""
    for number, row in enumerate([titles, *cells]):
        is_marked = look.has_colour and number - 1 in marked
        broken = [
            textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*broken, fillvalue=""):
            padded = [
                part.rjust(width) if column.is_number else part.ljust(width)
                for part, width, column in zip(parts, widths, columns, strict=True)
            ]
            if is_marked:
                padded[-1] = f"{MAGENTA}{padded[-1]}{PLAIN}"
            text += GAP.join(padded).rstrip() + "\n"
    return text


def _widths(columns: list[Column], cells: list[list[str]], most: int | None) -> list[int]:
    """Compute widths of columns that fit the texts and, together, the terminal.

    If needed, the widest column of words becomes narrower; its texts are broken at spaces and dashes.
    """
    widths = [
        max(len(column.title), *(len(row[index]) for row in cells))
        for index, column in enumerate(columns)
    ]
    words = [index for index, column in enumerate(columns) if not column.is_number]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - (most or sum(widths) * 2)
    if excess > 0 and words:
        index = max(words, key=lambda it: widths[it])
        widths[index] = max(widths[index] - excess, min(NARROWEST, widths[index]))
    return widths
