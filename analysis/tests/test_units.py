"""A binary's luck is one piece of evidence, however many thread counts it runs at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import made_up
from sweep_analysis.bootstrap import Floats
from sweep_analysis.compare import FASTER, SLOWER, compare
from sweep_analysis.load import read_sweep
from sweep_analysis.speedup import trial_times
from sweep_analysis.units import units_of

CELLS, REPLICATES = 4, 7


def drawn(rng: np.random.Generator, luck: float) -> tuple[list[Floats], list[Floats]]:
    """Log-ratios of four cells that share what each of seven replicates owes to luck."""
    shared = rng.normal(0, luck, REPLICATES)
    ratios = [cell + shared + rng.normal(0, 0.01, REPLICATES) for cell in (0.0, 0.1, -0.1, 0.2)]
    return ratios, [np.arange(REPLICATES, dtype=float)] * CELLS


def test_shared_luck_makes_replicates_the_units() -> None:
    rng = np.random.default_rng(1)
    found = [units_of(*drawn(rng, 0.03)) for _ in range(50)]
    assert sum(units.are_replicates for units in found) >= 47
    assert {units.values.size for units in found if units.are_replicates} == {REPLICATES}


def test_without_luck_most_sweeps_keep_their_pairs() -> None:
    rng = np.random.default_rng(2)
    found = [units_of(*drawn(rng, 0.0)) for _ in range(100)]
    kept = [units for units in found if not units.are_replicates]
    assert 60 <= len(kept) <= 90
    assert {units.values.size for units in kept} == {CELLS * REPLICATES}


def test_intervals_of_replicates_cover_the_truth_at_the_promised_rate() -> None:
    rng = np.random.default_rng(3)
    covered = pairs_would = 0
    for _ in range(400):
        ratios, replicates = drawn(rng, 0.03)
        estimate = float(np.mean([cell.mean() for cell in ratios]))
        low, high = units_of(ratios, replicates).interval(estimate)
        covered += low <= 0.05 <= high  # the mean of the four cells' truths
        spread = np.concatenate([cell - cell.mean() for cell in ratios]).std() / np.sqrt(CELLS * REPLICATES)
        pairs_would += abs(estimate - 0.05) <= 2 * spread
    assert 0.92 <= covered / 400 <= 0.98
    assert pairs_would / 400 < 0.75  # the known mistake


def test_a_missing_trial_leaves_its_replicate_in() -> None:
    ratios, replicates = drawn(np.random.default_rng(4), 0.05)
    units = units_of([ratios[0][1:], *ratios[1:]], [replicates[0][1:], *replicates[1:]])
    assert units.are_replicates
    assert units.values.size == REPLICATES


def test_one_cell_has_a_pair_per_replicate() -> None:
    ratios, replicates = drawn(np.random.default_rng(5), 0.05)
    assert not units_of(ratios[:1], replicates[:1]).are_replicates


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_lucky_layout_of_five_is_no_claim_on_a_workload(tmp_path: Path, seed: int) -> None:
    """One of five builds of `packed` is a sixth faster at all thread counts; the others are equal."""
    truth = made_up.Truth(branches=["master", "packed"], workloads={"tsp": 0.1}, layouts=5, sequential=False, seed=seed)
    times = trial_times(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth)))
    lucky = (pl.col("branch") == "packed") & (pl.col("replicate") == 2)
    shifted = times.with_columns(pl.when(lucky).then(pl.col("ns_per_unit") * 0.85).otherwise("ns_per_unit"))
    row = (
        compare(shifted, "master")
        .filter(pl.col("level") == "workload", pl.col("branch") == "packed")
        .row(0, named=True)
    )
    assert row["units"] == 5
    assert row["pairs"] == 20
    assert row["verdict"] not in (FASTER, SLOWER)
