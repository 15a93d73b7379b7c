"""Draws what the model of simulated machines gives beside theory and published figures.

No statistics.
"""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.draw.plots import finished

WIDTH = 260
"""Of a panel, in pixels."""
HEIGHT = 210
"""Likewise."""
SOURCES = ["published", "simulated, fitted", "simulated, predicted"]
COLOURS = ["#222222", "#bbbbbb", "#ee6677"]


def model_points(path: Path) -> dict[str, pl.DataFrame]:
    """The tables of `results/model.json`, which `manycore/tests/model` keeps.

    `published`, `hot_line` and `greedy`.
    """
    return {name: pl.DataFrame(rows) for name, rows in json.loads(path.read_text()).items()}


def published_figure(points: pl.DataFrame) -> alt.TopLevelMixin:
    """Nanoseconds of an operation by threads, published and simulated, a panel for each host and operation.

    In: the table `published` of `model_points`.
    """
    fitted = pl.when("is_fitted").then(pl.lit(SOURCES[1])).otherwise(pl.lit(SOURCES[2]))
    both = pl.concat(
        [
            points.select(
                "host",
                "operation",
                "threads",
                pl.col("published_ns").alias("ns"),
                source=pl.lit(SOURCES[0]),
            ),
            points.select(
                "host", "operation", "threads", pl.col("simulated_ns").alias("ns"), source=fitted
            ),
        ]
    ).with_columns(pl.format("{}, {}", "host", "operation").alias("panel"))
    x = alt.X(
        "threads:Q",
        scale=alt.Scale(type="log", base=2),
        title="threads",
        axis=alt.Axis(values=sorted(both["threads"].unique())),
    )
    y = alt.Y(
        "ns:Q",
        scale=alt.Scale(type="log"),
        title="ns per operation and thread",
        axis=alt.Axis(tickCount=5),
    )
    colour = alt.Color(
        "source:N", scale=alt.Scale(domain=SOURCES, range=COLOURS), legend=alt.Legend(title=None)
    )
    shape = alt.Shape(
        "source:N",
        scale=alt.Scale(domain=SOURCES, range=["circle", "square", "diamond"]),
        legend=None,
    )
    chart = (
        alt.Chart(both)
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(x=x, y=y, color=colour, shape=shape)
    )
    faceted: alt.FacetChart = (
        chart.properties(width=WIDTH, height=HEIGHT)
        .facet(facet=alt.Facet("panel:N", title=None), columns=2)
        .resolve_scale(y="shared")
    )
    return finished(faceted, LIGHT)


def limits_figure(hot_line: pl.DataFrame, greedy: pl.DataFrame) -> alt.TopLevelMixin:
    """Two limits that theory gives, and what the model gives.

    In: the tables `hot_line` and `greedy` of `model_points`.
    """

    def threads(points: pl.DataFrame) -> alt.X:
        axis = alt.Axis(values=sorted(points["threads"].unique()))
        return alt.X("threads:Q", scale=alt.Scale(type="log", base=2), title="cores", axis=axis)

    limit = (
        alt.Chart(pl.DataFrame({"limit": [1.0]})).mark_rule(strokeDash=[4, 3]).encode(y="limit:Q")
    )
    served = (
        alt.Chart(hot_line)
        .mark_point(filled=True, size=70, color=COLOURS[2])
        .encode(
            x=threads(hot_line),
            y=alt.Y(
                "accesses_per_transfer:Q",
                scale=alt.Scale(domain=[0, 1.2]),
                title="accesses per transfer time",
            ),
        )
    )
    line = (limit + served).properties(
        width=WIDTH, height=HEIGHT, title="one hot line (dashed: the limit)"
    )
    band = (
        alt.Chart(greedy)
        .mark_area(color="#cccccc")
        .encode(
            x=threads(greedy),
            y=alt.Y("least_us:Q", scale=alt.Scale(type="log"), title="time, µs"),
            y2="most_us:Q",
        )
    )
    ran = alt.Chart(greedy).mark_point(filled=True, size=70, color=COLOURS[2])
    points = ran.encode(x=threads(greedy), y=alt.Y("simulated_us:Q", scale=alt.Scale(type="log")))
    tree = (band + points).properties(
        width=WIDTH, height=HEIGHT, title="a tree of tasks, no prices (grey: Graham's bounds)"
    )
    both: alt.HConcatChart = line | tree
    return finished(both, LIGHT)
