"""Prints how often intervals cover and verdicts err, on made-up sweeps; the table in `analysis/README.md` is from here.

Run in `analysis/`: `PYTHONPATH=src:tests python tests/rates.py`. Takes a few minutes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import made_up
from sweep_analysis.bootstrap import Floats
from sweep_analysis.compare import FASTER, SLOWER, compare
from sweep_analysis.load import read_sweep
from sweep_analysis.modes import several_modes
from sweep_analysis.speedup import speedups, trial_times

CELLS = 1000
SWEEPS = 60
NOISE = 0.03
"""Standard deviation of a trial's log-time."""
FOUR = ["master", "packed", "split-counters", "split-counters-no-jec"]


def times_of(truth: made_up.Truth) -> pl.LazyFrame:
    """Rows of `frames.TIMES` of a made-up sweep."""
    with tempfile.TemporaryDirectory() as folder:
        return trial_times(read_sweep(made_up.write_sweep(Path(folder), truth))).collect().lazy()


def coverage(trials: int) -> tuple[float, float]:
    """Shares of 95 % intervals that hold the true speed-up, and the true ratio to the baseline."""
    truth = made_up.Truth(
        branches=["master", "packed"],
        workloads={f"w{number}": 0.1 for number in range(CELLS)},
        threads=[2],
        trials=trials,
        iterations=1,
        trial_noise=NOISE,
        twin=False,
    )
    times = times_of(truth)
    true = truth.speedup("master", "w0", 2)
    sped = speedups(times, "master").select((pl.col("speedup_low") <= true) & (pl.col("speedup_high") >= true))
    cells = compare(times, "master").filter(pl.col("level") == "cell")
    ratios = cells.select((pl.col("ratio_low") <= 1) & (pl.col("ratio_high") >= 1))
    return float(sped.to_series().sum()) / sped.height, float(ratios.to_series().sum()) / CELLS


def claims(effect: float) -> tuple[float, float, float, float]:
    """What is claimed in many sweeps in which one branch takes `effect` as long on one workload.

    Returns the shares of its cells and of its workload that are claimed, then the shares of sweeps in which any other
    cell and any other workload is claimed.
    """
    found = dict.fromkeys(("cell", "workload"), 0.0)
    false = dict.fromkeys(("cell", "workload"), 0)
    truth = made_up.Truth(
        branches=FOUR,
        workloads={"tsp": 0.1, "quicksort": 0.3, "packets": 0.2},
        iterations=1,
        trial_noise=NOISE,
        effects={("packed", "tsp"): effect},
    )
    for seed in range(SWEEPS):
        frame = compare(times_of(replace(truth, seed=seed)), "master")
        for level in found:
            rows = frame.filter(pl.col("level") == level)
            real = (pl.col("branch") == "packed") & (pl.col("workload") == "tsp") & (effect != 1)
            claimed = pl.col("verdict").is_in([FASTER, SLOWER])
            hit = rows.filter(real)
            found[level] += hit.filter(claimed).height / max(hit.height, 1) / SWEEPS
            false[level] += int(rows.filter(~real & claimed).height > 0)
    return found["cell"], found["workload"], false["cell"] / SWEEPS, false["workload"] / SWEEPS


def bimodality(size: int) -> list[float]:
    """Shares of samples of `size` values that are called bimodal at 5 %.

    Normal, two modes 3, 5 and 10 standard deviations apart, 5 apart with one value in three in the second, then
    heavy-tailed and skewed values of one mode.
    """
    rng = np.random.default_rng(1)
    draws: list[Callable[[], Floats]] = [
        lambda gap=gap, share=share: rng.normal(0, 0.01, size) + (rng.random(size) < share) * gap * 0.01  # type: ignore[misc]
        for gap, share in ((0, 0.5), (3, 0.5), (5, 0.5), (10, 0.5), (5, 0.3))
    ]
    draws += [lambda: rng.standard_t(3, size) * 0.01, lambda: rng.exponential(0.01, size)]
    return [float(np.mean([several_modes(draw(), rng)[0] < 0.05 for _ in range(100)])) for draw in draws]


def lucky(layouts: int, luck: float, seed: int) -> bool:
    """Whether a sweep of equal branches, whose layouts differ by `luck`, has a claim on a workload."""
    truth = made_up.Truth(
        branches=FOUR,
        workloads={"tsp": 0.1, "quicksort": 0.3, "packets": 0.2},
        trials=7,
        iterations=1,
        layouts=layouts,
        sequential=False,
        seed=seed,
    )
    rng = np.random.default_rng(seed)
    times = times_of(truth).collect()
    names = times.select("branch", "workload", "replicate")
    lucks: dict[tuple[str, str, int], float] = {}
    factors = []
    for branch, workload, replicate in names.rows():
        twin = branch.endswith("-again")  # runs the baseline's binaries, one further on
        key = (branch.removesuffix("-again"), workload, (replicate + twin) % layouts)
        factors.append(np.exp(lucks.setdefault(key, float(rng.normal(0, luck)))))
    shifted = times.with_columns(pl.col("ns_per_unit") * pl.Series(factors))
    rows = compare(shifted.lazy(), "master").filter(pl.col("level") == "workload")
    return bool(rows["verdict"].is_in([FASTER, SLOWER]).any())


def main() -> None:
    """Print all tables as Markdown."""
    print(
        f"| trials | covers the speed-up | covers the ratio | (trial noise {NOISE:.0%}, {CELLS} cells)\n|---|---|---|"
    )
    for trials in (3, 5, 7, 11):
        sped, ratio = coverage(trials)
        print(f"| {trials} | {sped:.1%} | {ratio:.1%} |")
    print(f"\n| true change | found in a cell | found in a workload | false claim: cell | workload | ({SWEEPS} sweeps)")
    print("|---|---|---|---|---|")
    for effect in (1.0, 1.02, 1.05, 1.1):
        print(f"| {effect - 1:.0%} | " + " | ".join(f"{share:.1%}" for share in claims(effect)) + " |")
    print("\n| layouts | differ by | sweeps with a false claim on a workload | (30 sweeps)\n|---|---|---|")
    for layouts, luck in ((1, 0.02), (7, 0.0), (7, 0.01), (7, 0.02)):
        alarmed = sum(lucky(layouts, luck, seed) for seed in range(30)) / 30
        print(f"| {layouts} | {luck:.0%} | {alarmed:.0%} |")
    print("\n| values | normal | 3 | 5 | 10 | 5, one in three | heavy-tailed | skewed | (called bimodal)")
    print("|---" * 8 + "|")
    for size in (11, 20, 35, 100):
        print(f"| {size} | " + " | ".join(f"{share:.0%}" for share in bimodality(size)) + " |")


if __name__ == "__main__":
    main()
