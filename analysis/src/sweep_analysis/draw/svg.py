"""Draws a chart as SVG once in the light theme, and recolours it for the dark theme or for the page."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

import altair as alt
import vl_convert

from sweep_analysis.draw.palette import pairs
from sweep_analysis.read.errors import plain

_NAMESPACES = re.compile(r' xmlns(?::xlink)?="[^"]*"')
"""Attributes that a picture inside a page does not need."""
_ODD = re.compile(r"\\u00[0189]|\\u007f|\\uff|\\[bfr]|\x7f")
"""JSON escapes of characters that XML forbids. vl-convert would abort the process on these characters."""
_COLOURS = re.compile("|".join(re.escape(colour) for colour in pairs()))


def draw(chart: alt.TopLevelMixin) -> str:
    """Return the chart as SVG."""
    # Altair checked every part on creation; to check the whole chart again takes longer than to draw it.
    spec = chart.to_dict(validate=False)
    if _ODD.search(json.dumps(spec)):
        spec = _with_plain_texts(spec)
    # vl-convert reads numbers less exactly from JSON text than from a dictionary.
    drawn: str = vl_convert.vegalite_to_svg(spec)
    return drawn


def _with_plain_texts(value: Any) -> Any:  # noqa: ANN401 - any part of a chart
    """Return a part of a chart, in whose texts characters that XML forbids are escaped."""
    if isinstance(value, dict):
        return {plain(name): _with_plain_texts(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_with_plain_texts(it) for it in value]
    return plain(value) if isinstance(value, str) else value


def dark(svg: str) -> str:
    """Return the dark form of a picture in the light theme."""
    return _COLOURS.sub(lambda found: pairs()[found[0]], svg)


def inline(svg: str, prefix: str, label: str) -> str:
    """Return a picture in the light theme as a part of a page, with the page's colours and unique identifiers.

    A screen reader reads `label` in place of the picture.
    """
    variables = {colour: f"var(--{name})" for name, (colour, _) in variables_by_name().items()}
    coloured = _COLOURS.sub(lambda found: variables[found[0]], _NAMESPACES.sub("", svg))
    named = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}-", coloured)
    return named.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def variables_by_name() -> dict[str, tuple[str, str]]:
    """Names of the CSS variables that `inline` uses, each with its light and its dark colour."""
    return {f"c{number}": pair for number, pair in enumerate(pairs().items())}
