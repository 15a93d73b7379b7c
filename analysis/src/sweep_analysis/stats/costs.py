"""Computes the cost of a unit of work in wall time, CPU time and cycles, and the number of idle CPUs.

A change to a sleep protocol may reduce wall time because idle CPUs spin, so the module reports all
of these costs.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sweep_analysis.read.frames import COSTS, cast_to
from sweep_analysis.read.schema import CELL_SET
from sweep_analysis.stats.location import described
from sweep_analysis.stats.units import by_unit, of_builds

NAMES = ("ns_per_unit", "cpu_ns_per_unit", "cycles_per_unit", "cpus_busy")
"""Columns of `frames.COSTS` that have intervals."""


def costs(times: pl.LazyFrame, cpus: int | None) -> pl.DataFrame:
    """Compute the costs of every configuration, with intervals: rows of `frames.COSTS`.

    In:  rows of `frames.TIMES`; `cpus`, the number of CPUs that the trials could use, if known.
    """
    key = [*CELL_SET, "branch"]
    trials = (
        times.group_by(key).agg(pl.len().alias("trials"), pl.col("oversubscribed").any()).collect()
    )
    for name in NAMES:
        units = by_unit(times, name)
        middle, low, high = described(units.values, of_builds(units))
        at = np.argwhere(units.pairs > 0)
        found = units.cells.select(CELL_SET)[at[:, 0]].with_columns(
            pl.Series("branch", [units.branches[row] for row in at[:, 1]], dtype=pl.Categorical),
            *(
                pl.Series(f"{name}{end}", values[at[:, 0], at[:, 1]], dtype=pl.Float64).fill_nan(
                    None
                )
                for end, values in (("", middle), ("_low", low), ("_high", high))
            ),
        )
        trials = trials.join(found, on=key, how="left", nulls_equal=True)
    idle = (pl.min_horizontal("threads", pl.lit(cpus)) - pl.col("cpus_busy")).clip(lower_bound=0)
    with_idle = trials.with_columns(cpus_idle=idle if cpus is not None else pl.lit(None))
    return with_idle.sort(key).select(cast_to(COSTS))
