"""From chart to picture.

Drawn once in light, recoloured for dark, or to follow the page that it stands in.
"""

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
"""Pictures that are kept in case they are drawn again."""
_KEPT: dict[bytes, str] = {}
_IDLE_PARTS = (
    r'<rect width="[^"]*" height="[^"]*" fill="[^"]*"/>(?=<g fill="none")',  # the page's own paper is below
    r'<path class="(?:back|fore)ground"(?:(?! fill=| stroke=)[^>])*/>',  # drawn in no colour
    r' (?:role|class|aria-[a-z]+|pointer-events|font-family|version|xmlns(?::xlink)?)="[^"]*"',
    r' opacity="1"| stroke-width="1"',
    r"(?<=\.\d\d)\d+(?:e-\d+)?",  # a hundredth of a pixel is not seen
)
"""Patterns of text that a picture inside a page does not need: half of what the library writes."""
_IDLE = re.compile("|".join(_IDLE_PARTS))
_EMPTY = re.compile(r"<g(?: [^>]*)?></g>")
_PLAIN = re.compile(r"<g>((?:(?!</?g\b).)*)</g>", re.DOTALL)
_ODD = re.compile(r"\\u00[0189]|\\u007f|\\uff|\\[bfr]|\x7f")
"""Escapes in JSON that may stand for a character which XML forbids: the library aborts the process."""
_COLOURS = re.compile("|".join(re.escape(colour) for colour in pairs()))


def draw(chart: alt.TopLevelMixin) -> str:
    """The chart as SVG."""
    # Altair has checked every part as it was made; checking the whole once more takes longer than
    # drawing it.
    spec = chart.to_dict(validate=False)
    # Many pictures of a report are both a file and a part of the page, and drawn once.
    text = json.dumps(spec)
    if _ODD.search(text):
        spec = _with_plain_texts(spec)
    key = hashlib.sha256(text.encode()).digest()
    if key not in _KEPT:
        while len(_KEPT) >= MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        # Not from the text: the library reads its numbers less exactly.
        _KEPT[key] = vl_convert.vegalite_to_svg(spec)
    return _KEPT[key]


def _with_plain_texts(value: Any) -> Any:  # noqa: ANN401 - whatever a chart has
    """A part of a chart in whose texts characters that no picture may have are spelt out."""
    if isinstance(value, dict):
        return {plain(name): _with_plain_texts(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_with_plain_texts(it) for it in value]
    return plain(value) if isinstance(value, str) else value


def dark(svg: str) -> str:
    """A picture drawn in the light theme, in the dark one."""
    return _COLOURS.sub(lambda found: pairs()[found[0]], svg)


def inline(svg: str, prefix: str, label: str) -> str:
    """A picture drawn in the light theme, as a part of a page.

    Colours follow the page, identifiers are its own.

    `label` is what a screen reader says in its place.
    """
    variables = {colour: f"var(--{name})" for name, (colour, _) in variables_by_name().items()}
    coloured = _COLOURS.sub(lambda found: variables[found[0]], slim(svg))
    named = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}-", coloured)
    return named.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def slim(svg: str) -> str:
    """A picture without what changes nothing to the eye.

    Defaults, empty groups, words for no reader.
    """
    slimmer = _IDLE.sub("", svg)
    while True:
        less = _PLAIN.sub(r"\1", _EMPTY.sub("", slimmer))
        if less == slimmer:
            return less
        slimmer = less


def variables_by_name() -> dict[str, tuple[str, str]]:
    """Names of the CSS variables that `inline` uses, each with its light and its dark colour."""
    return {f"c{number}": pair for number, pair in enumerate(pairs().items())}
