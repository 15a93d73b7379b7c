"""Writes synthetic sweeps with known truth in the format that the runner writes.

These sweeps have no measurements. Every number follows from a `Truth`, so a test can check whether the
analysis finds it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.load import Sweep, read_sweep

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STUDY_BRANCHES = [
    "master",
    "packed",
    "packed-cache-padded",
    "split-counters",
    "split-counters-cache-padded",
    "split-counters-sleepers-only-cache-padded",
    "split-counters-no-jec",
    "split-counters-no-jec-cache-padded",
    "split-counters-no-jec-sleepers-only",
    "split-counters-no-jec-sleepers-only-cache-padded",
]


NOMINAL_GHZ = 3.0
"""Clock at which a trial takes the time that `Truth.time_ns` says."""

COUNTED_UNITS = 2000


QUIET: dict[str, Any] = dict.fromkeys(("trial_noise", "iteration_noise", "block_noise"), 0.0)


@dataclass
class Truth:
    """The known truth of a synthetic sweep.

    Attributes:
        branches: names, the baseline first.
        workloads: serial fraction (Amdahl) of each workload by its name.
        threads: thread counts.
        cpus: CPUs of the synthetic host; more threads give no more speed.
        trials: trials of each configuration.
        iterations: timed iterations of each trial.
        effects: factor on the time of (branch, workload); 1 if absent.
        trial_noise, iteration_noise: standard deviation of the log-time of a trial, and of an iteration in it.
        block_noise: standard deviation of the log-time that all trials of a block share.
        drift: log-time gained from the first to the last trial of the sweep.
        layouts: number of builds of each branch, between which trials alternate; None: one per trial.
        twin: whether the baseline runs a second time.
        sequential: whether the sequential program runs; an iteration takes `sequential_ns`.
        fails: whether the trial of (branch, workload, threads, replicate) fails, and how.
        state: factor on the time of the trial of (branch, workload, threads, replicate).
        work_units: function from an iteration's elapsed time to its units of work; `None` means always 1000.
        counts: events that one worker of a branch counts in its first counted trial; trial n counts n times
            as many. In the first trial all external threads together count each event once. A branch that
            is absent here has no counted trials.
        counted_trials: number of counted trials of each configuration.
        features: features of the fork by the name of a branch.
        machine: name of the simulated machine, of `cpus` cores; None if the host was measured.
        spent: shares of the cores' time by activity, in trials of the pool on a simulated machine.
        waits: entries of `trials.jsonl` for source lines that waited, in the first trial of a
            branch; trial n waits n times as long.
        modes: clock in GHz by threads, for each frequency mode; work takes the same cycles at any
            clock. A thread count that is absent here has no measured clock, and runs at the nominal clock.
        pinned: factor on the time of each workload's pool when its workers are pinned, 1 if absent;
            `None` if no trial is pinned.
        waits_ns: metrics in ns that the first trial of a branch reports in addition to its time, by name;
            trial n reports n times as much.
        cpu_share: CPU time over wall time of each busy thread.
        seed: seed of the noise.
    """

    branches: list[str] = field(default_factory=lambda: list(STUDY_BRANCHES))
    workloads: dict[str, float] = field(
        default_factory=lambda: {"quicksort": 0.2, "tsp": 0.05, "packets": 0.1}
    )
    threads: list[int] = field(default_factory=lambda: [1, 2, 4, 8])
    cpus: int = 4
    trials: int = 5
    iterations: int = 3
    effects: dict[tuple[str, str], float] = field(default_factory=dict)
    trial_noise: float = 0.01
    iteration_noise: float = 0.005
    block_noise: float = 0.03
    drift: float = 0.0
    layouts: int | None = None
    twin: bool = True
    sequential: bool = True
    sequential_ns: float = 50e6
    fails: Callable[[str, str, int, int], str | None] = lambda *_: None
    state: Callable[[str, str, int, int], float] = lambda *_: 1.0
    work_units: Callable[[int], int] | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    counted_trials: int = 3
    features: dict[str, list[str]] = field(default_factory=dict)
    machine: str | None = None
    spent: dict[str, float] = field(default_factory=lambda: {"work": 0.75, "lines": 0.25})
    waits: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    modes: dict[str, dict[int, float]] = field(default_factory=lambda: {"dynamic": {}})
    pinned: dict[str, float] | None = None
    waits_ns: dict[str, dict[str, float]] = field(default_factory=dict)
    cpu_share: float = 1.0
    seed: int = 7

    @property
    def builds(self) -> int:
        """Number of builds of each branch."""
        return self.trials if self.layouts is None else self.layouts

    def time_ns(self, branch: str, workload: str, threads: int) -> float:
        """True time of an iteration of the parallel program in ns; the pool itself costs 10 %."""
        serial = self.workloads[workload]
        share = serial + (1 - serial) / min(threads, self.cpus)
        name = branch.removesuffix("-again")
        return 1.1 * self.sequential_ns * share * self.effects.get((name, workload), 1.0)

    def speedup(self, branch: str, workload: str, threads: int) -> float:
        """True speed-up against the sequential program."""
        return self.sequential_ns / self.time_ns(branch, workload, threads)


def write_sweep(
    folder: Path, truth: Truth, change: Callable[[dict[str, Any]], object] = lambda _: None
) -> Path:
    """Write the sweep of `truth` into `folder`, after applying `change` to each record; returns `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest(folder.name, truth), indent=2))
    (folder / "host.json").write_text(json.dumps(host(truth), indent=2))
    lines = records(truth)
    for record in lines:
        change(record)
    (folder / "trials.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    return folder


_FOLDER = tempfile.TemporaryDirectory(prefix="synthetic-")
_MADE: dict[str, tuple[Truth, Sweep]] = {}
"""Sweeps by the text of their truth, which has addresses of functions. The truth is kept alive, so that no new function
gets one of these addresses."""


def swept(truth: Truth, change: Callable[[dict[str, Any]], object] | None = None) -> Sweep:
    """The sweep of `truth`, written and read once in a run of the tests; tests must not change it.

    With `change`, which is applied to each record, the sweep is written again.
    """
    if change is None and repr(truth) in _MADE:
        return _MADE[repr(truth)][1]
    folder = write_sweep(
        Path(tempfile.mkdtemp(dir=_FOLDER.name)) / "sweep", truth, change or (lambda _: None)
    )
    sweep = read_sweep(folder)
    if change is None:
        _MADE[repr(truth)] = truth, sweep
    return sweep


def with_manifest(sweep: Sweep, **fields: object) -> Sweep:
    return replace(sweep, manifest=sweep.manifest | fields)


def with_schema(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The columns of `schema`; a column that the frame lacks is null."""
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
    )


def compressed(lines: bytes) -> bytes:
    return zstd.compress(lines, options={zstd.CompressionParameter.checksum_flag: 1})


def pack(folder: Path) -> Path:
    """Compress the records of a sweep, as the runner does when the sweep ends; returns the compressed file."""
    plain, packed = folder / "trials.jsonl", folder / "trials.jsonl.zst"
    packed.write_bytes(compressed(plain.read_bytes()))
    plain.unlink()
    return packed


def manifest(name: str, truth: Truth) -> dict[str, Any]:
    baseline = truth.branches[0]
    return {
        "schema": 1,
        "name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "checkout": {"commit": "0" * 40, "dirty": False},
        "command_line": ["sweep"],
        "asked": {
            "baseline": baseline,
            "branches": truth.branches,
            "twin": truth.twin,
            "workloads": [
                {"workload": name, "size": "small", "parameters": {"n": "1000"}}
                for name in truth.workloads
            ],
            "modes": list(truth.modes),
            "placements": ["free"] if truth.pinned is None else ["free", "pinned"],
            "threads": truth.threads,
            "trials": truth.trials,
            "seed": truth.seed,
            "layouts": truth.builds,
            **({"machine": _machine(truth)} if truth.machine else {}),
        },
        "branches": [
            {
                "name": branch,
                "baseline": branch == baseline,
                "hypothesis": f"what {branch} was expected to do",
                **(
                    {"source": {"kind": "fork", "features": truth.features[branch]}}
                    if branch in truth.features
                    else {}
                ),
            }
            for branch in truth.branches
        ],
        "twin": f"{baseline}-again" if truth.twin else None,
        "trials_planned": truth.trials
        * len(truth.modes)
        * (1 if truth.pinned is None else 2)
        * len(truth.workloads)
        * (len(truth.threads) * (len(truth.branches) + truth.twin) + truth.sequential)
        + truth.counted_trials * len(truth.workloads) * len(truth.threads) * len(truth.counts),
    }


def host(truth: Truth) -> dict[str, Any]:
    return {
        "id": "synthetic",
        "cpus_usable": truth.cpus,
        "cores": truth.cpus,
        "cpu": {"model_name": "Made-up CPU", "is_virtual": True},
        "kernel": {"osrelease": "0.0.0"},
        **({"simulated": _machine(truth)} if truth.machine else {}),
    }


def _machine(truth: Truth) -> dict[str, Any]:
    return {
        "name": truth.machine,
        "title": "synthetic",
        "cores": truth.cpus,
        "sha256": "0" * 64,
        "charges_ns": {},
    }


def _simulated(truth: Truth, place: dict[str, Any], times: list[int]) -> dict[str, Any]:
    is_pool = place["program"] == "parallel"
    total = sum(times) * place["threads"]
    waits = truth.waits.get(place["branch"], []) if is_pool else []
    factor = place["replicate"] + 1
    return {
        "accesses": 1000,
        "spent_ns": {
            name: round(total * share) if is_pool else 0 for name, share in truth.spent.items()
        },
        "waits": [
            it | {name: it[name] * factor for name in ("transfers", "waited_ns")} for it in waits
        ],
    }


def records(truth: Truth) -> list[dict[str, Any]]:
    """All lines of `trials.jsonl`, in the order of measurement.

    Lines are sorted by replicate, then by configuration set; the branches are in random order.
    """
    rng = np.random.default_rng(truth.seed)
    baseline = truth.branches[0]
    visits = [
        (replicate, mode, placement, workload, threads, program)
        for replicate in range(truth.trials)
        for mode in truth.modes
        for placement in (["free"] if truth.pinned is None else ["free", "pinned"])
        for workload in truth.workloads
        for program, threads in [
            *([("sequential", 1)] if truth.sequential else []),
            *(("parallel", threads) for threads in truth.threads),
        ]
    ]
    lines = []
    for block, (replicate, mode, placement, workload, threads, program) in enumerate(visits):
        shared = rng.normal(0, truth.block_noise)
        contestants = [*truth.branches, *([f"{baseline}-again"] if truth.twin else [])]
        if program == "sequential":
            contestants = [baseline]
        for position, branch in enumerate(rng.permutation(contestants).tolist()):
            true_ns, failure = truth.sequential_ns, None
            if program == "parallel":
                trial = (branch, workload, threads, replicate)
                true_ns = truth.time_ns(branch, workload, threads) * truth.state(*trial)
                failure = truth.fails(*trial)
                if placement == "pinned":
                    true_ns *= (truth.pinned or {}).get(workload, 1.0)
            drift = truth.drift * (block + position / len(contestants)) / len(visits)
            slowness = NOMINAL_GHZ / truth.modes[mode].get(threads, NOMINAL_GHZ)
            noise = rng.normal(0, truth.trial_noise)
            log_ns = np.log(true_ns * slowness) + shared + drift + noise
            times = np.exp(log_ns + rng.normal(0, truth.iteration_noise, truth.iterations))
            place = {
                "replicate": replicate,
                "block": block,
                "position": position,
                "branch": branch,
                "program": program,
                "workload": workload,
                "threads": threads,
                "mode": mode,
                **({} if truth.pinned is None else {"placement": placement}),
            }
            done = [] if failure else times.round().astype(int).tolist()
            lines.append(_record(truth, place, done, failure))
    return lines + counted_records(truth, len(visits))


def counted_records(truth: Truth, first_block: int) -> list[dict[str, Any]]:
    """Lines of instrumented builds, which come after all other lines, and have counts and no times."""
    visits = [
        (replicate, workload, threads)
        for replicate in range(truth.counted_trials if truth.counts else 0)
        for workload in truth.workloads
        for threads in truth.threads
    ]
    lines = []
    for block, (replicate, workload, threads) in enumerate(visits, start=first_block):
        for position, (branch, counts) in enumerate(truth.counts.items()):
            place = {
                "replicate": replicate,
                "block": block,
                "position": position,
                "branch": f"{branch}-instrumented",
                "program": "parallel",
                "workload": workload,
                "threads": threads,
                "mode": next(iter(truth.modes)),
            }
            failure = truth.fails(f"{branch}-instrumented", workload, threads, replicate)
            events = {
                "iterations": truth.iterations,
                "work_units": COUNTED_UNITS,
                "workers": [{name: number * (replicate + 1) for name, number in counts.items()}]
                * threads,
                "outside": dict.fromkeys(counts, replicate + 1),
            }
            record = _record(truth, place, [], failure)
            lines.append(
                record | {"warmup": []} | ({} if failure else {"usage": None, "events": events})
            )
    return lines


def _record(
    truth: Truth, place: dict[str, Any], times: list[int], failure: str | None
) -> dict[str, Any]:
    cell = "-".join(
        str(place[name]) for name in ("branch", "program", "workload", "threads", "mode")
    )
    cell += "-pinned" if place.get("placement") == "pinned" else ""
    waits = (
        {}
        if failure or place["program"] == "sequential"
        else truth.waits_ns.get(place["branch"], {})
    )
    ghz = truth.modes[place["mode"]].get(place["threads"])
    busy = min(place["threads"], truth.cpus)
    iterations = [
        {
            "elapsed_ns": elapsed,
            "user_ns": round(elapsed * busy * truth.cpu_share),
            "system_ns": 0,
            "work_units": truth.work_units(elapsed) if truth.work_units else 1000,
        }
        for elapsed in times
    ]
    return {
        "schema": 1,
        "trial": f"{cell}-{place['replicate']}",
        "cell": cell,
        **place,
        "layout": place["replicate"] % truth.builds + 1 if truth.builds > 1 else None,
        "size": "small",
        "parameters": {"n": "1000"},
        "input": None,
        "freq_state": "fixed-verified" if place["mode"] == "fixed" else "uncontrolled",
        "oversubscribed": place["threads"] > truth.cpus,
        "seed": truth.seed,
        "started_at": "2026-01-01T00:00:00Z",
        "process_ns": sum(times) + 1_000_000,
        "outcome": failure or "ok",
        "reason": f"synthetic: {failure}" if failure else None,
        "stderr_tail": None,
        "variant": None if failure else "synthetic",
        "answer": None if failure else "42",
        "work_unit": None if failure else "elements",
        "warmup": iterations[:1],
        "iterations": iterations,
        "usage": None
        if failure
        else {
            "max_rss_bytes": 1 << 20,
            "voluntary_switches": 1,
            "involuntary_switches": 2,
            "minor_faults": 3,
            "major_faults": 0,
        },
        "metrics": {
            name: {"value": ns * (place["replicate"] + 1), "unit": "ns"}
            for name, ns in waits.items()
        },
        "load_before": 0.1,
        "steal_ns": 0,
        "ghz_before": ghz,
        "ghz_after": ghz,
        **({"simulated": _simulated(truth, place, times)} if truth.machine and not failure else {}),
    }
