"""Writes the limits of the conclusions from a sweep, with reasons.

Some cautions void the whole sweep. `voids` returns only these cautions, and every recommendation
shows them.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.say.user_program import is_of_user
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import LEAST_SIMULATED
from sweep_analysis.stats.drift import DRIFT_ALPHA

QUIET_CPU_SHARE = 0.97
"""If a single busy thread has less CPU time over wall time than this, other processes used the CPU. On a quiet host
the ratio is at least 0.99. A load average does not show other load, because oversubscribed trials also raise it."""
MOST_LOST = 0.1
"""If other processes, the hypervisor or a CPU quota took more than this share of the time, the sweep is void. A guess: quiet hosts lose 1 %, and
the changes of interest are a few per cent."""
FAR = 1.3
"""Minimum factor, either way, between a trial's core-to-core latency and the median that counts as a moved CPU. On
hosts that do not move CPUs, nearly all trials are within a few per cent of the median."""
FEWEST_MOVED = 0.02
"""Minimum share of trials with a moved CPU that leads to a warning: an interrupt may disturb a few measurements."""


def voids(sweep: Sweep) -> list[str]:
    """List the cautions that void a sweep, whatever its results are; each has one or two sentences."""
    if sweep.machine:
        return []  # other load of the host does not change virtual time
    useless = "This sweep shows that the tool works, not which branch is better."
    found = []
    got = _cpu_share(sweep)
    if got is not None and got < 1 - MOST_LOST:
        found.append(
            f"The host was busy with other work: programs with a single thread got only {100 * got:.0f} % of a CPU. "
            + useless
        )
    passed = pl.col("process_ns").sum()
    shares = [pl.col(name).sum() / passed for name in ("steal_ns", "quota_throttled_ns")]
    stolen, throttled = sweep.trials.select(shares).collect().row(0)
    # Stolen time is a sum over CPUs, so it is divided by their number; a quota stops all threads at once.
    cpus = sweep.host.get("cpus_usable")
    if stolen is not None and isinstance(cpus, int) and stolen > MOST_LOST * cpus:
        found.append(
            f"The hypervisor took {100 * stolen / cpus:.0f} % of the CPUs' time while trials ran. {useless}"
        )
    if throttled is not None and throttled > MOST_LOST:
        found.append(
            f"A CPU quota stopped the programs for {100 * throttled:.0f} % of their time. {useless}"
        )
    return found


def cautions(analysis: Analysis) -> list[str]:
    """List the limits of the conclusions from a sweep; the cautions that void the sweep come first."""
    sweep = analysis.sweep
    found = [*voids(sweep), *sweep.notes]
    planned = sweep.manifest.get("trials_planned")
    counted, dropped = (
        it.select(pl.len()).collect().item() for it in (sweep.counted, sweep.dropped)
    )
    recorded = analysis.times.height + analysis.failures.height + counted + dropped
    if isinstance(planned, int) and recorded < planned:
        found.append(
            f"The sweep is not finished: {recorded} of {count(planned, 'planned trial')} are recorded. "
            "`cargo runner sweep --resume` runs the rest."
        )
    if sweep.machine:
        found.append(
            "Simulated: no number of this sweep was measured on such a machine. "
            f"`machines/{sweep.machine}.toml` has the cost of each access, with its source. Costs are not exact, so "
            f"no difference under {LEAST_SIMULATED * 100:.0f} % is significant."
        )
    else:
        found += _host_cautions(analysis)
    if analysis.failures.height:
        failed = analysis.failures["branch"].value_counts(sort=True).rows()
        shown = ", ".join(f"{branch} {number}" for branch, number in failed)
        total = analysis.failures.height + analysis.times.height
        found.append(
            f"{analysis.failures.height} of {count(total, 'trial')} failed ({shown}). Failed trials have no times, "
            "so the other trials may be a biased sample."
        )
    if analysis.uncounted.height:
        reasons = ", ".join(sorted(set(analysis.uncounted["outcome"])))
        found.append(
            f"{analysis.uncounted.height} of {count(counted, 'counted trial')} failed ({reasons}); the counts "
            "leave them out."
        )
    return found


def _host_cautions(analysis: Analysis) -> list[str]:
    sweep, cpus = analysis.sweep, analysis.cpus
    found = []
    states = sorted(set(sweep.trials.select("freq_state").unique().collect()["freq_state"]))
    if states != ["fixed-verified"]:
        found.append(
            f"The CPU frequency was not fixed ({', '.join(states)}). A clock that falls as more CPUs work flattens the "
            "speed-up curves. Branches are compared within a block, so the ratios depend less on the clock."
        )
    threads = analysis.times.filter(pl.col("program") == PARALLEL)["threads"]
    if cpus is not None and threads.len() and max(threads) > cpus:
        found.append(
            f"The host has {count(cpus, 'CPU')}. Points with more threads (shaded) show oversubscribed pools, not "
            "scaling."
        )
    share = _cpu_share(sweep)
    if share is not None and 1 - MOST_LOST <= share < QUIET_CPU_SHARE:
        found.append(
            f"The host did some other work: programs with a single thread got only {share * 100:.0f} % of a CPU, "
            "which adds noise to every number."
        )
    trend = analysis.trend
    if trend is not None and trend.p_value < DRIFT_ALPHA:
        word = "rose" if trend.ratio > 1 else "fell"
        found.append(
            f"Times {word} by {abs(trend.ratio - 1) * 100:.0f} % from the first block to the last. This drift nearly "
            "cancels in comparisons of branches, which are within blocks, but not in speed-ups, which compare blocks."
        )
    found += _moved_cpus(sweep)
    if sweep.host.get("cpu", {}).get("is_virtual"):
        found.append(
            "The host is a virtual machine: other virtual machines may have used its CPUs, unseen."
        )
    return found


def _moved_cpus(sweep: Sweep) -> list[str]:
    ns = pl.col("core_to_core_ns")
    away = (ns > FAR * ns.median()) | (ns < ns.median() / FAR)
    columns = {"share": away.mean(), "least": ns.min(), "most": ns.max(), "mostly": ns.median()}
    share, least, most, mostly = sweep.trials.select(**columns).collect().row(0)
    if share is None or share < FEWEST_MOVED:
        return []
    told = (
        f"The latency between CPUs changed. The transfer of a cache line took {mostly:.0f} ns in the median, but far "
        f"more or less in {100 * share:.0f} % of the trials ({least:.0f} to {most:.0f} ns), as if a hypervisor moved "
        "the CPUs. A branch can be faster at one latency and slower at another."
    )
    return [told]


def _cpu_share(sweep: Sweep) -> float | None:
    """CPU time over wall time of all single-threaded iterations together; None if none was recorded.

    Programs that report `latency_…` are excluded, because by design they wait for a clock or for requests. A user's
    program is excluded, too, because it may wait for a disk or sleep.
    """
    if is_of_user(sweep):
        return None
    waiting = sweep.metrics.filter(pl.col("metric").str.starts_with("latency_")).join(
        sweep.trials, on="trial"
    )
    alone = (
        sweep.trials.filter(pl.col("threads") == 1)
        .join(waiting.select("workload").unique(), on="workload", how="anti")
        .select("trial")
    )
    spent = (pl.col("user_ns") + pl.col("system_ns")).sum()
    share = sweep.iterations.join(alone, on="trial", how="semi").select(
        spent / pl.col("elapsed_ns").sum()
    )
    value: float | None = share.collect().item()
    return value if value and value > 0 else None
