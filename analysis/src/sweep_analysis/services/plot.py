"""Draws points: a chart for each place, with measured points above published ones. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT, Theme
from sweep_analysis.draw.plots import finished
from sweep_analysis.services.points import FIGURES

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#882255",
    "#999933",
    "#000000",
)
"""Colours of variants, in this order. Colour-blind readers can distinguish the colours (Okabe and Ito, and Tol)."""

SHAPES = {
    "measured": "circle",
    "printed": "diamond",
    "repeated": "diamond",
    "derived": "square",
    "bound": "triangle-down",
}
"""Shape of a point by its kind."""

PANEL = (170, 140)

MOST_LETTERS = 24
"""Maximum number of letters below a panel; with more letters, the labels of its axis are vertical."""

MOST_LABELS = 12
"""Maximum number of labels along an axis; further labels are left out."""


def charts(points: pl.DataFrame, figure: str, theme: Theme = LIGHT) -> dict[str, alt.VConcatChart]:
    """Draw a chart for each place, by the place's name: a row for each origin, a column for each panel.

    In: rows of `points.POINTS`.
    """
    drawn = {}
    for (place,), part in points.group_by(["place"], maintain_order=True):
        rows = [_row(own, part, figure, theme) for own in part.partition_by("origin")]
        whole: alt.VConcatChart = alt.vconcat(*rows, title=str(place))
        drawn[str(place)] = finished(whole.resolve_scale(color="shared", shape="shared"), theme)
    return drawn


def _row(own: pl.DataFrame, place: pl.DataFrame, figure: str, theme: Theme) -> alt.FacetChart:
    across, upwards = FIGURES[figure]
    ways = place["way"].unique(maintain_order=True).sort().to_list()
    ink = [theme.ink if colour == "#000000" else colour for colour in COLOURS]
    colour = alt.Color(
        "way:N",
        title=None,
        scale=alt.Scale(domain=ways, range=[ink[at % len(ink)] for at in range(len(ways))]),
        legend=alt.Legend(orient="bottom", columns=3, symbolType="circle"),
    )
    kinds = [kind for kind in SHAPES if kind in place["kind"]]
    shape = alt.Shape(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[SHAPES[kind] for kind in kinds]),
        legend=alt.Legend(orient="bottom"),
    )
    # A logarithmic axis cannot show a lower bound of zero or less.
    is_time = upwards.endswith("ms")
    shown = (
        own.with_columns(pl.when(pl.col("low") > 0).then("low").alias("low")) if is_time else own
    )
    values = _in_order(place["x"])
    is_wide = sum(len(value) + 1 for value in values) > MOST_LETTERS
    axis = alt.Axis(labelAngle=-90 if is_wide else 0, labelOverlap=len(values) > MOST_LABELS)
    x = alt.X("x:O", title=across, sort=values, axis=axis)
    scale = alt.Scale(type="log" if is_time else "linear")
    ticks = alt.Axis(format="~g" if is_time else "~s", tickCount=4)
    y = alt.Y("value:Q", title=upwards, scale=scale, axis=ticks)
    base = alt.Chart(shown).encode(x=x, color=colour)
    interval = base.transform_filter("isValid(datum.low)").mark_rule(opacity=0.6)
    layers = alt.layer(
        interval.encode(y=alt.Y("low:Q", title=upwards, axis=ticks), y2="high:Q"),
        base.mark_line(strokeWidth=1.4).encode(y=y),
        base.mark_point(filled=True, size=36, opacity=1).encode(y=y, shape=shape),
    ).properties(width=PANEL[0], height=PANEL[1])
    column = alt.Column("panel:N", sort=_in_order(own["panel"]), title=str(own["origin"][0]))
    row: alt.FacetChart = layers.facet(column=column).resolve_scale(x="independent")
    # Times of panels differ by orders of magnitude; speed-ups are compared across panels.
    return row.resolve_scale(y="independent") if is_time else row


def _in_order(names: pl.Series) -> list[str]:
    """Sort names by the numbers in the names, then by letters."""
    numbers = names.str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Int64))
    frame = pl.DataFrame({"name": names, "numbers": numbers}).unique()
    rows = frame.rows()
    return [name for name, _ in sorted(rows, key=lambda row: (row[1] == [], row[1], row[0]))]
