"""Limits of the conclusions from a sweep, with reasons. Read them before you quote a number.

Some cautions void the whole sweep. `voids` returns only these, and every recommendation shows them.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import CELL, PARALLEL
from sweep_analysis.say.placements import placement_sentences
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import LEAST_SIMULATED
from sweep_analysis.stats.speedup import DEFINITIONS

STUDY_THREADS = 32
"""Maximum number of threads of the 2022 study, each on a core of its own."""
COARSE = 0.005
"""Minimum step of a clock, relative to the measured time, that leads to a warning: small changes need a fine clock."""
FEWEST_READINGS = 10
"""With fewer readings in a configuration, the step of the clock is not estimated."""
QUIET_CPU_SHARE = 0.97
"""If a single busy thread has less CPU time over wall time than this, other processes used the CPU. On a quiet host
the share is at least 0.99. A load average does not show this, because oversubscribed trials raise it themselves."""
MOST_LOST = 0.1
"""If other processes took more than this share of CPU time, the sweep is void. A guess: quiet hosts lose 1 %, and
the changes of interest are a few per cent."""
FAR = 1.3
"""Minimum factor, either way, between a trial's core-to-core latency and the median that counts as a moved CPU. On
hosts that do not move CPUs, nearly all trials are within a few per cent of the median."""
FEWEST_MOVED = 0.02
"""Minimum share of such trials that leads to a warning: an interrupt may disturb a few measurements."""
DRIFT_ALPHA = 0.01
"""A trend over the sweep is reported below this p-value."""


def voids(sweep: Sweep) -> list[str]:
    """The cautions that void a sweep, whatever its results are, a sentence or two each.

    Empty if branches may be tested.
    """
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
    stolen, throttled = (
        sweep.trials.select(
            pl.col("steal_ns").sum() / passed, pl.col("quota_throttled_ns").sum() / passed
        )
        .collect()
        .row(0)
    )
    # Stolen time adds up over CPUs; a quota stops all threads at once.
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
    """The limits of the conclusions from this sweep, a sentence or two each.

    Cautions that void the sweep come first.
    """
    found = [*voids(analysis.sweep), *analysis.sweep.notes]
    planned = analysis.sweep.manifest.get("trials_planned")
    counted = analysis.sweep.counted.select(pl.len()).collect().item()
    recorded = analysis.times.height + analysis.failures.height + counted
    if isinstance(planned, int) and recorded < planned:
        found.append(
            f"The sweep is not finished: {recorded} of {count(planned, 'planned trial')} are recorded. "
            "`cargo runner sweep --resume` runs the rest."
        )
    found += placement_sentences(analysis.placements)
    found += (
        [simulated_caution(analysis.sweep.machine)]
        if analysis.sweep.machine
        else _host_cautions(analysis)
    )
    found += _design_cautions(analysis)
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


def simulated_caution(machine: str) -> str:
    """The caution that every simulated sweep has."""
    return (
        f"Simulated: no number of this sweep was measured on such a machine. The cost of each access is in "
        f"`machines/{machine}.toml`, with its source. Costs are not exact, so no "
        f"difference under {LEAST_SIMULATED * 100:.0f} % is significant. Ranks and crossovers are more reliable than sizes."
    )


def _host_cautions(analysis: Analysis) -> list[str]:
    states = set(
        analysis.sweep.trials.select(pl.col("freq_state").unique()).collect()["freq_state"]
    )
    cpus = analysis.cpus
    of_pool = analysis.times.lazy().filter(pl.col("program") == PARALLEL)
    threads = of_pool.select(pl.col("threads").unique()).collect()["threads"].to_list()
    found = []
    if states - {"fixed-verified"}:
        reason = {
            frozenset({"uncontrolled"}): "this host offers no control over it",
            frozenset({"dynamic"}): "it was left to the host",
        }.get(frozenset(states), f"recorded as {', '.join(sorted(states))}")
        found.append(
            f"The CPU frequency was not fixed ({reason}). A clock that falls as more CPUs work flattens the speed-up "
            "curves. Branches are compared within a block, so the ratios depend less on the clock."
        )
    if cpus is not None and threads and max(threads) > cpus:
        found.append(
            f"The host has {count(cpus, 'CPU')}. Points with more threads (shaded) show oversubscribed pools, not "
            "scaling."
        )
    # A user who compares their own tree is not interested in the study.
    is_of_study = not analysis.sweep.manifest.get("is_ad_hoc", False)
    if is_of_study and cpus is not None and cpus < STUDY_THREADS:
        found.append(
            f"The 2022 study had a core for each of {STUDY_THREADS} threads. Its results at many threads can be "
            f"neither confirmed nor falsified on {count(cpus, 'CPU')}."
        )
    share = _cpu_share(analysis.sweep)
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
    found += _moved_cpus(analysis.sweep)
    if analysis.sweep.host.get("cpu", {}).get("is_virtual"):
        found.append(
            "The host is a virtual machine: other virtual machines may have used its CPUs, unseen."
        )
    return found


def _moved_cpus(sweep: Sweep) -> list[str]:
    """A caution if the distance between CPUs changed during the sweep.

    Empty if it did not change, or was not measured.
    """
    ns = pl.col("core_to_core_ns")
    away = (ns > FAR * ns.median()) | (ns < ns.median() / FAR)
    share, least, most, mostly = (
        sweep.trials.select(
            away.mean().alias("share"), ns.min().alias("least"), ns.max().alias("most"), ns.median()
        )
        .collect()
        .row(0)
    )
    if share is None or share < FEWEST_MOVED:
        return []
    told = (
        f"The latency between CPUs changed. The transfer of a cache line took {mostly:.0f} ns in the median, but far "
        f"more or less in {100 * share:.0f} % of the trials ({least:.0f} to {most:.0f} ns), as if a hypervisor moved "
        "the CPUs. The cost of shared data changes with it: programs that share much data have several typical times, "
        "and a branch can be faster at one latency and slower at another."
    )
    return [told]


def _cpu_share(sweep: Sweep) -> float | None:
    """CPU time over wall time of all single-threaded iterations together; None if none was recorded.

    Programs that report latencies wait for a clock or for requests, so they are idle by design and left out.
    """
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


def _design_cautions(analysis: Analysis) -> list[str]:
    found = []
    found += [] if analysis.sweep.machine else _coarse_clocks(analysis.sweep)
    if analysis.comparisons.height and not analysis.decisions.has_twin:
        found.append(
            "The baseline did not run a second time (no A/A control), so the noise is unknown and no branch is tested."
        )
    absent = [
        text
        for name, text in DEFINITIONS.items()
        if name not in set(analysis.speedups["definition"])
    ]
    if absent and analysis.speedups.height:
        pools_of_one = (pl.col("program") == PARALLEL) & (pl.col("threads") == 1)
        was_asked = analysis.sweep.trials.select(pools_of_one.any()).collect().item()
        reason = (
            "its reference has no good trial"
            if was_asked
            else "the sweep has no trial on one thread"
        )
        found.append(f"No speed-up {' or '.join(absent)}: {reason}.")
    if (
        analysis.sweep.baseline is not None
        and analysis.sweep.baseline not in analysis.times["branch"]
    ):
        found.append(
            f"The baseline {analysis.sweep.baseline} has no good trial, so nothing is compared."
        )
    if analysis.times.height and analysis.sweep.layouts == 1 and analysis.sweep.machine:
        found.append(
            "Each configuration ran with one seed, so the effect of chance is unknown and no branch is tested."
        )
    elif analysis.times.height and analysis.sweep.layouts == 1:
        found.append(
            "Each branch was built once. The link order of its code may change its speed by a few per cent, so no "
            "branch is tested; intervals of speed-ups and costs hold only for these builds."
        )
    return found


def _coarse_clocks(sweep: Sweep) -> list[str]:
    """A caution for each quantity whose clock has large steps, so that times take only a few values."""
    found = []
    # One number replaces the columns of the configuration, because every iteration carries it.
    numbered = sweep.trials.select("trial", *CELL).with_row_index("at")
    cells = numbered.select("trial", pl.col("at").first().over(CELL))
    readings = (
        sweep.iterations.select(
            "trial", "elapsed_ns", cpu_ns=pl.col("user_ns") + pl.col("system_ns")
        )
        .join(cells, on="trial")
        .drop("trial")
        .collect()
        .lazy()
    )
    workloads = sweep.trials.select("workload").with_row_index("at")
    for name, what in (("elapsed_ns", "wall time"), ("cpu_ns", "CPU time")):
        steps = (
            readings.select("at", name)
            .filter(pl.col(name) > 0)
            .group_by("at")
            .agg(
                pl.len().alias("readings"),
                pl.col(name).n_unique().alias("distinct"),
                (pl.col(name).unique().sort().diff().min() / pl.col(name).median()).alias("step"),
            )
            # A coarse clock shows equal readings; a fine clock hardly ever reads the same twice.
            .filter(
                (pl.col("readings") >= FEWEST_READINGS)
                & (pl.col("distinct") <= pl.col("readings") // 2)
            )
            .filter(pl.col("step").fill_null(1.0) >= COARSE)
            .join(workloads, on="at")
            .collect()
        )
        if steps.height:
            # Of equally coarse configurations, the text names the first of the sweep.
            order = pl.col("step").fill_null(1.0)
            worst = steps.sort(order, "at", descending=[True, False]).row(0, named=True)
            found.append(
                f"The clock of {what} is coarse: in {count(steps.height, 'configuration')} it shows few different times "
                f"(on {worst['workload']}, {worst['distinct']} in {worst['readings']} readings). Differences below its "
                "step cannot be found, and intervals there are too narrow."
            )
    return found
