"""Limits of the conclusions from a sweep, with reasons: read them before you quote a number.

Some cautions void the whole sweep. `voids` returns these alone, and every verdict shows them.
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
"""Threads, each on a core of its own, up to which the 2022 study measured."""
COARSE = 0.005
"""Step of a clock, relative to what it measured, from which the reader is warned: small changes need a fine one."""
FEWEST_READINGS = 10
"""Readings of one cell from which on their steps say something about the clock."""
QUIET_CPU_SHARE = 0.97
"""CPU time over wall time of a single busy thread below which others must have had the CPU. On a quiet host it is 0.99
and more. A load average would not tell, because trials with more threads than CPUs raise it themselves."""
MOST_LOST = 0.1
"""Share of CPU time that others took from which on a sweep is void. A guess: on quiet hosts a hundredth is lost, and
the changes that are looked for are a few hundredths."""
FAR = 1.3
"""How many times as far from each other as mostly CPUs must be, or as near, for a trial to count as one at another
distance. Where the CPUs stay in place, nearly all trials are within a few per cent."""
FEWEST_MOVED = 0.02
"""Share of such trials from which the reader is warned: an interrupt may spoil a measurement now and then."""
DRIFT_ALPHA = 0.01
"""A trend over the sweep is reported below this p-value."""


def voids(sweep: Sweep) -> list[str]:
    """The cautions that void a sweep, whatever its verdicts are, a sentence or two each.

    Empty if it may be tested.
    """
    if sweep.machine:
        return []  # what else the host does changes no virtual time
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
    # Time is stolen from each CPU; a quota stops all threads at once.
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
            f"{analysis.failures.height} of {count(total, 'trial')} failed ({shown}). Failed trials have no times; "
            "what remains may be the lucky ones."
        )
    if analysis.uncounted.height:
        reasons = ", ".join(sorted(set(analysis.uncounted["outcome"])))
        found.append(
            f"{analysis.uncounted.height} of {count(counted, 'counted trial')} failed ({reasons}); nothing "
            "of theirs is in the counts."
        )
    return found


def simulated_caution(machine: str) -> str:
    """The caution that every simulated sweep has."""
    return (
        f"Simulated: nothing here was measured on such a machine. The cost of each access is in "
        f"`machines/{machine}.toml`, with its source. Costs are not exact: no "
        f"difference under {LEAST_SIMULATED * 100:.0f} % is called one. Trust ranks and crossovers before magnitudes."
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
            f"The CPU frequency was not held still ({reason}): clocks that fall as more CPUs work flatten every "
            "curve. Branches are compared within a block, so the ratios suffer less than the curves."
        )
    if cpus is not None and threads and max(threads) > cpus:
        found.append(
            f"The host has {count(cpus, 'CPU')}. Points with more threads (shaded) show how branches behave when "
            "oversubscribed, not how they scale."
        )
    # A user who compares their own tree asks about that tree and not about the study.
    is_of_study = not analysis.sweep.manifest.get("is_ad_hoc", False)
    if is_of_study and cpus is not None and cpus < STUDY_THREADS:
        found.append(
            f"The 2022 study had a core for each of {STUDY_THREADS} threads. Its results at many threads can be "
            f"neither confirmed nor falsified on {count(cpus, 'CPU')}."
        )
    share = _cpu_share(analysis.sweep)
    if share is not None and 1 - MOST_LOST <= share < QUIET_CPU_SHARE:
        found.append(
            f"The host did some other work: programs with a single thread got only {share * 100:.0f} % of a CPU. That "
            "adds noise to every number."
        )
    trend = analysis.trend
    if trend is not None and trend.p_value < DRIFT_ALPHA:
        word = "rose" if trend.ratio > 1 else "fell"
        found.append(
            f"Times {word} by {abs(trend.ratio - 1) * 100:.0f} % from the first block to the last. Branches are "
            "compared within blocks and hardly suffer; speed-ups compare blocks and do."
        )
    found += _moved_cpus(analysis.sweep)
    if analysis.sweep.host.get("cpu", {}).get("is_virtual"):
        found.append(
            "The host is a virtual machine: neighbours that cannot be seen may have taken time."
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
        f"The CPUs were not always equally far from each other: a cache line took {mostly:.0f} ns to get from one to "
        f"another, but in {100 * share:.0f} % of the trials more or less ({least:.0f} to {most:.0f} ns), as happens "
        "where a hypervisor moves them. Shared data costs that much more or less: loads that share much "
        "have several typical times, and a branch can be ahead at one distance and behind at another."
    )
    return [told]


def _cpu_share(sweep: Sweep) -> float | None:
    """CPU time over wall time of all single-threaded iterations together.

    None if none was recorded.

    Programs that wait for a clock or for requests, and tell how long, are idle by design and left
    out.
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
            "The baseline did not run a second time (no A/A control), so the noise is unknown and no verdict is given."
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
        found.append("Each cell ran with one seed, so chance is unknown and no branch is tested.")
    elif analysis.times.height and analysis.sweep.layouts == 1:
        found.append(
            "Each branch was built once. A branch may owe a few per cent to where its code happens to lie in memory, "
            "so no branch is tested; intervals of speed-ups and costs hold for these very builds."
        )
    return found


def _coarse_clocks(sweep: Sweep) -> list[str]:
    """Where times take only a few values, because the clock counts in large steps.

    Empty if none does.
    """
    found = []
    # One number stands for the cell, as it comes to stand beside every iteration.
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
            # Equal readings are what a coarse clock shows; a fine one never reads the same twice.
            .filter(
                (pl.col("readings") >= FEWEST_READINGS)
                & (pl.col("distinct") <= pl.col("readings") // 2)
            )
            .filter(pl.col("step").fill_null(1.0) >= COARSE)
            .join(workloads, on="at")
            .collect()
        )
        if steps.height:
            # Of equally coarse cells the first of the sweep is told.
            order = pl.col("step").fill_null(1.0)
            worst = steps.sort(order, "at", descending=[True, False]).row(0, named=True)
            found.append(
                f"The clock of {what} is coarse: in {count(steps.height, 'cell')} it shows few different times (on "
                f"{worst['workload']}, {worst['distinct']} in {worst['readings']} readings). Differences below its "
                "step cannot be seen, and intervals there are too narrow."
            )
    return found
