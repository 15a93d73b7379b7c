"""Columns, types and units of the frames that `sweep_analysis` computes from trials.

`schema.py` has the columns of the trials.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sweep_analysis.read.schema import CELL, CELL_SET, PANEL, POOL_CELL, TRIALS


def _same(names: Sequence[str]) -> dict[str, pl.DataType]:
    """The columns of `TRIALS` with these names, in this order.

    Frames with few rows store words as strings, not as categories.
    """
    return {name: pl.String() if TRIALS[name] == pl.Categorical else TRIALS[name] for name in names}


def _of(same: Sequence[str], **own: type[pl.DataType]) -> pl.Schema:
    return pl.Schema(_same(same) | pl.Schema(own))


def cast_to(schema: pl.Schema) -> list[pl.Expr]:
    """Casts the columns of a frame to the types of `schema`."""
    return [pl.col(name).cast(kind) for name, kind in schema.items()]


def _range(*names: str) -> dict[str, type[pl.Float64]]:
    """Each name, with the lower and the upper end of its range in `…_low` and `…_high`."""
    return {f"{name}{end}": pl.Float64 for name in names for end in ("", "_low", "_high")}


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
    cpu_ns=pl.Float64,
    cpu_ns_per_unit=pl.Float64,
    cpus_busy=pl.Float64,
    p50_ns=pl.Float64,  # median latency that the trial reported, see `latency.waits_of`; null: not reported
    p99_ns=pl.Float64,
    ghz=pl.Float64,  # clock, mean of its measurements before and after the trial; null if there is none
    cycles_per_unit=pl.Float64,  # wall time per unit of work times the clock; null without a measured clock
)
"""One row per good trial: see `speedup.trial_times`. There may be a million rows, so text columns stay categories."""
TIMES.update((name, TRIALS[name]) for name in (*CELL, "trial", "freq_state", "work_unit"))

MEDIANS = pl.Schema(
    {
        "workload": pl.String,
        "size": pl.String,
        "parameters": pl.String,  # the parameters in which the workload's rows differ, as `name=value`
        "mode": pl.String,
        "placement": pl.String,
        "program": pl.String,
        "threads": pl.Int64,
        "oversubscribed": pl.Boolean,
        "paced": pl.Boolean,  # a clock sets the program's time, so that only CPU time can differ
        "branch": pl.String,
        "trials": pl.Int64,  # number of good trials
        "failed": pl.Int64,
        "median_ns": pl.Float64,  # median over trials of the median time of an iteration
        "cpu_ns": pl.Float64,
        "speed_up": pl.Float64,  # time per unit of work: the sequential program's over this row's
        "ratio": pl.Float64,  # time per unit of work: this row's over the baseline's, median over blocks
        "cpu_ratio": pl.Float64,  # CPU time per unit of work: this row's over the baseline's, median over blocks
    }
)
"""One row per configuration that a sweep has trials of."""

AGREEMENTS = pl.Schema(
    {
        "workload": pl.String,
        "way": pl.String,  # of the parameters that differ between loads, those that the sequential program ignores
        "instance": pl.String,  # the other parameters that differ between loads
        "expected": pl.String,  # the sequential program's answer; null if its trials failed or disagree
        "branch": pl.String,
        "trials": pl.Int64,  # number of trials, including failed trials
        "agreeing": pl.Int64,  # trials with the expected answer
        "hung": pl.Int64,  # trials that reported a hang
        "failed": pl.Int64,  # trials that failed in another way, or gave no answer
    }
)
"""One row per workload with its parameters, and branch."""

SPEEDUPS = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    definition=pl.String,  # `own`, `baseline` or `sequential`
    trials=pl.Int64,
    reference_trials=pl.Int64,
    elapsed_ms=pl.Float64,  # mean of logarithms over builds (`location`), as a time
    ns_per_unit=pl.Float64,  # the same mean
    **_range("speedup"),  # time per unit: the reference's over this configuration's, 95 % interval
    efficiency=pl.Float64,
    karp_flatt=pl.Float64,  # experimentally determined serial fraction; null at one thread
)
"""One row per definition of speed-up and configuration of the parallel program."""

COMPARISONS = pl.Schema(
    pl.Schema(
        {
            "quantity": pl.String,  # a key of `compare.QUANTITIES`
            "baseline": pl.String,
            "level": pl.String,  # `cell`, a configuration; or `workload`, `threads`, `overall`: see `compare.POOLED`
        }
    )
    | _same(POOL_CELL)
    | pl.Schema(
        {
            "oversubscribed": pl.Boolean,
            "cells": pl.Int64,  # configurations that the row pools
            "pairs": pl.Int64,  # blocks in which both branch and baseline have a trial
            "units": pl.Int64,  # sample size: number of builds, or of seeds
            "time_ratio": pl.Float64,  # quantity per unit of work: the branch's over the baseline's; below 1 is less
            "ratio_low": pl.Float64,  # 95 % interval; null with fewer than `location.FEWEST_UNITS` builds
            "ratio_high": pl.Float64,
            "build_low": pl.Float64,  # the smallest `time_ratio` of a build, over the configurations of the row
            "build_median": pl.Float64,
            "build_high": pl.Float64,  # the largest `time_ratio` of a build; null if no build has all configurations
            "cpu_ratio": pl.Float64,  # `time_ratio` of this configuration in CPU time; null without CPU time
            "band": pl.Float64,  # noise floor: equal builds have ratios from 1/band to band
            "detectable": pl.Float64,  # smallest ratio above 1 that the test finds with a probability of about 80 %
            "ratio_drift": pl.Float64,  # last replicate's ratio over the first's, by the trend; null with few replicates, or for a configuration that all rows pool with others
            "p_drift": pl.Float64,  # t-test that the ratio has no trend over replicates
            "p_value": pl.Float64,  # t-test of the mean of log-ratios; null where there is no interval
            "degrees": pl.Float64,  # degrees of freedom of the t-test of `p_value`
            "is_bimodal": pl.Boolean,  # simulated: the branch, the baseline or any two branches are bimodal, see `states`
            "p_corrected": pl.Float64,  # `p_value` after correction for all tests; null if not tested
            "verdict": pl.String,  # the result: one of `compare.RESULTS`
        }
    )
)
"""One row per branch, baseline, quantity and configuration, workload or sweep."""

CALIBRATION = pl.Schema(
    pl.Schema(
        {
            "quantity": pl.String,  # a key of `compare.QUANTITIES`
            "level": pl.String,  # `overall` or `cell`
        }
    )
    | _same(POOL_CELL)
    | pl.Schema(
        {
            "cells": pl.Int64,  # configurations that the row pools
            "time_ratio": pl.Float64,  # as in `COMPARISONS`
            "equal_low": pl.Float64,  # 90 % interval; null where there is no interval
            "equal_high": pl.Float64,
            "verdict": pl.String,  # the result: one of `calibration.ANSWERS`
        }
    )
)
"""One row per branch, quantity and configuration, and a row for their mean: is the branch equivalent to the baseline?"""

FAILURES = _of(
    [*PANEL, "branch"],
    failed=pl.Int64,
    trials=pl.Int64,
    outcomes=pl.String,
    is_beyond_baseline=pl.Boolean,  # whether a larger share of trials failed than of the baseline or its A/A control
)
"""One row per branch and panel with failed trials, without the baseline and its A/A control."""

HANGS = pl.Schema(
    {
        "branch": pl.String,
        "fenced_by": pl.String,  # the thread that fences: `hangs.NO_THREAD`, `hangs.PUSHER` or `hangs.SLEEPER`
        "runs": pl.Int64,
        "hung": pl.Int64,
        "set_aside": pl.Int64,  # trials that failed in another way: their work is unknown
        "units": pl.Int64,  # work of good runs, and work that hung runs finished before the hang
        "unit": pl.String,
    }
)
"""One row per branch."""

EVENT_RATES = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    work_unit=pl.String,
    event=pl.String,
    trials=pl.UInt32,
    **_range("per_unit"),  # events of all threads per unit of work: median and range over trials
)
"""One row per counted configuration and kind of event."""

LINE_RATES = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    work_unit=pl.String,
    line=pl.String,  # the counter words on the line, joined by ` + `
    trials=pl.UInt32,
    loads=pl.Float64,  # per unit of work, median over trials
    **_range(
        "writes"
    ),  # read-modify-writes, including failed ones, which also invalidate the line in other caches
    cas_failures=pl.Float64,
)
"""One row per counted configuration and cache line of the sleep counters."""

SPENT_SHARES = _of(
    POOL_CELL,
    work_unit=pl.String,
    trials=pl.Int64,
    spent_on=pl.String,  # a key of `simulated.SPENT_ON`
    ns_per_unit=pl.Float64,  # time of all cores together per unit of work, over all trials
    share=pl.Float64,
)
"""One row per configuration on a simulated machine and activity of its cores."""

BOX = _of(
    POOL_CELL,
    machines=pl.Int64,
    failed=pl.Int64,  # machines without a sign, because a trial of the branch or the baseline failed
    faster=pl.Int64,  # machines on which the branch takes less time, by its mean over seeds
    slower=pl.Int64,
    faster_bound=pl.Float64,  # exact one-sided 95 % lower bound of the share of machines
    slower_bound=pl.Float64,
    ratio_low=pl.Float64,  # time over the baseline's time, 5th percentile of the machines
    ratio=pl.Float64,
    ratio_high=pl.Float64,
    control=pl.Int64,
    control_faster=pl.Int64,
    control_low=pl.Float64,  # 5th percentile of the A/A control's ratio; null if no machine has a sign
    control_high=pl.Float64,
    price=pl.String,  # the cost parameter with the strongest rank correlation; null if no correlation is strong
    rho=pl.Float64,
    flips_at=pl.Float64,  # value of that cost parameter at which the sign flips; null if no value flips the sign
    verdict=pl.String,  # the result: `faster`, `slower` or `undecided`
)
"""One row per workload, thread count and branch of a sweep over a box."""

LINE_WAIT_RATES = _of(
    POOL_CELL,
    work_unit=pl.String,
    trials=pl.Int64,
    at=pl.String,  # the source line that waited for cache lines: `file:line:column`
    written_at=pl.String,  # the source line of the last write, or another cause in brackets; null without a cause
    share=pl.Float64,  # share of all the time that the cores waited for cache lines
    core_share=pl.Float64,
    ns_per_unit=pl.Float64,  # waiting time of all cores together per unit of work
    transfers_per_unit=pl.Float64,
    transfers_per_iteration=pl.Float64,
)
"""One row per configuration on a simulated machine and pair of source lines."""

BOX_WAITS = _of(
    POOL_CELL,
    at=pl.String,  # the source line at which the cores of a machine wait longest for a cache line
    written_at=pl.String,  # as in `LINE_WAIT_RATES`
    on=pl.UInt32,  # the machines of the box on which this pair of lines has the longest waits
    machines=pl.UInt32,
)
"""One row per workload, thread count and branch of a sweep over a box, and pair of source lines."""

LATENCIES = _of(
    POOL_CELL,
    oversubscribed=pl.Boolean,
    kind=pl.String,  # the kind of latency: a key of `latency.KINDS`
    quantile=pl.String,  # one of `latency.QUANTILES`
    trials=pl.UInt32,
    **_range("wait_us"),  # the trial's quantile: median and range over trials
)
"""One row per configuration that reports latencies, kind of latency and quantile."""

CLOCKS = _of(
    ["mode", "freq_state", "threads"],
    trials=pl.UInt32,  # trials with a measured clock
    unmeasured=pl.UInt32,  # trials whose clock could not be measured, or was not requested
    **_range("ghz"),  # mean of the clock before and after a trial: median and range over trials
)
"""One row per frequency mode and thread count."""

RESIDUALS = _of(
    CELL_SET,
    block=pl.Int64,
    residual=pl.Float64,  # log of the block's time over the mean of all blocks of the same configurations
)
"""One row per block."""


CLAIMS = pl.Schema(
    {
        "claim": pl.Int64,  # the hypothesis's number in the manifest, from 1
        "branch": pl.String,
        "expect": pl.String,
        "against": pl.String,
        "workloads": pl.String,  # names, joined by commas; empty means all workloads
        "threads": pl.String,  # the claim's text; empty means all thread counts
        "quantity": pl.String,  # a key of `compare.QUANTITIES`
        "verdict": pl.String,  # the result: one of `claims.RESULTS`
        "reason": pl.String,
        "cells": pl.Int64,
        "pairs": pl.Int64,
        "time_ratio": pl.Float64,  # as in `COMPARISONS`
        "ratio_low": pl.Float64,
        "ratio_high": pl.Float64,
        "band": pl.Float64,
        "p_value": pl.Float64,
        "p_holm": pl.Float64,  # `p_value` with Holm's correction over all tested hypotheses of the sweep
        "detectable": pl.Float64,  # as in `COMPARISONS`
        "hypothesis": pl.String,  # the branch's `hypothesis`, in its author's words
    }
)
"""One row per pre-registered hypothesis (a claim of the manifest)."""

CLAIM_DETAILS = pl.Schema(
    pl.Schema({"claim": pl.Int64, "branch": pl.String})
    | _same(PANEL)
    | {"at_threads": pl.Int64}  # null in the row of a workload that pools its thread counts
    | {
        name: kind
        for name, kind in CLAIMS.items()
        if name not in ("claim", "branch", "workloads", "hypothesis")
    }
)
"""One row per hypothesis and workload (for `claims.OF_EACH` also per thread count); `p_holm` covers the rows of one hypothesis."""

PREDICTIONS = pl.Schema(
    {
        "prediction": pl.String,  # the name of its file
        "branch": pl.String,
        "against": pl.String,
        "workload": pl.String,
        "threads": pl.Int64,
        "quantity": pl.String,  # a key of `compare.QUANTITIES`
        "direction": pl.String,  # faster, slower or no-gain
        "margin": pl.Float64,  # smallest ratio that counts as a gain or a loss
        "verdict": pl.String,  # the result: one of `predictions.RESULTS`
        "reason": pl.String,  # why the prediction is not tested
        "time_ratio": pl.Float64,  # as in `COMPARISONS`
        "ratio_low": pl.Float64,
        "ratio_high": pl.Float64,
        "band": pl.Float64,
        "p_value": pl.Float64,
        "p_holm": pl.Float64,  # `p_value` with Holm's correction over all tested predictions of the sweep
    }
)
"""One row per registered prediction."""

LEDGER = pl.Schema(
    {
        "what": pl.String,  # kind of the excluded data: records, trials, pairs, blocks, configurations, iterations
        "reason": pl.String,
        "branch": pl.String,
        "left_out": pl.Int64,
        "of": pl.Int64,  # total number of these data, including the excluded ones; null if unknown
    }
)
"""One row per reason, and per branch if the reason concerns a branch."""

COSTS = _of(
    [*CELL_SET, "branch"],
    oversubscribed=pl.Boolean,
    trials=pl.Int64,
    **_range(
        "ns_per_unit", "cpu_ns_per_unit"
    ),  # wall time, CPU time: mean of logarithms (`location`), 95 % interval
    **_range("cycles_per_unit"),  # wall time times the clock; null without a measured clock
    **_range("cpus_busy"),  # CPU time over wall time
    cpus_idle=pl.Float64,  # the smaller of threads and CPUs, minus `cpus_busy`; null if CPUs are unknown
)
"""One row per configuration, including those of the sequential program."""

PLACEMENTS = pl.Schema(
    pl.Schema({"quantity": pl.String})  # one of `placements.QUANTITIES`
    | _same([*(name for name in PANEL if name != "placement"), "threads"])
    | pl.Schema(
        {
            "cells": pl.Int64,
            "pairs": pl.Int64,
            "units": pl.Int64,  # sample size: number of builds, or of replicates of a single build
            "ratio": pl.Float64,  # the quantity with pinned workers over that with free workers
            "ratio_low": pl.Float64,  # 95 % interval; null with fewer than `location.FEWEST_UNITS` units
            "ratio_high": pl.Float64,
            "p_value": pl.Float64,  # t-test of the mean of log-ratios; null where there is no interval
            "p_holm": pl.Float64,  # `p_value` with Holm's correction over all rows
            "moved": pl.Boolean,  # whether `p_holm` is below 5 %
        }
    )
)
"""One row per quantity, workload and thread count, all branches together."""

VALIDATION = _of(
    POOL_CELL,
    predicted_ms=pl.Float64,
    measured_ms=pl.Float64,
    ratio=pl.Float64,
    predicted_scaling=pl.Float64,  # predicted time over the branch's predicted time on one thread; null without the latter
    measured_scaling=pl.Float64,
    is_near=pl.Boolean,  # whether `ratio` is within the factor 1 + `validation.MARGIN`, either way
)
"""One row per configuration of the parallel program that both sweeps have."""
