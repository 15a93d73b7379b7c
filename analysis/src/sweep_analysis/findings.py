"""What a sweep says in words: which branches differ from the baseline, how sure that is, and what it cannot tell.

Report and notebooks show these sentences, so that no conclusion is typed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sweep_analysis.claims import check_claims
from sweep_analysis.clocks import clocks
from sweep_analysis.compare import FASTER, SLOWER, UNCLEAR, UNJUDGED, compare
from sweep_analysis.drift import Drift, drift, residuals
from sweep_analysis.events import event_rates, headline_rates, line_rates
from sweep_analysis.experiments import experiment_of
from sweep_analysis.frames import COMPARISONS
from sweep_analysis.labels import count, percent, with_panel
from sweep_analysis.latency import latencies
from sweep_analysis.load import Sweep
from sweep_analysis.scaling import scaling
from sweep_analysis.schema import PANEL, PARALLEL
from sweep_analysis.speedup import DEFINITIONS, speedups, trial_times

STUDY_THREADS = 32
"""Threads, each on a core of its own, up to which the 2022 study measured."""
ROBUST_TRIALS = 6
"""Fewest trials at which the range of a sample covers its median with at least 95 % (1 - 2**(1 - trials))."""
QUIET_CPU_SHARE = 0.97
"""CPU time over wall time of a single busy thread below which others must have had the CPU. On a quiet host it is 0.99
and more; a load average would not tell, because trials with more threads than CPUs raise it themselves."""
DRIFT_ALPHA = 0.01
"""A trend over the sweep is reported below this p-value."""


@dataclass(frozen=True)
class Analysis:
    """All frames of one sweep, each computed once.

    Attributes:
        sweep: what was read.
        times: rows of `frames.TIMES`.
        speedups: rows of `frames.SPEEDUPS`, all definitions.
        comparisons: rows of `frames.COMPARISONS`, all levels; empty without a baseline.
        failures: rows of `schema.TRIALS` whose outcome is not `ok`.
        events: rows of `frames.EVENT_RATES`; empty if nothing was counted.
        drawn_events: the same for what `events.HEADLINE` names.
        lines: rows of `frames.LINE_RATES`.
        uncounted: rows of `schema.TRIALS`: trials of instrumented builds that failed.
        cpu_comparisons: rows of `frames.COMPARISONS` by CPU time instead of wall time; empty if none was told.
        waits: rows of `frames.LATENCIES`.
        clocks: rows of `frames.CLOCKS`.
        residuals: rows of `frames.RESIDUALS`.
        trend: drift of the whole sweep; None with too few blocks.
        fits: rows of `frames.FITS`.
        fit_residuals: rows of `frames.RESIDUALS_OF_FITS`.
        claims: rows of `frames.CLAIMS`: what was claimed before the sweep, and what became of it.
    """

    sweep: Sweep
    times: pl.DataFrame
    speedups: pl.DataFrame
    comparisons: pl.DataFrame
    failures: pl.DataFrame
    events: pl.DataFrame
    drawn_events: pl.DataFrame
    lines: pl.DataFrame
    uncounted: pl.DataFrame
    cpu_comparisons: pl.DataFrame
    waits: pl.DataFrame
    clocks: pl.DataFrame
    residuals: pl.DataFrame
    trend: Drift | None
    fits: pl.DataFrame
    fit_residuals: pl.DataFrame
    claims: pl.DataFrame

    @property
    def cpus(self) -> int | None:
        """CPUs that the trials could use: as the host says, else the most threads not marked oversubscribed."""
        return usable_cpus(self.sweep, self.times)

    @property
    def definition(self) -> str | None:
        """The first definition of speed-up, in the order of `DEFINITIONS`, that has its reference; None: no data."""
        present = set(self.speedups["definition"])
        return next((name for name in DEFINITIONS if name in present), None)


def usable_cpus(sweep: Sweep, times: pl.DataFrame) -> int | None:
    """CPUs that the trials could use: as the host says, else the most threads not marked oversubscribed."""
    usable = sweep.host.get("cpus_usable")
    if isinstance(usable, int):
        return usable
    known = times.filter(pl.col("oversubscribed"))
    within = times.filter(~pl.col("oversubscribed"))["threads"].to_list()
    return max(within) if known.height and within else None


def analyse(sweep: Sweep, baseline: str | None = None) -> Analysis:
    """Compute everything that is shown; `baseline` replaces the one that the sweep names."""
    base = baseline or sweep.baseline
    times = trial_times(sweep).collect()
    compared = compare(times.lazy(), base) if base is not None else pl.DataFrame(schema=COMPARISONS)
    experiment = experiment_of(sweep)
    ignored = experiment.sequential_ignores if experiment else frozenset[str]()
    failed = pl.col("outcome") != "ok"
    fits, fit_residuals = scaling(times.lazy())
    spent = times["cpu_ns_per_unit"].sum() > 0  # the study's files tell no CPU time
    return Analysis(
        sweep,
        times,
        speedups(times.lazy(), base, ignored),
        compared,
        failures=sweep.trials.filter(failed).collect(),
        events=event_rates(sweep).collect(),
        drawn_events=headline_rates(sweep).collect(),
        lines=line_rates(sweep).collect(),
        uncounted=sweep.counted.filter(failed).collect(),
        cpu_comparisons=compare(times.lazy(), base, "cpu") if base is not None and spent else compared.clear(),
        waits=latencies(sweep).collect(),
        clocks=clocks(sweep).collect(),
        residuals=residuals(times.lazy()).collect(),
        trend=drift(times.lazy()),
        fits=fits,
        fit_residuals=fit_residuals,
        claims=check_claims(sweep, times.lazy()),
    )


def headline(analysis: Analysis) -> str:
    """One sentence on all workloads together: which branches differ from the baseline, or that none does."""
    baseline = analysis.sweep.baseline
    rows = analysis.comparisons.filter((pl.col("level") == "overall") & (pl.col("branch") != analysis.sweep.twin))
    if rows.is_empty() or (rows["verdict"] == UNJUDGED).all():
        return "Nothing can be said about the branches: see what cannot be concluded."
    claims = [
        f"{word} than {baseline}: {_changes(rows.filter(pl.col('verdict') == word))}"
        for word in (FASTER, SLOWER)
        if word in rows["verdict"]
    ]
    scope = f"Over {count(int(rows['cells'][0]), 'cell')} (workloads and thread counts) together"
    if not claims:
        return f"{scope}, no branch can be told from {baseline}."
    rest = f" The other branches cannot be told from {baseline}." if UNCLEAR in rows["verdict"] else ""
    return f"{scope}: {'; '.join(claims)}.{rest}"


def verdict_sentences(analysis: Analysis) -> list[str]:
    """One sentence per workload and verdict: which branches differ from the baseline there, and by how much."""
    rows = analysis.comparisons.filter(pl.col("branch") != analysis.sweep.twin)
    return _verdict_sentences(rows, analysis.sweep.baseline)


def plain_fork(sweep: Sweep) -> str | None:
    """The branch that is our scheduler with upstream's counters; None if it was not measured or is the baseline."""
    plain = [
        branch["name"]
        for branch in sweep.manifest.get("branches", [])
        if branch.get("source", {}).get("kind") == "fork" and set(branch["source"]["features"]) <= {"packed"}
    ]
    return plain[0] if plain and plain[0] in sweep.branches and sweep.baseline not in plain else None


def counter_sentences(analysis: Analysis) -> list[str]:
    """What the counters alone do, per workload: branches of the fork against the fork with upstream's counters.

    Against the baseline, every branch of the fork also shows what the rest of the scheduler does, alike in all.
    """
    plain = plain_fork(analysis.sweep)
    if plain is None:
        return []
    outside = [
        branch["name"]
        for branch in analysis.sweep.manifest["branches"]
        if branch.get("source", {}).get("kind") != "fork"
    ]
    rows = compare(analysis.times.lazy(), plain)
    return _verdict_sentences(rows.filter(~pl.col("branch").is_in([*outside, analysis.sweep.twin or ""])), plain)


def _verdict_sentences(comparisons: pl.DataFrame, baseline: str | None) -> list[str]:
    rows = with_panel(comparisons.filter(pl.col("level") == "workload"))
    sentences = []
    for part in rows.partition_by("panel", maintain_order=True):
        panel = part["panel"][0]
        claims = [
            f"{word} than {baseline}: {_changes(part.filter(pl.col('verdict') == word))}"
            for word in (FASTER, SLOWER)
            if word in part["verdict"]
        ]
        unclear = part.filter(pl.col("verdict") == UNCLEAR).height
        if unclear:
            claims.append(f"{count(unclear, 'branch', 'branches')} not distinguishable")
        unjudged = part.filter(pl.col("verdict") == UNJUDGED).height
        if unjudged:
            claims.append(f"{count(unjudged, 'branch', 'branches')} not judged")
        sentences.append(f"{panel}: {'; '.join(claims)}.")
    return sentences


def noise_sentences(analysis: Analysis) -> list[str]:
    """How large a difference has to be before it means anything, per workload."""
    twin = analysis.sweep.twin
    cells = with_panel(analysis.comparisons.filter(pl.col("level") == "cell"))
    sentences = []
    for part in cells.partition_by("panel", maintain_order=True):
        bands = part["band"].drop_nulls()
        others = part.filter(pl.col("branch") != twin)["detectable"].drop_nulls().median()
        if bands.is_empty() or not isinstance(others, float):
            sentences.append(f"{part['panel'][0]}: the noise is unknown.")
            continue
        sentences.append(
            f"{part['panel'][0]}: one build against itself differs by up to {(_largest(bands) - 1) * 100:.1f} % at one "
            f"thread count; a true difference there must be about {(others - 1) * 100:.1f} % to be found."
        )
    return sentences


def cautions(analysis: Analysis) -> list[str]:
    """What cannot be concluded from this sweep, and why: read before any figure is quoted."""
    found = [*analysis.sweep.notes]
    planned = analysis.sweep.manifest.get("trials_planned")
    counted = analysis.sweep.counted.select(pl.len()).collect().item()
    recorded = analysis.times.height + analysis.failures.height + counted
    if isinstance(planned, int) and recorded < planned:
        found.append(
            f"The sweep is not finished: {recorded} of {count(planned, 'planned trial')} are recorded. "
            "`cargo runner sweep --resume` runs the rest."
        )
    found += _host_cautions(analysis)
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


def _host_cautions(analysis: Analysis) -> list[str]:
    states = set(analysis.sweep.trials.select("freq_state").collect()["freq_state"])
    cpus = analysis.cpus
    threads = analysis.times.filter(pl.col("program") == PARALLEL)["threads"].to_list()
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
            "threads crowd, not how they scale."
        )
    if cpus is not None and cpus < STUDY_THREADS:
        found.append(
            f"The 2022 study had a core for each of {STUDY_THREADS} threads. What it found at many threads can be "
            f"neither confirmed nor refuted on {count(cpus, 'CPU')}."
        )
    share = _cpu_share(analysis.sweep)
    if share is not None and share < QUIET_CPU_SHARE:
        found.append(
            f"The host was busy with other work: programs with a single thread got only {share * 100:.0f} % of a CPU. "
            "Such a sweep shows that the tool works, not which branch is better."
        )
    trend = analysis.trend
    if trend is not None and trend.p_value < DRIFT_ALPHA:
        word = "rose" if trend.ratio > 1 else "fell"
        found.append(
            f"Times {word} by {abs(trend.ratio - 1) * 100:.0f} % from the first block to the last. Branches are "
            "compared within blocks and hardly suffer; speed-ups compare blocks and do."
        )
    if analysis.sweep.host.get("cpu", {}).get("is_virtual"):
        found.append("The host is a virtual machine: neighbours that cannot be seen may have taken time.")
    return found


def _cpu_share(sweep: Sweep) -> float | None:
    """CPU time over wall time of all single-threaded iterations together; None if none was told.

    Programs that wait for a clock or for requests, and tell how long, are idle by design and left out.
    """
    waiting = sweep.metrics.filter(pl.col("metric").str.starts_with("latency_")).join(sweep.trials, on="trial")
    alone = (
        sweep.trials.filter(pl.col("threads") == 1)
        .join(waiting.select("workload").unique(), on="workload", how="anti")
        .select("trial")
    )
    spent = (pl.col("user_ns") + pl.col("system_ns")).sum()
    share = sweep.iterations.join(alone, on="trial", how="semi").select(spent / pl.col("elapsed_ns").sum())
    value: float | None = share.collect().item()
    return value if value and value > 0 else None


def _design_cautions(analysis: Analysis) -> list[str]:
    found = []
    trials = analysis.times.group_by([*PANEL, "program", "threads", "branch"]).len()["len"]
    if not trials.is_empty() and _largest(trials) < ROBUST_TRIALS:
        fewest = int(_largest(trials))
        found.append(
            f"Cells have at most {count(fewest, 'trial')}, so the interval of one cell covers the truth with at most "
            f"{100 * (1 - 2.0 ** (1 - fewest)):.0f} %, not 95 %. Whole workloads pool more trials."
        )
    if analysis.comparisons.height and analysis.comparisons["band"].is_null().all():
        found.append(
            "The baseline did not run a second time (no A/A twin), so the noise is unknown and no verdict is given."
        )
    absent = [text for name, text in DEFINITIONS.items() if name not in set(analysis.speedups["definition"])]
    if absent and analysis.speedups.height:
        found.append(f"No speed-up {' or '.join(absent)}: its reference has no good trial.")
    if analysis.sweep.baseline is not None and analysis.sweep.baseline not in analysis.times["branch"]:
        found.append(f"The baseline {analysis.sweep.baseline} has no good trial, so nothing is compared.")
    if analysis.times.height and analysis.sweep.layouts == 1:
        found.append(
            "Each branch was built once. A branch may owe a few per cent to where its code happens to lie in memory."
        )
    return found


def _largest(values: pl.Series) -> float:
    largest: Any = values.max()
    return float(largest)


def _changes(rows: pl.DataFrame) -> str:
    """Each branch with its change of time and the interval, the fastest first."""
    names = ("branch", "time_ratio", "ratio_low", "ratio_high")
    return ", ".join(
        f"{branch} {percent(ratio)} time ({percent(low)} to {percent(high)})"
        for branch, ratio, low, high in rows.sort("time_ratio").select(names).rows()
    )
