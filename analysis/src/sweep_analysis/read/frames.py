"""Columns, types and units of the frames that this package makes from trials.

`schema.py` has those of the trials.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sweep_analysis.read.schema import CELL, CELL_SET, PANEL, POOL_CELL, TRIALS


def _same(names: Sequence[str]) -> dict[str, pl.DataType]:
    """The columns of `TRIALS` with these names, in this order.

    Frames that have few rows keep words as they are.
    """
    return {name: pl.String() if TRIALS[name] == pl.Categorical else TRIALS[name] for name in names}


def _of(same: Sequence[str], **own: type[pl.DataType]) -> pl.Schema:
    """The columns of `TRIALS` with these names, then others of these types."""
    return pl.Schema(_same(same) | pl.Schema(own))


TIMES = _of(
    CELL,
    trial=pl.String,
    replicate=pl.Int64,
    layout=pl.Int64,  # the build, from 1; null in a sweep that has one build of each branch
    block=pl.Int64,
    position=pl.Int64,
    oversubscribed=pl.Boolean,
    freq_state=pl.String,
    work_unit=pl.String,
    iterations=pl.UInt32,
    elapsed_ns=pl.Float64,  # median over the trial's iterations
    ns_per_unit=pl.Float64,  # median over the trial's iterations: wall time per unit of work
    cpu_ns=pl.Float64,  # user and system time of the process, likewise
    cpu_ns_per_unit=pl.Float64,  # user and system time of the process per unit of work, likewise
    cpus_busy=pl.Float64,  # CPU time over wall time: how many CPUs the process kept, likewise
    p50_ns=pl.Float64,  # how long work waited, as the trial told it: see `latency.waits_of`; null: untold
    p99_ns=pl.Float64,
    ghz=pl.Float64,  # measured clock, mean of before and after; null if neither was measured
    cycles_per_unit=pl.Float64,  # wall time per unit of work times the clock; null without one
)
"""One row per good trial: see `speedup.trial_times`. There may be a million, so words are kept as in `TRIALS`."""
TIMES.update((name, TRIALS[name]) for name in (*CELL, "trial", "freq_state", "work_unit"))

MEDIANS = pl.Schema(
    {
        "workload": pl.String,
        "size": pl.String,
        "parameters": pl.String,  # that tell the row from others of its workload, as `name=value`
        "mode": pl.String,
        "placement": pl.String,
        "program": pl.String,
        "threads": pl.Int64,
        "oversubscribed": pl.Boolean,
        "paced": pl.Boolean,  # a clock sets the program's time, so that CPU time comes first
        "branch": pl.String,  # or the A/A control of the baseline
        "trials": pl.Int64,  # good ones
        "failed": pl.Int64,
        "median_ns": pl.Float64,  # median over trials of the median time of an iteration
        "cpu_ns": pl.Float64,  # the same of the CPU time of all threads
        "speed_up": pl.Float64,  # the sequential program's time per unit of work over this one's
        "ratio": pl.Float64,  # time per unit of work over the baseline's, median over blocks
        "cpu_ratio": pl.Float64,  # the same of the CPU time
    }
)
"""One row per cell that a sweep has trials of: see `medians.medians`."""

AGREEMENTS = pl.Schema(
    {
        "workload": pl.String,
        "way": pl.String,  # parameters in which instances of the same sequential program differ
        "instance": pl.String,  # parameters in which sequential programs differ
        "expected": pl.String,  # its answer; null if no trial of it succeeded, or they disagree
        "branch": pl.String,
        "trials": pl.Int64,  # failed ones included
        "agreeing": pl.Int64,  # of which gave the expected answer
        "hung": pl.Int64,  # of which noticed by themselves that they got no further
        "failed": pl.Int64,  # of which failed otherwise
    }
)
"""One row per load and branch: see `agreements.agreements`."""

SPEEDUPS = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    definition=pl.String,  # `own`, `baseline` or `sequential`
    trials=pl.Int64,
    reference_trials=pl.Int64,
    elapsed_ms=pl.Float64,  # median over trials
    ns_per_unit=pl.Float64,  # median over trials
    speedup=pl.Float64,  # reference's time per unit over this cell's
    speedup_low=pl.Float64,  # 95 % interval
    speedup_high=pl.Float64,
    efficiency=pl.Float64,  # speed-up over threads
    karp_flatt=pl.Float64,  # experimentally determined serial fraction; null at one thread
)
"""One row per cell of the pool's program and definition of speed-up: see `speedup.speedups`."""

COMPARISONS = pl.Schema(
    pl.Schema(
        {
            "quantity": pl.String,  # a key of `compare.QUANTITIES`
            "baseline": pl.String,  # what the branch is compared with
            "level": pl.String,  # `cell`; or, of the cells of `compare.POOLED`, `workload`, `threads` or `overall`
        }
    )
    | _same(POOL_CELL)
    | pl.Schema(
        {
            "oversubscribed": pl.Boolean,
            "cells": pl.Int64,  # cells that the row pools
            "pairs": pl.Int64,  # blocks in which both branch and baseline have a trial
            "units": pl.Int64,  # independent values that the row rests on: layouts
            "time_ratio": pl.Float64,  # branch's quantity per unit of work over the baseline's; below 1 is faster
            "ratio_low": pl.Float64,  # 95 % interval; null with fewer than `location.FEWEST_UNITS` layouts
            "ratio_high": pl.Float64,
            "build_low": pl.Float64,  # the least `time_ratio` of a build, over the cells of the row
            "build_median": pl.Float64,  # the median over builds
            "build_high": pl.Float64,  # the most; null if no build has all cells
            "cpu_ratio": pl.Float64,  # `time_ratio` of the row that is this one by CPU time; null without it
            "band": pl.Float64,  # noise floor: ratios from 1/band to band are what equal builds show
            "detectable": pl.Float64,  # smallest ratio above 1 that the verdict finds about four times in five
            "ratio_drift": pl.Float64,  # ratio in the last replicate over that in the first; null for cells, and if few
            "p_drift": pl.Float64,  # t-test that it has no trend over replicates
            "p_value": pl.Float64,  # t-test of the mean of log-ratios; null where there is no interval
            "degrees": pl.Float64,  # of freedom of that test
            "two_states": pl.Boolean,  # of a simulated cell: one of the two, or two others, are bimodal, see `states`
            "p_corrected": pl.Float64,  # the same after correction over all that is tested; null where nothing is
            "verdict": pl.String,  # one of `compare.VERDICTS`
        }
    )
)
"""One row per branch, baseline, quantity and cell, workload or sweep: see `compare.judge`."""

FAILURES = _of(
    [*PANEL, "branch"],
    failed=pl.Int64,  # trials of the pool's program
    trials=pl.Int64,  # of them
    outcomes=pl.String,  # joined by commas
    is_beyond_baseline=pl.Boolean,  # a larger share than of the baseline, or of its A/A control
)
"""One row per branch and panel that has failed trials, the baseline's own left out: see `decisions`."""

HANGS = pl.Schema(
    {
        "branch": pl.String,
        "fenced_by": pl.String,  # fences for a push: `hangs.NO_THREAD`, `hangs.PUSHER` or `hangs.SLEEPER`
        "runs": pl.Int64,  # trials of the pool's program that were good or hung
        "hung": pl.Int64,  # of them
        "set_aside": pl.Int64,  # other trials of it: they failed otherwise, and their work is unknown
        "units": pl.Int64,  # work that good runs did, and that hung ones finished before
        "unit": pl.String,
    }
)
"""One row per branch: see `hangs.hangs`."""

EVENT_RATES = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    work_unit=pl.String,
    event=pl.String,
    trials=pl.UInt32,
    per_unit=pl.Float64,  # events of all threads per unit of work, median over trials
    per_unit_low=pl.Float64,  # the least of the trials
    per_unit_high=pl.Float64,  # the most
)
"""One row per counted cell and kind of event: see `events.event_rates`."""

LINE_RATES = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    work_unit=pl.String,
    line=pl.String,  # the counter words on the line, joined by ` + `
    trials=pl.UInt32,
    loads=pl.Float64,  # per unit of work, median over trials
    writes=pl.Float64,  # read-modify-writes, failed ones included: each takes the line away from the others
    writes_low=pl.Float64,  # the least of the trials
    writes_high=pl.Float64,  # the most
    cas_failures=pl.Float64,
)
"""One row per counted cell and cache line of the sleep counters: see `events.line_rates`."""

SPENT_SHARES = _of(
    POOL_CELL,
    work_unit=pl.String,
    trials=pl.Int64,
    spent_on=pl.String,  # a key of `simulated.SPENT_ON`
    ns_per_unit=pl.Float64,  # time of all cores together per unit of work, over all trials
    share=pl.Float64,  # of the time of all cores
)
"""One row per cell on a simulated machine and what its cores did: see `simulated.spent_shares`."""

SENSITIVITY = _of(
    POOL_CELL,
    quantity=pl.String,  # `time` or `cpu`
    ratio=pl.Float64,  # over the baseline's, prices as written: geometric mean over seeds
    prices=pl.Int64,  # prices that were changed, each way counted
    least=pl.Float64,  # the smallest ratio with one price changed
    least_price=pl.String,  # and which, as `fence-ns*2`
    most=pl.Float64,
    most_price=pl.String,
    flips=pl.String,  # prices with which less, as much or more becomes another of the three; empty: none
    two_states=pl.Boolean,  # one of the two is bimodal, by seeds or by prices: nothing is said of it
)
"""One row per simulated cell, branch and quantity: see `simulated.sensitivity`."""

BOX = _of(
    POOL_CELL,
    machines=pl.Int64,  # of the box, on which the branch was tried
    failed=pl.Int64,  # those on which a trial of it or of the baseline failed: they have no sign
    faster=pl.Int64,  # machines on which the branch takes less time, by its mean over seeds
    slower=pl.Int64,
    faster_bound=pl.Float64,  # exact one-sided 95 % lower bound of the share of the box
    slower_bound=pl.Float64,
    ratio_low=pl.Float64,  # time over the baseline's, 5th percentile of the machines
    ratio=pl.Float64,  # the median
    ratio_high=pl.Float64,
    control=pl.Int64,  # machines on which the A/A control has a sign
    control_faster=pl.Int64,  # the same of the A/A control; its ratios are null where it has none
    control_low=pl.Float64,
    control_high=pl.Float64,
    price=pl.String,  # the price with the strongest rank correlation; null: none is strong
    rho=pl.Float64,
    turns_at=pl.Float64,  # the price's value at which the sign turns; null if it does not
    verdict=pl.String,  # `faster`, `slower` or `undecided`
)
"""One row per workload, thread count and branch of a sweep over a box: see `boxes.box_signs`."""

LINE_WAIT_RATES = _of(
    POOL_CELL,
    work_unit=pl.String,
    trials=pl.Int64,
    at=pl.String,  # the line of source that waited for lines of memory: `file:line:column`
    written_at=pl.String,  # the one that wrote before it, or in brackets what else; null if none had
    share=pl.Float64,  # of all the time that the cell's cores waited for lines
    core_share=pl.Float64,  # of the time of all cores
    ns_per_unit=pl.Float64,  # waited by all cores together per unit of work
    transfers_per_unit=pl.Float64,
    transfers_per_iteration=pl.Float64,
)
"""One row per cell on a simulated machine and pair of lines of source: see `simulated.line_wait_rates`."""

LATENCIES = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    kind=pl.String,  # what was waited for: a key of `latency.KINDS`
    quantile=pl.String,  # one of `latency.QUANTILES`
    trials=pl.UInt32,
    wait_us=pl.Float64,  # median over trials of the trial's quantile
    wait_us_low=pl.Float64,  # the least of the trials
    wait_us_high=pl.Float64,  # the most
)
"""One row per cell of a workload that waits, kind of waiting and quantile: see `latency.latencies`."""

CLOCKS = pl.Schema(
    {
        "mode": pl.String,
        "freq_state": pl.String,
        "threads": pl.Int64,
        "trials": pl.UInt32,  # with a measured clock
        "unmeasured": pl.UInt32,  # the clock could not be measured, or was not asked for
        "ghz": pl.Float64,  # median over trials of the mean of before and after
        "ghz_low": pl.Float64,  # the least of the trials
        "ghz_high": pl.Float64,  # the most
    }
)
"""One row per frequency mode and thread count: see `clocks.clocks`."""

RESIDUALS = _of(
    CELL_SET,
    block=pl.Int64,
    residual=pl.Float64,  # log of the block's time over that of the other blocks of its cells
)
"""One row per block: see `drift.residuals`."""


CLAIMS = pl.Schema(
    {
        "claim": pl.Int64,  # its number in the manifest, from 1
        "branch": pl.String,
        "expect": pl.String,  # `faster`, `slower`, `equal`, `no-faster` or `no-slower`
        "against": pl.String,
        "workloads": pl.String,  # names, joined by commas; empty: all
        "threads": pl.String,  # as written; empty: all
        "quantity": pl.String,  # a key of `compare.QUANTITIES`
        "verdict": pl.String,  # one of `claims.VERDICTS`
        "reason": pl.String,  # in words
        "cells": pl.Int64,  # that the claim is about and the sweep has
        "pairs": pl.Int64,
        "time_ratio": pl.Float64,  # as in `COMPARISONS`
        "ratio_low": pl.Float64,
        "ratio_high": pl.Float64,
        "band": pl.Float64,
        "p_value": pl.Float64,
        "p_holm": pl.Float64,  # `p_value`, Holm over all tested claims of the sweep
        "detectable": pl.Float64,  # smallest ratio above 1 that would be found about four times in five
        "hypothesis": pl.String,  # the branch's, in its author's words
    }
)
"""One row per claim of the manifest: see `claims.check_claims`."""

CLAIM_DETAILS = pl.Schema(
    pl.Schema({"claim": pl.Int64, "branch": pl.String})
    | _same(PANEL)
    | {"at_threads": pl.Int64}  # null: the workload at all thread counts of a kind
    | {
        name: kind
        for name, kind in CLAIMS.items()
        if name not in ("claim", "branch", "workloads", "hypothesis")
    }
)
"""One row per claim and workload (of `claims.OF_EACH` and thread count, too), `p_holm` being over these."""

LEDGER = pl.Schema(
    {
        "what": pl.String,  # what was left out: trials, pairs, cells, iterations, points, records
        "reason": pl.String,
        "branch": pl.String,  # null: not about one branch
        "left_out": pl.Int64,
        "of": pl.Int64,  # so many there were, those left out included; null if unknown
    }
)
"""One row per reason, and branch where it matters: see `ledger.ledger`."""

COSTS = _of(
    [*CELL_SET, "branch"],
    oversubscribed=pl.Boolean,
    trials=pl.Int64,
    ns_per_unit=pl.Float64,  # wall time, median over trials
    ns_per_unit_low=pl.Float64,  # 95 % interval
    ns_per_unit_high=pl.Float64,
    cpu_ns_per_unit=pl.Float64,  # CPU time of the process
    cpu_ns_per_unit_low=pl.Float64,
    cpu_ns_per_unit_high=pl.Float64,
    cycles_per_unit=pl.Float64,  # wall time at the measured clock; null without one
    cycles_per_unit_low=pl.Float64,
    cycles_per_unit_high=pl.Float64,
    cpus_busy=pl.Float64,  # CPU time over wall time
    cpus_busy_low=pl.Float64,
    cpus_busy_high=pl.Float64,
    cpus_idle=pl.Float64,  # the smaller of threads and CPUs, less `cpus_busy`; null if CPUs are unknown
)
"""One row per cell, the sequential program's included: see `costs.costs`."""

PLACEMENTS = pl.Schema(
    pl.Schema({"quantity": pl.String})  # one of `placements.QUANTITIES`
    | _same([*(name for name in PANEL if name != "placement"), "threads"])
    | pl.Schema(
        {
            "cells": pl.Int64,  # cells that the row pools, one a branch
            "pairs": pl.Int64,  # pairs of a free and a pinned trial
            "units": pl.Int64,  # independent values: layouts, or replicates of a single build
            "ratio": pl.Float64,  # pinned over free; below 1 is less when workers are pinned
            "ratio_low": pl.Float64,  # 95 % interval; null with fewer than `location.FEWEST_UNITS` units
            "ratio_high": pl.Float64,
            "p_value": pl.Float64,  # t-test of the mean of log-ratios; null where there is no interval
            "p_holm": pl.Float64,  # the same, Holm over all rows
            "moved": pl.Boolean,  # whether that is below 0.05
        }
    )
)
"""One row per quantity, workload and thread count, all branches together: see `placements.placements`."""

VALIDATION = _of(
    POOL_CELL,
    predicted_ms=pl.Float64,  # simulated: median over trials
    measured_ms=pl.Float64,  # on the host: median over trials
    ratio=pl.Float64,  # predicted over measured
    predicted_scaling=pl.Float64,  # predicted time over that of the branch on one thread; null without it
    measured_scaling=pl.Float64,  # the same, measured
    is_near=pl.Boolean,  # whether `ratio` is within `validation.MARGIN`
)
"""One row per cell of the pool's program that a simulated and a measured sweep have: see `validation.validation`."""
