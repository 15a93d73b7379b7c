"""Draws predicted against measured times. No statistics."""

from __future__ import annotations

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import Theme
from sweep_analysis.draw.plots import finished
from sweep_analysis.stats.validation import MARGIN, Validation

SIDE = 420


def validation_figure(found: Validation, machine: str, theme: Theme) -> alt.LayerChart:
    """Draw a point per configuration: measured time on the x axis, simulated time on the y axis, both logarithmic.

    A point on the line is an exact prediction; a point in the shade is an accurate prediction.
    """
    cells = found.cells.with_columns(pl.col("threads").cast(pl.String))
    both = pl.concat([cells["predicted_ms"], cells["measured_ms"]])
    ends = [float(both.min()) / 1.5, float(both.max()) * 1.5]  # type: ignore[arg-type]  # times are floats
    scale = alt.Scale(type="log", domain=ends, nice=False)
    x = alt.X("measured_ms:Q", scale=scale, title="measured time in ms", axis=alt.Axis(tickCount=6))
    y = alt.Y(
        "predicted_ms:Q",
        scale=scale,
        title=f"simulated time in ms ({machine})",
        axis=alt.Axis(tickCount=6),
    )
    line = alt.Chart(
        pl.DataFrame(
            {
                "x": ends,
                "least": [end / (1 + MARGIN) for end in ends],
                "most": [end * (1 + MARGIN) for end in ends],
            }
        )
    )
    across = alt.X("x:Q", scale=scale)
    threads = sorted(cells["threads"].unique(), key=int)
    points = alt.Chart(cells)
    key = alt.Legend(orient="bottom", title="threads")
    shape = alt.Shape("threads:N", legend=key).scale(domain=threads)
    return finished(
        alt.LayerChart(
            layer=[
                line.mark_area(color=theme.shade, opacity=0.9, clip=True).encode(
                    x=across, y=alt.Y("least:Q", scale=scale), y2="most:Q"
                ),
                line.mark_line(color=theme.faint_ink, strokeWidth=1).encode(
                    x=across, y=alt.Y("x:Q", scale=scale)
                ),
                points.mark_point(filled=True, size=36, opacity=0.75).encode(
                    x=x,
                    y=y,
                    color=alt.Color("threads:N", legend=key).scale(
                        domain=threads, scheme="tableau10"
                    ),
                    shape=shape,
                ),
            ]
        ).properties(
            width=SIDE,
            height=SIDE,
            title=alt.TitleParams(
                "simulated against measured time",
                subtitle=f"shade: within {MARGIN * 100:.0f}\N{NO-BREAK SPACE}%",
                subtitleColor=theme.faint_ink,
            ),
        ),
        theme,
    )
