"""The rows that the page's chooser draws: every figure of every cell, small enough to stand in the page."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.draw.palette import LIGHT, styles
from sweep_analysis.draw.svg import variables_by_name
from sweep_analysis.read.labels import with_panel
from sweep_analysis.report.figures import look_of
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.speedup import DEFINITIONS

DIGITS = 4
"""Decimal places of a ratio in the page; the tables keep all."""


def exploration(analysis: Analysis) -> dict[str, Any]:
    """What the chooser needs: branches with their looks, workloads, and the rows of each measure.

    A row is [workload, branch, threads, value, low, high, band, verdict], the first two as indices; values are ratios,
    null where unknown.
    """
    measures = [measure for measure in _measures(analysis) if measure["frame"].height]
    panels = list(dict.fromkeys(name for measure in measures for name in measure["frame"]["panel"]))
    present = {name for measure in measures for name in measure["frame"]["branch"]}
    look = look_of(analysis, LIGHT)
    branches = [name for name in look.branches if name in present]
    branches += sorted(present - set(branches))
    looks = styles(branches, look.baseline, LIGHT)
    variables = {colour: f"var(--{name})" for name, (colour, _) in variables_by_name().items()}
    twin = analysis.sweep.twin
    return {
        "cpus": analysis.cpus,
        "panels": panels,
        "branches": [
            {
                "name": name,
                "colour": "var(--faint)" if name == twin else variables.get(looks[name].colour, looks[name].colour),
                "dashed": looks[name].dashed,
                "bold": looks[name].emphasised,
            }
            for name in branches
        ],
        "measures": [
            {
                "label": measure["label"],
                "kind": measure["kind"],
                "rows": [
                    [panels.index(panel), branches.index(branch), *rest]
                    for panel, branch, *rest in measure["frame"].rows()
                ],
            }
            for measure in measures
        ],
    }


def _measures(analysis: Analysis) -> list[dict[str, Any]]:
    """Each measure with its label, its kind (how numbers read), and its rows."""
    found = []
    for label, comparisons in (
        ("change of wall time against the baseline", analysis.comparisons),
        ("change of CPU time against the baseline", analysis.cpu_comparisons),
    ):
        cells = comparisons.filter(pl.col("level") == "cell")
        frame = _rows(cells, "time_ratio", ("ratio_low", "ratio_high"), pl.col("band"), pl.col("verdict"))
        found.append({"label": label, "kind": "change", "frame": frame})
    none = (pl.lit(None, pl.Float64), pl.lit(None, pl.String))
    for name, text in DEFINITIONS.items():
        rows = analysis.speedups.filter(pl.col("definition") == name)
        frame = _rows(rows, "speedup", ("speedup_low", "speedup_high"), *none)
        found.append({"label": f"speed-up {text}", "kind": "times", "frame": frame})
    chosen = analysis.speedups.filter(pl.col("definition") == (analysis.definition or ""))
    for column, text in (("efficiency", "efficiency"), ("karp_flatt", "Karp–Flatt fraction")):
        frame = _rows(chosen.drop_nulls(column), column, None, *none)
        found.append({"label": text, "kind": "share", "frame": frame})
    return found


def _rows(
    frame: pl.DataFrame, value: str, interval: tuple[str, str] | None, band: pl.Expr, verdict: pl.Expr
) -> pl.DataFrame:
    nothing = pl.lit(None, pl.Float64)
    low, high = (pl.col(name) for name in interval) if interval else (nothing, nothing)
    return with_panel(frame).select(
        "panel",
        "branch",
        "threads",
        *(
            column.fill_nan(None).round(DIGITS).alias(name)
            for name, column in (("value", pl.col(value)), ("low", low), ("high", high), ("band", band))
        ),
        verdict.alias("verdict"),
    )
