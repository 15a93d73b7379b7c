"""Do the counts explain the times? Writes that a branch saves beside the time that it saves, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from scipy import stats

from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.schema import PLACE, POOL_CELL, WORDS
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import compare

SURE = 0.05
"""A correlation with a smaller p-value is reported."""
FEWEST_CELLS = 4
"""With fewer cells no correlation is computed."""


@dataclass(frozen=True)
class Explanation:
    """Writes and times of counted branches against one of them.

    Attributes: cells: see `explain`. correlation: Spearman's rank correlation between saved writes
        and saved time; None with too few cells, or if
            nothing varies.
        p_value: of the test that there is none; None likewise.
    """

    cells: pl.DataFrame
    correlation: float | None
    p_value: float | None


def explain(analysis: Analysis, plain: str) -> Explanation:
    """Set counted writes beside measured times, each branch against `plain`, on two threads and more, within the CPUs.

    Cells: one row per counted branch other than `plain`, workload and thread count of 2 up to the
        CPUs: `panel`, `threads`, `branch`, `writes` and `plain_writes` (per unit of work, all
        counter words), `saved_writes`, `saved_ns` (wall time per unit), `saved_ns_low`,
        `saved_ns_high` (95 % interval), `plain_ns`. Where `plain` writes nothing there is nothing
        to save, and no row.
    """
    writes = analysis.drawn_events.filter(
        (pl.col("event") == "writes") & ~pl.col("oversubscribed") & (pl.col("threads") > 1)
    )
    own = writes.filter((pl.col("branch") == plain) & (pl.col("per_unit") > 0)).select(
        *PLACE, plain_writes="per_unit"
    )
    times = (
        analysis.times.filter((pl.col("program") == "parallel") & (pl.col("branch") == plain))
        .group_by(PLACE)
        .agg(pl.col("ns_per_unit").median().alias("plain_ns"))
        .with_columns(WORDS)
    )
    simulated = analysis.sweep.machine is not None
    compared = compare(analysis.times.lazy(), plain, simulated=simulated).filter(
        pl.col("level") == "cell"
    )

    def saved(ratio: str, name: str) -> pl.Expr:
        return ((1 - pl.col(ratio)) * pl.col("plain_ns")).alias(name)

    cells = (
        writes.filter(pl.col("branch") != plain)
        .select(*POOL_CELL, pl.col("per_unit").alias("writes"))
        .join(own, on=PLACE)
        .join(times, on=PLACE)
        .join(compared.select(*POOL_CELL, "time_ratio", "ratio_low", "ratio_high"), on=POOL_CELL)
        .with_columns(
            (pl.col("plain_writes") - pl.col("writes")).alias("saved_writes"),
            saved("time_ratio", "saved_ns"),
            saved("ratio_high", "saved_ns_low"),
            saved("ratio_low", "saved_ns_high"),
        )
        .sort(POOL_CELL)
    )
    shown = with_panel(cells).select(
        "panel", "threads", "branch", "writes", "plain_writes", "saved_writes",
        "saved_ns", "saved_ns_low", "saved_ns_high", "plain_ns",
    )  # fmt: skip
    # Relative to the work: a unit is an element here and a whole tour there.
    time, write = (
        shown["saved_ns"] / shown["plain_ns"],
        shown["saved_writes"] / shown["plain_writes"],
    )
    if shown.height < FEWEST_CELLS or time.n_unique() == 1 or write.n_unique() == 1:
        return Explanation(shown, None, None)
    found = stats.spearmanr(write.to_numpy(), time.to_numpy())
    return Explanation(shown, float(found.statistic), float(found.pvalue))
