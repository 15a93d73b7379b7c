"""The provenance of the tables of a sweep: the sweep, the host, the builds and the clock."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.errors import plain
from sweep_analysis.read.labels import count, ranges
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL

SHOWN = 12
"""Number of digits of a commit or a hash in a text."""


def provenance(sweep: Sweep) -> dict[str, Any]:
    """The provenance of a sweep's tables, by which a reader can check or repeat the tables; unknown facts are null."""
    trials = sweep.trials.select(
        "outcome", "freq_state", "program", "threads", "oversubscribed"
    ).collect()
    manifest, host = sweep.manifest, sweep.host
    checkout = manifest.get("checkout") or {}
    good = trials.filter(pl.col("outcome") == "ok")
    beyond = trials.filter(pl.col("oversubscribed") & (pl.col("program") == PARALLEL))["threads"]
    return {
        "sweep": manifest.get("name") or sweep.path.name,
        "simulated": sweep.machine,
        "created_at": manifest.get("created_at"),
        "commit": checkout.get("commit"),
        "has_uncommitted_changes": checkout.get("dirty"),
        "host": {
            "id": host.get("id") or manifest.get("host"),
            "cpu": (host.get("cpu") or {}).get("model_name"),
            "cpus_usable": host.get("cpus_usable"),
            "cores": host.get("cores"),
            "is_virtual": (host.get("cpu") or {}).get("is_virtual"),
            "kernel": (host.get("kernel") or {}).get("osrelease"),
        },
        "freq_state": dict(trials["freq_state"].value_counts(sort=True).rows()),
        "trials": {
            "good": good.height,
            "failed": trials.height - good.height,
            "counted": sweep.counted.select(pl.len()).collect().item(),
        },
        "threads_beyond_cpus": sorted(set(beyond)),
        "branches": [
            _branch(entry) for entry in manifest.get("branches") or [] if isinstance(entry, dict)
        ],
        "made_again_by": f"cargo runner analysis export {sweep.path.name} --output DIR",
    }


def kind_of_cpu(host: dict[str, Any], machine: str | None) -> str:
    """The name of one of a host's CPUs: `core` where each simulated core has one hardware thread, otherwise `CPU`."""
    return "core" if machine and host.get("cores") in (None, host.get("cpus_usable")) else "CPU"


def sentence(found: dict[str, Any], rows: int) -> str:
    """The provenance as a sentence for people, below a table of `rows` rows."""
    host = found["host"]
    kind = kind_of_cpu(host, found["simulated"])
    cpus = count(host["cpus_usable"], kind) if host["cpus_usable"] else "an unknown number of CPUs"
    beyond = ranges(found["threads_beyond_cpus"])
    states = ", ".join(found["freq_state"]) or "unknown"
    commit = str(found["commit"] or "unknown")[:SHOWN] + (
        " with changes" if found["has_uncommitted_changes"] else ""
    )
    trials = found["trials"]
    oversubscribed = (
        f"more threads than CPUs at {beyond}" if beyond else "no more threads than CPUs"
    )
    parts = [
        f"{count(rows, 'row')} from sweep {found['sweep']} (commit {commit})",
        f"{count(trials['good'], 'good trial')}, {trials['failed']} failed",
        f"{host['cpu'] or 'unknown CPU'} with {cpus}",
        f"clock {states}",
        *([] if found["simulated"] else [oversubscribed]),
    ]
    branches = ", ".join(f"{it['branch']} ({it['source']})" for it in found["branches"])
    return plain("; ".join(parts) + (f". Branches: {branches}." if branches else "."))


def _branch(entry: dict[str, Any]) -> dict[str, Any]:
    receipt = entry.get("receipt") or {}
    commit = receipt.get("commit") or {}
    source = entry.get("source") or {}
    words = [str(source.get("kind") or "unknown source")]
    words += [str(receipt["version"])] if receipt.get("version") else []
    words += [f"commit {str(commit['commit'])[:SHOWN]}"] if commit.get("commit") else []
    words += ["with changes"] if commit.get("dirty") else []
    return {
        "branch": entry.get("name"),
        "source": " ".join(words),
        "variant": receipt.get("variant"),
        "binary_sha256": receipt.get("binary_sha256"),
    }
