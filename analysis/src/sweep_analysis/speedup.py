"""Speed-ups by three definitions that are never mixed, with efficiency and serial fraction beside them.

The definitions (`measurement` rule A3): against the same branch on one thread (`own`), against the baseline on
one thread (`baseline`), and against the program without a pool (`sequential`, the 2022 study's and the default).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from sweep_analysis.bootstrap import (
    SEED,
    CellSet,
    Floats,
    cell_sets,
    medians,
    percentile_interval,
    resampled_medians,
)
from sweep_analysis.frames import SPEEDUPS, TIMES
from sweep_analysis.labels import without
from sweep_analysis.load import Sweep
from sweep_analysis.schema import CELL, PANEL, PARALLEL, SEQUENTIAL

DEFINITIONS = {
    "sequential": "against the sequential program",
    "baseline": "against the baseline on one thread",
    "own": "against the same branch on one thread",
}
"""Name and reading of every definition, the default first."""


def trial_times(sweep: Sweep) -> pl.LazyFrame:
    """One robust time per trial: trials are independent, iterations inside one are not.

    Out: rows of `frames.TIMES`, one per good trial. Failed trials are dropped here and nowhere else.
    """
    per_unit = pl.col("elapsed_ns") / pl.col("work_units")
    cpu = pl.col("user_ns") + pl.col("system_ns")
    ghz = pl.mean_horizontal("ghz_before", "ghz_after")
    robust = sweep.iterations.group_by("trial").agg(
        pl.len().cast(pl.UInt32).alias("iterations"),
        pl.col("elapsed_ns").median(),
        per_unit.median().alias("ns_per_unit"),
        (cpu / pl.col("work_units")).median().alias("cpu_ns_per_unit"),
        (cpu / pl.col("elapsed_ns")).median().alias("cpus_busy"),
    )
    return (
        sweep.trials.filter(pl.col("outcome") == "ok")
        .with_columns(pl.col("input").fill_null(""), ghz.alias("ghz"))
        .join(robust, on="trial")
        .with_columns((pl.col("ns_per_unit") * pl.col("ghz")).alias("cycles_per_unit"))
        .select(TIMES.names())
        .sort([*CELL, "block"])
    )


def in_cycles(times: pl.LazyFrame) -> pl.LazyFrame:
    """Times as if the clock had always been the same: cycles in the place of ns, trials without a clock left out.

    In and out: rows of `frames.TIMES`; wall time per unit counts cycles afterwards, all else is as it was.
    """
    cycles = pl.col("cycles_per_unit")
    return times.filter(cycles.is_not_null()).with_columns(cycles.alias("ns_per_unit"))


def speedups(times: pl.LazyFrame, baseline: str | None, ignored: frozenset[str] = frozenset()) -> pl.DataFrame:
    """Speed-ups of every cell of the pool's program, by every definition that has its reference.

    In:  rows of `frames.TIMES`; `ignored` are parameters that mean nothing to the sequential program.
    Out: rows of `frames.SPEEDUPS`. A definition without its reference (no one-thread cell, no sequential program,
         no baseline) has no rows; nothing stands in for it.
    """
    rng = np.random.default_rng(SEED)
    cells = [(cell_set, resampled_medians(cell_set.times, rng)) for cell_set in cell_sets(times)]
    single = [cell for cell in cells if cell[0].key["threads"] == 1]
    sequential = [cell for cell in single if cell[0].key["program"] == SEQUENTIAL]
    one_thread = [cell for cell in single if cell[0].key["program"] == PARALLEL]
    rows = []
    for cell_set, resampled in cells:
        if cell_set.key["program"] != PARALLEL:
            continue
        for row, branch in enumerate(cell_set.branches):
            references = {
                "sequential": _sequential_reference(cell_set, sequential, ignored),
                "baseline": _reference(cell_set, one_thread, baseline),
                "own": _reference(cell_set, one_thread, branch),
            }
            for definition, reference in references.items():
                if reference is not None:
                    rows.append(
                        _facts(cell_set, row)
                        | {"definition": definition}
                        | _ratio(cell_set, row, resampled[row], reference)
                    )
    keys = ["definition", *PANEL, "threads", "branch"]
    return pl.DataFrame(rows, schema=SPEEDUPS).sort(keys)


_Reference = tuple[Floats, Floats]
"""Times of a reference cell by block, and its resampled medians."""


def _reference(
    cell_set: CellSet, candidates: Iterable[tuple[CellSet, Floats]], branch: str | None
) -> _Reference | None:
    """The cell of `branch` among `candidates` that shares the panel of `cell_set`."""
    for candidate, resampled in candidates:
        if branch is not None and all(candidate.key[name] == cell_set.key[name] for name in PANEL):
            row = candidate.row(branch)
            return None if row is None else (candidate.times[row], resampled[row])
    return None


def _sequential_reference(
    cell_set: CellSet, candidates: list[tuple[CellSet, Floats]], ignored: frozenset[str]
) -> _Reference | None:
    """The sequential program on the same input.

    Parameters that only the pool's program has may differ, so without a cell of the very same parameters the
    only one of the workload and size is taken; with several, none, since any choice would be a guess.
    """
    loose = [name for name in PANEL if name != "parameters"]
    same_input = [cell for cell in candidates if all(cell[0].key[name] == cell_set.key[name] for name in loose)]
    wanted = without(cell_set.key["parameters"], ignored)
    exact = [cell for cell in same_input if without(cell[0].key["parameters"], ignored) == wanted]
    found = exact or (same_input if len(same_input) == 1 else [])
    return (found[0][0].times[0], found[0][1][0]) if found else None


def _facts(cell_set: CellSet, row: int) -> dict[str, object]:
    times = cell_set.times[row]
    return {name: cell_set.key[name] for name in [*PANEL, "threads"]} | {
        "branch": cell_set.branches[row],
        "oversubscribed": cell_set.oversubscribed,
        "trials": int(np.isfinite(times).sum()),
        "elapsed_ms": float(medians(cell_set.elapsed)[row]) / 1e6,
        "ns_per_unit": float(medians(times[None, :])[0]),
    }


def _ratio(cell_set: CellSet, row: int, resampled: Floats, reference: _Reference) -> dict[str, object]:
    reference_times, reference_resampled = reference
    speedup = float(medians(reference_times[None, :])[0] / medians(cell_set.times[row][None, :])[0])
    low, high = percentile_interval(reference_resampled / resampled)
    threads = cell_set.key["threads"]
    return {
        "reference_trials": int(np.isfinite(reference_times).sum()),
        "speedup": speedup,
        "speedup_low": low,
        "speedup_high": high,
        "efficiency": speedup / threads,
        "karp_flatt": (1 / speedup - 1 / threads) / (1 - 1 / threads) if threads > 1 else None,
    }
