"""Writes the conditions under which the trials of a table ran."""

from __future__ import annotations

import textwrap
from typing import Any

import polars as pl

from sweep_analysis.read.load import Sweep

MUCH_STOLEN = 0.01
"""A trial counts as disturbed if the time that the hypervisor took from all CPUs exceeds this share of its wall time."""

_LABEL = 14
"""Width of the labels in characters."""


def conditions(sweep: Sweep) -> str:
    """Write one condition per line, with a label; long warnings are wrapped at 80 characters."""
    good = sweep.trials.filter(pl.col("outcome") == "ok").collect()
    if sweep.machine:
        machine = sweep.manifest["asked"]["machine"]
        told = {
            "simulated": f"{machine['name']}, {machine['title']}",
            "seeds": f"{sweep.manifest['asked']['trials']} of each branch",
            "frequency": _frequency(good),
        }
    else:
        told = _of_host(sweep, good)
    return "".join(f"{label + ':':<{_LABEL}}{what}\n" for label, what in told.items() if what)


def _of_host(sweep: Sweep, good: pl.DataFrame) -> dict[str, str]:
    settle = sweep.manifest.get("settle_ms")
    low, high = _ends(good["core_to_core_ns"])
    return {
        "warning": _warnings(sweep),
        "builds": "1 of each branch: it includes an unknown effect of link order"
        if sweep.layouts == 1
        else f"{sweep.layouts} of each branch",
        "settle gap": "not recorded" if settle is None else f"{settle} ms before each trial",
        "frequency": _frequency(good),
        "stolen time": _stolen(good),
        "heat": _in_trials(good, "throttles", "slowed CPUs down"),
        "CPU quota": _in_trials(good, "quota_throttled_ns", "was used up"),
        "core to core": "" if low is None else f"{low:.0f} to {high:.0f} ns for a cache line",
    }


def _warnings(sweep: Sweep) -> str:
    told = [
        warning for run in sweep.manifest.get("runs", []) for warning in run.get("warnings", [])
    ]
    lines = [line for text in told for line in textwrap.wrap(text, 80 - _LABEL)]
    return f"\n{'':{_LABEL}}".join(lines)


def _frequency(good: pl.DataFrame) -> str:
    states = good["freq_state"].cast(pl.String).value_counts().sort("freq_state")
    parts = [
        f"{state} in {number} trials"
        + (", because this host offers no control" if state == "uncontrolled" else "")
        for state, number in states.iter_rows()
    ]
    low, high = _ends(pl.concat([good["ghz_before"], good["ghz_after"]]))
    if low is not None:
        parts.append(f"{low:.2f} to {high:.2f} GHz measured")
    return f";\n{'':{_LABEL}}".join(parts)


def _ends(values: pl.Series) -> tuple[Any, Any]:
    return values.min(), values.max()


def _stolen(good: pl.DataFrame) -> str:
    stolen = good.drop_nulls("steal_ns")
    if stolen.is_empty():
        return "not reported by this host"
    many = stolen.filter(pl.col("steal_ns") > MUCH_STOLEN * pl.col("process_ns")).height
    if not many:
        return (
            f"at most {MUCH_STOLEN * 100:.0f} % of the wall time in each of {stolen.height} trials"
        )
    return (
        f"over {MUCH_STOLEN * 100:.0f} % of the wall time in {many} of {stolen.height} trials; "
        f"{int(stolen['steal_ns'].sum()) / 1e9:.1f} s in all"
    )


def _in_trials(good: pl.DataFrame, column: str, what: str) -> str:
    number = good.filter(pl.col(column) > 0).height
    return f"{what} in {number} of {good.height} trials" if number else ""
