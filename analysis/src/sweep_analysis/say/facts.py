"""Writes the facts about the host and the trials that every page and notebook shows at the top."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import count, ranges
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.provenance import kind_of_cpu
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.analysis import Analysis


def facts(analysis: Analysis) -> dict[str, str]:
    """The facts about the host and the trials, the most important fact first."""
    sweep = analysis.sweep
    of_pool = analysis.times.lazy().filter(pl.col("program") == PARALLEL)
    pool = of_pool.select("threads", "branch").unique().collect()
    states = sorted(sweep.trials.select(pl.col("freq_state").unique()).collect()["freq_state"])
    trials = set(sweep.events.select("trial").collect()["trial"])
    counted = f"; {len(trials)} counted, not timed" if trials else ""
    checkout: dict[str, Any] = sweep.manifest.get("checkout", {})
    commit = str(checkout.get("commit") or "unknown")[:12]
    kernel = str(sweep.host.get("kernel", {}).get("osrelease") or "unknown")
    where = (
        {"Machine": host(analysis)} if sweep.machine else {"Host": host(analysis), "Kernel": kernel}
    )
    return {
        **where,
        "CPU frequency": ", ".join(states),
        "Threads": ranges(pool["threads"].to_list()) or "none",
        "Branches": count(len(set(pool["branch"]) - {sweep.twin}), "branch", "branches")
        + (f" and the A/A control {sweep.twin}" if sweep.twin in pool["branch"] else "")
        + (f", in {sweep.layouts} {sweep.replicates.unit}s each" if sweep.layouts > 1 else ""),
        "Trials": f"{analysis.times.height} good, {analysis.failures.height} failed" + counted,
        "Recorded": str(sweep.manifest.get("created_at", "unknown"))[:19].replace("T", " ")
        + " UTC",
        "Commit": commit + (", with uncommitted changes" if checkout.get("dirty") else ""),
    }


def host(analysis: Analysis) -> str:
    """The machine in a few words."""
    sweep = analysis.sweep
    cpu: dict[str, Any] = sweep.host.get("cpu", {})
    model = cpu.get("model_name") or "unknown CPU"
    kind = kind_of_cpu(sweep.host, sweep.machine)
    number = (
        count(analysis.cpus, kind if sweep.machine else f"usable {kind}")
        if analysis.cpus
        else "CPUs unknown"
    )
    return f"{model}, {number}" + (", virtual machine" if cpu.get("is_virtual") else "")


def hypotheses(sweep: Sweep) -> dict[str, str]:
    """The expectation that the author of each branch had before the sweep, by branch."""
    entries = [entry for entry in sweep.manifest.get("branches", []) if isinstance(entry, dict)]
    return {entry["name"]: str(entry["hypothesis"]) for entry in entries if entry.get("hypothesis")}
