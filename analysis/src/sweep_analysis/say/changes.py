"""Counts improvements and regressions of a branch, as pull requests of compilers report them.

The table is printed below the table of a sweep of one or two branches. It has a row for each result, with
the mean, the range and the number of configurations. The inconclusive row has the detectable change.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, percent
from sweep_analysis.say.columns import Column, Look, table
from sweep_analysis.say.comparison import size
from sweep_analysis.stats.compare import FASTER, SLOWER, TESTED, UNCLEAR, UNTESTED
from sweep_analysis.stats.decisions import Decisions

MOST_BRANCHES = 2
"""With more branches the table would be longer than the table above it."""

KINDS = {
    "improvements": (FASTER,),
    "regressions": (SLOWER,),
    "inconclusive": (UNCLEAR,),
    "all": (FASTER, SLOWER, UNCLEAR),
}
"""Rows of the table, with the results that each counts. Configurations that are not tested are left out."""


def changes(decisions: Decisions, look: Look) -> str:
    """The tables with their headings; empty if no branch is tested, or more than `MOST_BRANCHES` are."""
    cells = decisions.rows.filter(pl.col("level") == "cell", pl.col("verdict") != UNTESTED)
    branches = cells["branch"].unique(maintain_order=True).to_list()
    if not 0 < len(branches) <= MOST_BRANCHES:
        return ""
    columns = [
        Column("result", is_number=False),
        *(Column(title) for title in ("mean", "range", "count")),
        Column("detectable (median, largest)"),
    ]
    text = ""
    for branch in branches:
        for quantity in TESTED:
            own = cells.filter(branch=branch, quantity=quantity)
            if own.is_empty():
                continue
            title = f"{QUANTITY_NAMES[quantity]} of {branch} against {decisions.baseline}"
            rows = [
                _row(kind, own.filter(pl.col("verdict").is_in(of))) for kind, of in KINDS.items()
            ]
            text += f"{look.heading(title, 3)}{table(columns, rows, look, set())}\n"
    return text


def _row(kind: str, of_kind: pl.DataFrame) -> list[str]:
    """Geometric mean, range and count of some ratios. In: rows of `frames.COMPARISONS`."""
    ratios = np.sort(of_kind["time_ratio"].to_numpy())
    if not ratios.size:
        return [kind, "", "", "0", ""]
    mean = percent(float(np.exp(np.log(ratios).mean())))
    least_and_most = f"{percent(float(ratios[0]))} to {percent(float(ratios[-1]))}"
    could = of_kind["detectable"].drop_nulls()
    found = (
        f"{size(float(could.quantile(0.5, 'lower') or 0))}, {size(float(max(could)))}"
        if kind == UNCLEAR and could.len()
        else ""
    )
    # A terminal table escapes non-breaking spaces.
    cells = [kind, mean, least_and_most, str(ratios.size), found]
    return [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in cells]
