"""Do the counts explain the times? Writes that a branch saves beside the time that it saves, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl
from scipy import stats

from sweep_analysis.draw.plots import SIGNED_PERCENT, Look, branch_colours, finished, side_by_side
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.schema import PANEL
from sweep_analysis.say.findings import Analysis
from sweep_analysis.stats.compare import compare

SURE = 0.05
"""A correlation with a smaller p-value is told."""
FEWEST_CELLS = 4
"""With fewer cells no correlation is computed."""


@dataclass(frozen=True)
class Explanation:
    """Writes and times of counted branches against one of them.

    Attributes:
        cells: see `explain`.
        correlation: Spearman's rank correlation between saved writes and saved time; None with too few cells, or if
            nothing varies.
        p_value: of the test that there is none; None likewise.
    """

    cells: pl.DataFrame
    correlation: float | None
    p_value: float | None


def explain(analysis: Analysis, plain: str) -> Explanation:
    """Set counted writes beside measured times, each branch against `plain`, on two threads and more, within the CPUs.

    Cells: one row per counted branch other than `plain`, workload and thread count of 2 up to the CPUs: `panel`,
        `threads`, `branch`, `writes` and `plain_writes` (per unit of work, all counter words), `saved_writes`,
        `saved_ns` (wall time per unit), `saved_ns_low`, `saved_ns_high` (95 % interval), `plain_ns`. Where `plain`
        writes nothing there is nothing to save, and no row.
    """
    key = [*PANEL, "threads", "branch"]
    writes = analysis.drawn_events.filter(
        (pl.col("event") == "writes") & ~pl.col("oversubscribed") & (pl.col("threads") > 1)
    )
    place = [*PANEL, "threads"]
    own = writes.filter((pl.col("branch") == plain) & (pl.col("per_unit") > 0)).select(
        *place, pl.col("per_unit").alias("plain_writes")
    )
    times = (
        analysis.times.filter((pl.col("program") == "parallel") & (pl.col("branch") == plain))
        .group_by(place)
        .agg(pl.col("ns_per_unit").median().alias("plain_ns"))
    )
    compared = compare(analysis.times.lazy(), plain).filter(pl.col("level") == "cell")

    def saved(ratio: str, name: str) -> pl.Expr:
        return ((1 - pl.col(ratio)) * pl.col("plain_ns")).alias(name)

    cells = (
        writes.filter(pl.col("branch") != plain)
        .select(*key, pl.col("per_unit").alias("writes"))
        .join(own, on=place)
        .join(times, on=place)
        .join(compared.select(*key, "time_ratio", "ratio_low", "ratio_high"), on=key)
        .with_columns(
            (pl.col("plain_writes") - pl.col("writes")).alias("saved_writes"),
            saved("time_ratio", "saved_ns"),
            saved("ratio_high", "saved_ns_low"),
            saved("ratio_low", "saved_ns_high"),
        )
        .sort(key)
    )
    shown = with_panel(cells).select(
        "panel", "threads", "branch", "writes", "plain_writes", "saved_writes",
        "saved_ns", "saved_ns_low", "saved_ns_high", "plain_ns",
    )  # fmt: skip
    # Relative to the work: a unit is an element here and a whole tour there.
    time, write = shown["saved_ns"] / shown["plain_ns"], shown["saved_writes"] / shown["plain_writes"]
    if shown.height < FEWEST_CELLS or time.n_unique() == 1 or write.n_unique() == 1:
        return Explanation(shown, None, None)
    found = stats.spearmanr(write.to_numpy(), time.to_numpy())
    return Explanation(shown, float(found.statistic), float(found.pvalue))


def explanation_sentences(found: Explanation, plain: str) -> list[str]:
    """What the counts explain, in words."""
    if found.cells.is_empty():
        return ["Nothing was counted and timed in the same cells, so nothing is explained."]
    sentences = []
    certain = found.cells.filter((pl.col("saved_ns_low") > 0) | (pl.col("saved_ns_high") < 0))
    sentences.append(
        f"In {certain.height} of {found.cells.height} cells the interval of the time saved against {plain} "
        "excludes zero."
    )
    if found.correlation is not None and found.p_value is not None:
        gains = found.correlation > 0
        verdict = "the more writes a branch saves, the more time" if gains else "saved writes come with lost time"
        told = verdict if found.p_value < SURE else "whether writes explain times cannot be told here"
        sentences.append(
            f"Spearman's rank correlation between the share of writes saved and the share of time saved is "
            f"{found.correlation:+.2f} (p = {found.p_value:.2f}): {told}."
        )
    return sentences


def explain_figure(found: Explanation, look: Look) -> alt.ConcatChart:
    """Time saved upwards, writes saved across, a panel per workload, a point per branch and thread count.

    Points on the zero line save no time; intervals are those of the time.
    """
    names = [branch for branch in look.branches if branch in found.cells["branch"]]
    colour, _ = branch_colours(names, look, legend=True)
    charts = []
    for part in found.cells.partition_by("panel", maintain_order=True):
        shares = part.with_columns(
            *(
                (pl.col(name) / pl.col("plain_ns")).alias(name)
                for name in ("saved_ns", "saved_ns_low", "saved_ns_high")
            ),
            (pl.col("saved_writes") / pl.col("plain_writes")).clip(-1, 1).alias("saved_writes"),
        )
        widest = 1.2 * max(0.03, *shares["saved_ns"].abs())
        scale = alt.Scale(domain=[-widest, widest], clamp=True, nice=False)
        x = alt.X(
            "saved_writes:Q",
            scale=alt.Scale(domain=[-1, 1]),
            title="share of writes saved",
            axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5),
        )
        y = alt.Y(
            "saved_ns:Q", scale=scale, title="share of time saved", axis=alt.Axis(labelExpr=SIGNED_PERCENT, tickCount=5)
        )
        base = alt.Chart(shares)
        layers = [
            alt.Chart(shares.head(1)).mark_rule(color=look.theme.faint_ink).encode(y=alt.datum(0)),
            base.mark_rule(strokeWidth=1.2, opacity=0.6).encode(
                x=x, y=alt.Y("saved_ns_low:Q", scale=scale), y2="saved_ns_high:Q", color=colour
            ),
            base.mark_point(size=50, filled=True, opacity=1).encode(x=x, y=y, color=colour),
        ]
        charts.append(alt.LayerChart(layer=layers).properties(title=str(part["panel"][0]), width=300, height=180))
    return finished(side_by_side(charts, 2), look.theme)
