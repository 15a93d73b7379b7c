"""Pictures of statements: files in light and dark, and the Markdown that shows them."""

from __future__ import annotations

import altair as alt

from sweep_analysis.draw import svg
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report.asked import Asked, Made

PICTURES = CHECKOUT / "results" / "figures"
"""Where the files are."""


def picture(asked: Asked, name: str, title: str, chart: alt.TopLevelMixin) -> Made:
    """A chart as files of this name; `title` is what a screen reader says in its place."""
    drawn = svg.draw(chart)
    light, dark = (PICTURES / f"{name}{theme}.svg" for theme in ("", "-dark"))
    text = (
        "<picture>\n"
        f'  <source media="(prefers-color-scheme: dark)" srcset="{asked.link(dark)}">\n'
        f'  <img alt="{title}" src="{asked.link(light)}">\n'
        "</picture>\n"
    )
    return text, {light: drawn, dark: svg.dark(drawn)}
