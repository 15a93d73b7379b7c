"""Draws what a branch costs: wall and CPU time against the baseline, CPUs left idle. No statistics."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import styles
from sweep_analysis.draw.plots import SIGNED_PERCENT, ChartStyle, finished, under_each_other
from sweep_analysis.read.labels import count, with_panel, without_size
from sweep_analysis.stats.compare import FASTER, SLOWER

WIDTH = 230
ROW = 19
"""Height of a branch in pixels."""
NARROWEST = 0.05
"""The axis reaches at least so far to either side."""
SPARE = 1.15
IDLE_WIDTH = 600
"""Width of all columns of idle CPUs together, in pixels."""
IDLE_ROW = 17
MOST_COLUMNS = 4
"""Up to so many thread counts are columns of idle CPUs; of more, the least, the CPUs and the most."""
TOGETHER = "all workloads together"

WALL, CPU = "wall time", "CPU time"


def cost_figure(wall: pl.DataFrame, cpu: pl.DataFrame, style: ChartStyle) -> alt.VConcatChart:
    """All workloads under each other, all of them together last. In: see `cost_rows`."""
    return under_each_other(cost_rows(wall, cpu), lambda part: cost_panel(part, style), style)


def cost_rows(wall: pl.DataFrame, cpu: pl.DataFrame) -> pl.DataFrame:
    """Both comparisons as one frame: pooled rows with `panel` and `quantity`, workloads first, then all together.

    In: rows of `frames.COMPARISONS`, one frame by wall time and one by CPU time.
    """
    both = pl.concat(
        [frame.with_columns(pl.lit(name).alias("quantity")) for name, frame in ((WALL, wall), (CPU, cpu))]
    ).filter(pl.col("level") != "cell")
    named = with_panel(both).with_columns(pl.col("panel").fill_null(TOGETHER))
    single = named.filter(pl.col("level") == "workload")["panel"].n_unique() == 1
    pooled = named.filter(pl.col("level") == "overall")
    return pl.concat([named.filter(pl.col("level") == "workload"), pooled.clear() if single else pooled])


def cost_panel(part: pl.DataFrame, style: ChartStyle) -> alt.FacetChart:
    """One workload: a row per branch, wall time left, CPU time right, each with its interval.

    The grey bar is the A/A band; full points are claims, hollow ones cannot be told from the baseline. Intervals are
    cut off at the edge. In: rows of `cost_rows` of one panel.
    """
    theme = style.theme
    looks = styles(style.branches, style.baseline, theme)
    present = part["branch"].unique(maintain_order=True).to_list()
    order = [branch for branch in style.branches if branch in present]
    order += [branch for branch in present if branch not in order]
    colours = [looks[name].colour if name in looks else theme.faint_ink for name in order]
    shown = part.with_columns(
        (pl.col("time_ratio") - 1).alias("change"),
        (pl.col("ratio_low") - 1).alias("low"),
        (pl.col("ratio_high") - 1).alias("high"),
        (pl.col("band") - 1).alias("band_high"),
        (1 / pl.col("band") - 1).alias("band_low"),
        pl.col("verdict").is_in([FASTER, SLOWER]).alias("claimed"),
    )
    widest = SPARE * max(NARROWEST, *shown["change"].abs(), *shown["band_high"].drop_nulls())
    x = alt.Scale(domain=[-widest, widest], clamp=True, nice=False)
    axis = alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5, grid=True)
    y = alt.Y("branch:N", sort=order, title=None, axis=alt.Axis(labelLimit=400, ticks=False, domain=False))
    base = alt.Chart(shown)
    colour = alt.Color("branch:N", scale=alt.Scale(domain=order, range=colours), legend=None)

    def between(low: str, high: str) -> dict[str, Any]:
        return {"x": alt.X(f"{low}:Q", scale=x, axis=axis, title="change against the baseline"), "x2": high, "y": y}

    point = {"x": alt.X("change:Q", scale=x), "y": y, "stroke": colour}
    hollow = alt.condition("datum.claimed", colour, alt.value(theme.paper))
    layered = alt.layer(
        base.mark_bar(color=theme.grid, height=ROW - 3).encode(**between("band_low", "band_high")),
        base.mark_rule(color=theme.faint_ink).encode(x=alt.datum(0, scale=x)),
        base.mark_rule(strokeWidth=1.8).encode(**between("low", "high"), color=colour),
        base.mark_point(size=44, opacity=1, strokeWidth=1.8).encode(**point, fill=hollow),
    ).properties(width=WIDTH, height=ROW * len(order))
    faceted: alt.FacetChart = layered.facet(
        column=alt.Column(
            "quantity:N", sort=[WALL, CPU], title=None, header=alt.Header(labelAnchor="start", labelFontSize=11)
        ),
        spacing=20,
    )
    return faceted


def idle_figure(costs: pl.DataFrame, style: ChartStyle, *, legend: bool) -> alt.FacetChart:
    """CPUs left idle: workloads down, those that leave most idle first; a column per thread count, a point per branch.

    The baseline is a line. In: rows of `frames.COSTS` of the pool's program.
    """
    theme = style.theme
    named = without_size(with_panel(costs))
    threads = sorted(named["threads"].unique())
    within = [number for number in threads if style.cpus is None or number <= style.cpus] or threads
    if len(threads) > MOST_COLUMNS:
        threads = sorted({threads[0], within[-1], threads[-1]})
    heads = {number: count(number, "thread") + _over(number, style) for number in threads}
    shown = named.filter(pl.col("threads").is_in(threads)).with_columns(
        pl.col("threads").replace_strict(heads, return_dtype=pl.String).alias("column")
    )
    most = named.filter(pl.col("threads") == within[-1]).sort("cpus_idle", descending=True)
    order = [*most["panel"].unique(maintain_order=True), *sorted(set(named["panel"]) - set(most["panel"]))]
    names = [branch for branch in style.branches if branch in shown["branch"]]
    looks = styles(style.branches, style.baseline, theme)
    colour = alt.Color(
        "branch:N",
        sort=names,
        scale=alt.Scale(domain=names, range=[looks[name].colour for name in names]),
        legend=alt.Legend(orient="bottom", columns=2, title=None, labelLimit=400, symbolType="circle", symbolOpacity=1)
        if legend
        else None,
    )
    x = alt.X(
        "cpus_idle:Q",
        title="CPUs idle",
        scale=alt.Scale(domain=[0, 1.03 * max(0.1, *shown["cpus_idle"])], nice=False),
        axis=alt.Axis(tickCount=5 if len(threads) < MOST_COLUMNS - 1 else 3),
    )
    y = alt.Y("panel:N", sort=order, title=None, axis=alt.Axis(labelLimit=300, ticks=False, domain=False, grid=True))
    base = alt.Chart(shown)
    layered = alt.layer(
        base.transform_filter(alt.FieldOneOfPredicate("branch", [name for name in names if name == style.baseline]))
        .mark_tick(thickness=3, size=IDLE_ROW - 3, opacity=1)
        .encode(x=x, y=y, color=colour),
        base.transform_filter(alt.FieldOneOfPredicate("branch", [name for name in names if name != style.baseline]))
        .mark_point(size=22, filled=True, opacity=0.9)
        .encode(x=x, y=y, color=colour),
    ).properties(width=IDLE_WIDTH // len(threads), height=alt.Step(IDLE_ROW))
    faceted = layered.facet(
        column=alt.Column(
            "column:N", sort=list(heads.values()), title=None, header=alt.Header(labelAnchor="start", labelFontSize=11)
        ),
        spacing=18,
    )
    return finished(faceted, theme)


def _over(threads: int, style: ChartStyle) -> str:
    return f", over {count(style.cpus, 'CPU')}" if style.cpus is not None and threads > style.cpus else ""
