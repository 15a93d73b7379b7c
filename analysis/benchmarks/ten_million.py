"""Times the analysis of a made-up sweep of ten million iterations: decode, keep, read back, reduce, compare.

Run in `analysis/`: `PYTHONPATH=src:tests python benchmarks/ten_million.py`; `--help` tells of smaller sizes. It needs
1.5 GB of disk for the sweep and what is kept of it. Each step runs in a process of its own and reports its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.compare import compare
from sweep_analysis.stats.speedup import speedups, trial_times

ITERATIONS_PER_TRIAL = 100
TRIALS_PER_CELL = 11
WORKLOADS = 100
THREADS = [1, 2, 4, 8, 16, 32, 64, 128]

STEPS = {
    "first": "first reading: decode, check, keep as Parquet; reduce and compare",
    "again": "later readings: read what was kept; reduce and compare",
    "speedups": "the same, and speed-ups with intervals by three definitions",
}


def write(folder: Path, wanted: int) -> int:
    """Write a sweep of about `wanted` iterations; returns their number."""
    per_cell_set = len(made_up.STUDY_BRANCHES) + 1
    cells = wanted // (ITERATIONS_PER_TRIAL * TRIALS_PER_CELL)
    workloads = max(1, min(WORKLOADS, cells // (per_cell_set * len(THREADS))))
    trials = max(1, round(wanted / (ITERATIONS_PER_TRIAL * workloads * len(THREADS) * per_cell_set)))
    truth = made_up.Truth(
        workloads={f"w{number}": 0.1 for number in range(workloads)},
        threads=THREADS,
        cpus=64,
        trials=trials,
        iterations=2,  # the rest is written below: the same noise, without a dictionary for each
    )
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(made_up.manifest(folder.name, truth)))
    (folder / "host.json").write_text(json.dumps(made_up.host(truth)))
    rng = np.random.default_rng(1)
    written = 0
    with (folder / "trials.jsonl").open("w") as file:
        for record in made_up.records(truth):
            times = record["iterations"][0]["elapsed_ns"] * np.exp(rng.normal(0, 0.005, ITERATIONS_PER_TRIAL))
            busy = record["iterations"][0]["user_ns"] // record["iterations"][0]["elapsed_ns"]
            record["iterations"] = [
                {"elapsed_ns": it, "user_ns": it * busy, "system_ns": 0, "work_units": 1000}
                for it in times.astype(int).tolist()
            ]
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            written += ITERATIONS_PER_TRIAL
    return written


def step(name: str, folder: Path, place: Path) -> None:
    """Do one of `STEPS` and print seconds of its parts and the peak of memory, as JSON."""
    seconds = {}
    begin = time.perf_counter()
    sweep = read_sweep(folder, place)
    seconds["load"] = time.perf_counter() - begin
    begin = time.perf_counter()
    times = trial_times(sweep).collect()
    seconds["reduce"] = time.perf_counter() - begin
    begin = time.perf_counter()
    rows = compare(times.lazy(), "master").height
    seconds["compare"] = time.perf_counter() - begin
    if name == "speedups":
        begin = time.perf_counter()
        rows += speedups(times.lazy(), "master").height
        seconds["speed-ups"] = time.perf_counter() - begin
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": usage.ru_utime + usage.ru_stime,
                "gib": usage.ru_maxrss / 2**20,
                "trials": times.height,
                "rows": rows,
            }
        )
    )


def main() -> None:
    """Write the sweep, run every step in a fresh process, print a table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where the sweep is written; default: a temporary folder")
    parser.add_argument("--step", nargs=2, metavar=("STEP", "SWEEP"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        step(asked.step[0], Path(asked.step[1]), Path(asked.step[1]).parent / "kept")
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        sweep = Path(folder) / "sweep"
        written = write(sweep, asked.iterations)
        size = (sweep / "trials.jsonl").stat().st_size / 1e9
        print(f"{written} iterations, {size:.2f} GB of JSON, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
        print("| step | seconds (wall) | of CPU | peak memory |\n|---|---|---:|---:|")
        for name, text in STEPS.items():
            command = [sys.executable, __file__, "--step", name, str(sweep)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
            parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in found["seconds"].items())
            total = sum(found["seconds"].values())
            print(f"| {text} | {total:.1f} ({parts}) | {found['cpu']:.1f} | {found['gib']:.2f} GiB |")


if __name__ == "__main__":
    main()
