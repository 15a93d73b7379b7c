"""Positions of texts in a picture, and texts that overlap."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

LETTER = 0.5
"""Width of a letter over the height of the font, approximately; Helvetica's mean is a little larger."""
SPACE = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Text:
    """Words in a picture, and the box around them in pixels."""

    words: str
    left: float
    right: float
    top: float
    bottom: float


def texts(svg: str) -> list[Text]:
    """All horizontal texts of a picture."""
    found: list[Text] = []

    def walk(element: ET.Element, x: float, y: float) -> None:
        transform = element.get("transform", "")
        if moved := re.match(r"translate\(([-\d.e]+)(?:,([-\d.e]+))?\)", transform):
            x, y = x + float(moved[1]), y + float(moved[2] or 0)
        if element.tag == f"{SPACE}text" and "rotate" not in transform:
            lines = [line for part in element.itertext() if (line := part.strip())]
            words = " ".join(lines)
            size = float(element.get("font-size", "11px").removesuffix("px"))
            width = LETTER * size * max(map(len, lines), default=0)
            left = (
                x
                - {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor", "start")] * width
            )
            if words and element.get("opacity", "1") != "0":
                found.append(
                    Text(words, left, left + width, y - 0.7 * size, y + size * (len(lines) - 1))
                )
        for child in element:
            walk(child, x, y)

    walk(ET.fromstring(svg), 0, 0)  # noqa: S314 - drawn by ourselves
    return found


def overlaps(svg: str) -> list[tuple[str, str]]:
    """Pairs of texts that overlap."""
    all_of_them = texts(svg)
    return [
        (one.words, other.words)
        for number, one in enumerate(all_of_them)
        for other in all_of_them[number + 1 :]
        if one.left < other.right
        and other.left < one.right
        and one.top < other.bottom
        and other.top < one.bottom
    ]
