"""What a unit of work costs, in three currencies of equal rank (wall time, CPU time, cycles), and CPUs left idle.

A change to a sleep protocol may buy time with CPUs that spin; a table of times alone would call that a gain.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sweep_analysis.bootstrap import SEED, Floats, cell_sets, medians, percentile_interval, resampled_medians
from sweep_analysis.compare import FIGURES
from sweep_analysis.frames import COSTS

NAMES = {"time": "ns_per_unit", "cpu": "cpu_ns_per_unit", "cycles": "cycles_per_unit", "busy": "cpus_busy"}
"""Columns of `frames.COSTS` that have intervals, by figure."""


def costs(times: pl.LazyFrame, cpus: int | None) -> pl.DataFrame:
    """Every cell's costs with intervals.

    In:  rows of `frames.TIMES`; `cpus` are those that the trials could use.
    Out: rows of `frames.COSTS`. `cpus_idle` is what a program that could use all of its threads left unused: the
         smaller of threads and CPUs, less `cpus_busy`; null if the CPUs are unknown.
    """
    rng = np.random.default_rng(SEED)
    columns = FIGURES | {"busy": "cpus_busy"}
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for figure, column in columns.items():
        known = times.filter(pl.col(column).is_not_null()).with_columns(pl.col(column).cast(pl.Float64))
        for cell_set in cell_sets(known.with_columns(pl.col(column).alias("ns_per_unit"))):
            resampled = resampled_medians(cell_set.times, rng)
            middle = medians(cell_set.times)
            for row, branch in enumerate(cell_set.branches):
                place = (*cell_set.key.values(), branch)
                cell = rows.setdefault(
                    place, _facts(cell_set.key, branch, cell_set.times[row], cell_set.oversubscribed)
                )
                low, high = percentile_interval(resampled[row])
                name = NAMES[figure]
                cell |= {name: float(middle[row]), f"{name}_low": low, f"{name}_high": high}
    for cell in rows.values():
        busy, threads = cell.get("cpus_busy"), cell["threads"]
        if cpus is not None and isinstance(busy, float) and isinstance(threads, int):
            cell["cpus_idle"] = max(0.0, min(threads, cpus) - busy)
    return pl.DataFrame(list(rows.values()), schema=COSTS)


def _facts(key: dict[str, object], branch: str, trials: Floats, oversubscribed: bool) -> dict[str, object]:  # noqa: FBT001
    return {**key, "branch": branch, "oversubscribed": oversubscribed, "trials": int(np.isfinite(trials).sum())}
