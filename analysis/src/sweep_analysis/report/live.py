"""The data of the charts that answer to the reader: times by threads, and where the time went, of several machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sweep_analysis.draw.palette import LIGHT, styles
from sweep_analysis.draw.spent_plots import COLOURS
from sweep_analysis.read.labels import QUANTITY_NAMES, with_panel, without_size
from sweep_analysis.report.asked import host
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.simulated import SPENT_ON
from sweep_analysis.stats.thread_times import COLUMNS, thread_times

By = dict[str, dict[str, list[Any]]]
"""By workload and branch: one value for each number of threads, or none."""


@dataclass(frozen=True)
class Shown:
    """One statement whose numbers a chart shows.

    Attributes:
        analysis: of its sweep.
        quantity: a key of `thread_times.COLUMNS`; empty if it only tells where the time went.
        branches: those that are drawn at first; none: all.
        left_out: workloads.
    """

    analysis: Analysis
    quantity: str
    branches: list[str]
    left_out: list[str]


def chart(statements: list[Shown]) -> dict[str, Any]:
    """What the script of the page draws of all statements together: a machine for each sweep."""
    sweeps = {shown.analysis.sweep.path.name: shown.analysis for shown in statements}
    branches = list(dict.fromkeys(name for analysis in sweeps.values() for name in _branches(analysis)))
    looks = styles(branches, next(iter(sweeps.values())).sweep.baseline, LIGHT)
    named = [name for shown in statements for name in shown.branches]
    return {
        "machines": [
            _machine(analysis, [shown for shown in statements if shown.analysis is analysis])
            for analysis in sweeps.values()
        ],
        "looks": {
            name: ["var(--ink)" if look.emphasised else look.colour, look.dashed, look.emphasised]
            for name, look in looks.items()
        },
        "shown": [name for name in branches if name in named] or branches,
        "quantities": QUANTITY_NAMES,
        "spent": [[SPENT_ON[kind], COLOURS[kind]] for kind in SPENT_ON],
    }


def _branches(analysis: Analysis) -> list[str]:
    return [name for name in analysis.sweep.branches if name != analysis.sweep.twin]


def _machine(analysis: Analysis, statements: list[Shown]) -> dict[str, Any]:
    """Times of one sweep by quantity, and where its time went, which only a simulated machine tells."""
    names = _branches(analysis)
    times = without_size(with_panel(thread_times(analysis.times.lazy()))).filter(pl.col("branch").is_in(names))
    threads = sorted(times["threads"].unique())
    left_out = {shown.quantity: shown.left_out for shown in statements}
    return {
        "name": host(analysis),
        "sweep": analysis.sweep.path.name,
        "cpus": analysis.cpus,
        "threads": threads,
        "times": {
            quantity: _by(times.filter(~pl.col("workload").is_in(left)), threads, pl.col(COLUMNS[quantity]).round(1))
            for quantity, left in left_out.items()
            if quantity
        },
        "spent": _spent(analysis, names, threads),
    }


def _spent(analysis: Analysis, names: list[str], threads: list[int]) -> By:
    shares = without_size(with_panel(analysis.spent)).filter(pl.col("branch").is_in(names))
    cell = ["panel", "branch", "threads"]
    wide = shares.pivot("spent_on", index=cell, values="share", maintain_order=True)
    kinds = [pl.col(kind).round(3) if kind in wide.columns else pl.lit(0.0) for kind in SPENT_ON]
    return _by(wide.select(*cell, pl.concat_list(kinds).alias("shares")), threads, pl.col("shares"))


def _by(frame: pl.DataFrame, threads: list[int], value: pl.Expr) -> By:
    """In: rows with `panel`, `branch` and `threads`."""
    found: By = {}
    rows = frame.select("panel", "branch", "threads", value.alias("value")).sort("panel", "branch", maintain_order=True)
    for row in rows.rows(named=True):
        points = found.setdefault(row["panel"], {}).setdefault(row["branch"], [None] * len(threads))
        points[threads.index(row["threads"])] = row["value"]
    return found
