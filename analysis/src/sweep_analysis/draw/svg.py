"""Draws a chart as SVG once in the light theme, and recolours it for the dark theme or for the page."""

from __future__ import annotations

import hashlib
import json
import re
from html import escape
from typing import Any

import altair as alt
import vl_convert

from sweep_analysis.draw.palette import pairs
from sweep_analysis.read.errors import plain

MOST_KEPT = 128
"""Number of pictures in the cache."""
_KEPT: dict[bytes, str] = {}
_IDLE_PARTS = (
    r'<rect width="[^"]*" height="[^"]*" fill="[^"]*"/>(?=<g fill="none")',  # the page has a background
    r'<path class="(?:back|fore)ground"(?:(?! fill=| stroke=)[^>])*/>',  # without colour
    r' (?:role|class|aria-[a-z]+|pointer-events|font-family|version|xmlns(?::xlink)?)="[^"]*"',
    r' opacity="1"| stroke-width="1"',
    r"(?<=\.\d\d)\d+(?:e-\d+)?",  # digits below 0.01 pixels are invisible
)
"""Patterns of text that a picture inside a page does not need, which are half of the library's output."""
_IDLE = re.compile("|".join(_IDLE_PARTS))
_EMPTY = re.compile(r"<g(?: [^>]*)?></g>")
_PLAIN = re.compile(r"<g>((?:(?!</?g\b).)*)</g>", re.DOTALL)
_ODD = re.compile(r"\\u00[0189]|\\u007f|\\uff|\\[bfr]|\x7f")
"""JSON escapes of characters that XML forbids, on which the library would abort the process."""
_COLOURS = re.compile("|".join(re.escape(colour) for colour in pairs()))


def draw(chart: alt.TopLevelMixin) -> str:
    """The chart as SVG."""
    # Altair checked every part on creation; a second check of the whole takes longer than the drawing.
    spec = chart.to_dict(validate=False)
    # Many pictures of a report are both in a file and on the page, so the cache draws them once.
    text = json.dumps(spec)
    if _ODD.search(text):
        spec = _with_plain_texts(spec)
    key = hashlib.sha256(text.encode()).digest()
    if key not in _KEPT:
        while len(_KEPT) >= MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        # The library reads numbers less exactly from JSON text than from the dictionary.
        _KEPT[key] = vl_convert.vegalite_to_svg(spec)
    return _KEPT[key]


def _with_plain_texts(value: Any) -> Any:  # noqa: ANN401 - any part of a chart
    """A part of a chart, with characters that XML forbids escaped in its texts."""
    if isinstance(value, dict):
        return {plain(name): _with_plain_texts(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_with_plain_texts(it) for it in value]
    return plain(value) if isinstance(value, str) else value


def dark(svg: str) -> str:
    """The dark form of a picture in the light theme."""
    return _COLOURS.sub(lambda found: pairs()[found[0]], svg)


def inline(svg: str, prefix: str, label: str) -> str:
    """A picture in the light theme as a part of a page, with the page's colours and unique identifiers.

    `label` is its text for a screen reader.
    """
    variables = {colour: f"var(--{name})" for name, (colour, _) in variables_by_name().items()}
    coloured = _COLOURS.sub(lambda found: variables[found[0]], slim(svg))
    named = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}-", coloured)
    return named.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def slim(svg: str) -> str:
    """A picture without invisible parts: default attributes, empty groups, and labels."""
    slimmer = _IDLE.sub("", svg)
    while True:
        less = _PLAIN.sub(r"\1", _EMPTY.sub("", slimmer))
        if less == slimmer:
            return less
        slimmer = less


def variables_by_name() -> dict[str, tuple[str, str]]:
    """Names of the CSS variables that `inline` uses, each with its light and its dark colour."""
    return {f"c{number}": pair for number, pair in enumerate(pairs().items())}
