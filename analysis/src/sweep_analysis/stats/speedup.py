"""Computes speed-ups by three separate definitions, with efficiency and serial fraction.

The reference is the same branch on one thread (`own`), the baseline on one thread (`baseline`), or the
program without a pool (`sequential`, the default, as in the 2022 study).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.frames import SPEEDUPS, TIMES, cast_to
from sweep_analysis.read.labels import without
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import CELL, CELL_SET, PANEL, PARALLEL, PLACE, POOL_CELL, SEQUENTIAL
from sweep_analysis.stats.latency import waits_of
from sweep_analysis.stats.location import Floats, described, locate
from sweep_analysis.stats.units import Units, by_unit, of_builds

DEFINITIONS = {
    "sequential": "against the sequential program",
    "baseline": "against the baseline on one thread",
    "own": "against the same branch on one thread",
}
"""Name and text of every definition, the default first."""


_WAITS = {name: TIMES[name] for name in ("p50_ns", "p99_ns")}

PORTION = 500_000
"""Approximate number of iterations in a portion, which one step reduces to trials."""


def trial_times(sweep: Sweep) -> pl.LazyFrame:
    """Compute one robust time per trial, because trials are independent, and iterations of a trial are not.

    Out: rows of `frames.TIMES`, one per good trial.
    """
    per_unit = pl.col("elapsed_ns") / pl.col("work_units")
    cpu = pl.col("user_ns") + pl.col("system_ns")
    ghz = pl.mean_horizontal("ghz_before", "ghz_after")
    robust = [
        part.group_by("trial").agg(
            pl.len().cast(pl.UInt32).alias("iterations"),
            pl.col("elapsed_ns").median(),
            per_unit.median().alias("ns_per_unit"),
            cpu.median().alias("cpu_ns"),
            (cpu / pl.col("work_units")).median().alias("cpu_ns_per_unit"),
            (cpu / pl.col("elapsed_ns")).median().alias("cpus_busy"),
        )
        for part in _portions(sweep.iterations)
    ]
    told = pl.concat(it.collect() for it in robust).lazy()
    waits = waits_of(sweep)
    if waits.is_empty():  # A join would copy the whole frame.
        told = told.with_columns(pl.lit(None, kind).alias(name) for name, kind in _WAITS.items())
    else:
        told = told.join(waits.lazy(), on="trial", how="left")
    return (
        sweep.trials.filter(pl.col("outcome") == "ok")
        .with_columns(pl.col("input").fill_null(""), ghz.alias("ghz"))
        .sort([*CELL, "block"])  # Sorting takes less memory before the join adds columns.
        .join(told, on="trial", maintain_order="left")
        .with_columns((pl.col("ns_per_unit") * pl.col("ghz")).alias("cycles_per_unit"))
        .select(TIMES.names())
    )


def _portions(iterations: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Split rows of `schema.ITERATIONS` into portions of whole trials, so that no step needs memory for all rows."""
    begins = iterations.select(pl.arg_where(pl.col("iteration") == 0)).collect().to_series()
    total = iterations.select(pl.len()).collect().item()
    cuts = begins.filter((begins // PORTION).diff().fill_null(1) > 0).to_list()
    ends = [*cuts[1:], total] if cuts else []
    return [
        iterations.slice(begin, end - begin) for begin, end in zip(cuts, ends, strict=True)
    ] or [iterations]


TIMED_OUT = ("timeout", "hang")
"""Outcomes of trials that were stopped without a result: at the sweep's time limit, or earlier if they made no progress."""


def with_time_outs(sweep: Sweep, times: pl.DataFrame) -> pl.DataFrame:
    """Add a row to rows of `frames.TIMES` for each trial of `TIMED_OUT`, with the sweep's time limit as its time.

    The limit is a lower bound of the trial's time and CPU time, and of its latency if good trials report
    latencies. The limit is divided by the median work of an iteration in good trials of the same configurations.
    A simulated sweep gets no such rows, because the limit is in the host's time.
    """
    asked = sweep.manifest.get("asked")
    limit = asked.get("timeout_s") if isinstance(asked, dict) else None
    if sweep.machine or not isinstance(limit, int | float):
        return times
    ended = sweep.trials.filter(pl.col("outcome").is_in(TIMED_OUT)).with_columns(
        pl.col("input").fill_null("")
    )
    work = times.group_by(CELL_SET).agg(
        (pl.col("elapsed_ns") / pl.col("ns_per_unit")).median().alias("work"),
        pl.col("p50_ns").is_not_null().any().alias("waits"),
    )
    limit_ns = pl.lit(limit * 1e9)
    added = (
        ended.collect()
        .join(work, on=CELL_SET)
        .with_columns(
            *(limit_ns.alias(name) for name in ("elapsed_ns", "cpu_ns")),
            *(
                (limit_ns / pl.col("work")).alias(name)
                for name in ("ns_per_unit", "cpu_ns_per_unit")
            ),
            *(pl.when("waits").then(limit_ns).alias(name) for name in ("p50_ns", "p99_ns")),
            *(
                pl.lit(None).alias(name)
                for name in ("iterations", "cpus_busy", "ghz", "cycles_per_unit")
            ),
        )
        .select(cast_to(TIMES))
    )
    return pl.concat([times, added]) if added.height else times


def speedups(
    times: pl.LazyFrame, baseline: str | None, ignored: frozenset[str] = frozenset()
) -> pl.DataFrame:
    """Compute speed-ups of every parallel configuration, by every definition with a measured reference.

    In:  rows of `frames.TIMES`; `ignored` are parameters that the sequential program ignores.
    Out: rows of `frames.SPEEDUPS`. A speed-up is a mean of logarithms (`location`) over units (`units.by_unit`).
    """
    units = by_unit(times, "ns_per_unit")
    found = _references(units, baseline, ignored)
    if not found:
        return pl.DataFrame(schema=SPEEDUPS)
    definitions = [definition for definition, *_ in found]
    _, places, rows, at, branch = (np.array(part) for part in zip(*found, strict=True))
    builds = of_builds(units)
    ratio, low, high = described(
        units.values[at, branch] - units.values[places, rows],
        builds[at, branch] - builds[places, rows],
    )
    elapsed = by_unit(times, "elapsed_ns")  # the same trials, so the same configurations
    keys = units.cells[places]
    threads = pl.col("threads")
    frame = keys.select(*PLACE, "oversubscribed").with_columns(
        pl.Series("branch", [units.branches[row] for row in rows]),
        pl.Series("definition", definitions),
        pl.Series("trials", units.pairs[places, rows]),
        pl.Series("reference_trials", units.pairs[at, branch]),
        pl.Series("elapsed_ms", _typical(elapsed)[places, rows] / 1e6),
        pl.Series("ns_per_unit", _typical(units)[places, rows]),
        pl.Series("speedup", ratio),
        pl.Series("speedup_low", low).fill_nan(None),
        pl.Series("speedup_high", high).fill_nan(None),
    )
    return (
        frame.filter(pl.col("speedup").is_not_nan())
        .with_columns(
            (pl.col("speedup") / threads).alias("efficiency"),
            pl.when(threads > 1)
            .then((1 / pl.col("speedup") - 1 / threads) / (1 - 1 / threads))
            .alias("karp_flatt"),
        )
        .select(cast_to(SPEEDUPS))
        .sort(["definition", *POOL_CELL])
    )


def _typical(units: Units) -> Floats:
    """The mean of each configuration, converted to a plain number."""
    return np.asarray(np.exp(locate(units.values, of_builds(units)).estimate), dtype=np.float64)


def _references(
    units: Units, baseline: str | None, ignored: frozenset[str]
) -> list[tuple[str, int, int, int, int]]:
    """List definition, configuration and branch of the parallel program, configuration and branch of the reference."""
    named = units.cells.rows(named=True)
    loose = [name for name in PANEL if name not in ("parameters", "placement")]
    on_one: dict[tuple[object, ...], list[int]] = {}
    for at, row in enumerate(named):
        if row["threads"] == 1:
            on_one.setdefault(tuple(row[name] for name in ("program", *loose)), []).append(at)
    baselines = [at for at, name in enumerate(units.branches) if name == baseline]
    found = []
    for at, row in enumerate(named):
        if row["program"] != PARALLEL:
            continue
        key = tuple(row[name] for name in loose)
        of_pool = on_one.get((PARALLEL, *key), [])
        alone = [it for it in of_pool if all(named[it][name] == row[name] for name in PANEL)]
        serial = _sequential(
            row, [(named[it], it) for it in on_one.get((SEQUENTIAL, *key), [])], ignored
        )
        first = [
            ("sequential", it, of)
            for it in serial
            for of in np.flatnonzero(units.pairs[it])[:1].tolist()
        ]
        first += [("baseline", it, of) for it in alone for of in baselines]
        for branch in np.flatnonzero(units.pairs[at]).tolist():
            references = first + [("own", it, branch) for it in alone]
            found += [
                (definition, at, branch, it, of)
                for definition, it, of in references
                if units.pairs[it, of]
            ]
    return found


def _sequential(
    row: dict[str, Any], candidates: list[tuple[dict[str, Any], int]], ignored: frozenset[str]
) -> list[int]:
    """Find the configuration of the sequential program on the same input, with the same placement if possible.

    The sequential program lacks parameters of the parallel program. So if no configuration has the same
    parameters, the only configuration of the workload and size is the reference.
    """
    placed = [it for it in candidates if it[0]["placement"] == row["placement"]] or candidates
    wanted = without(row["parameters"], ignored)
    exact = [at for key, at in placed if without(key["parameters"], ignored) == wanted]
    return (exact or [at for _, at in placed if len(placed) == 1])[:1]
