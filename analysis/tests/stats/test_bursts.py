"""The rule finds a burst in its block; modes, single slow branches and few builds are not bursts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import truth
from sweep_analysis.stats.bursts import bursts, chance_of
from sweep_analysis.stats.compare import decide

TIME = "ns_per_unit"


def times_of(name: str, seed: int = 1, **changes: object) -> pl.LazyFrame:
    return truth.sweep_of(replace(truth.CASES[name], **changes), seed)[1].lazy()  # type: ignore[arg-type]


def slowed(times: pl.LazyFrame, branches: list[str], blocks: list[int]) -> pl.LazyFrame:
    hit = pl.col("branch").is_in(branches) & pl.col("block").is_in(blocks)
    return times.with_columns(pl.when(hit).then(pl.col(TIME) * 1.5).otherwise(TIME).alias(TIME))


def test_blocks_in_which_branches_are_slow_are_bursts_and_no_others() -> None:
    found = bursts(
        slowed(times_of("quiet"), ["master", "tried", "equal-0", "equal-5"], [3, 40]), TIME
    )
    assert {3, 40} <= set(found["block"])
    assert found.height < 6


@pytest.mark.parametrize(
    "name", ["modes", "far-modes", "builds-of-two-modes", "whole-builds-of-two-modes", "unlike"]
)
def test_modes_are_no_bursts(name: str) -> None:
    assert sum(bursts(times_of(name, seed), TIME).height for seed in range(5)) < 0.01 * 5 * 84


def test_one_slow_branch_makes_no_burst() -> None:
    assert not {0, 12, 25} & set(
        bursts(slowed(times_of("quiet"), ["tried"], [0, 12, 25]), TIME)["block"]
    )


def test_a_burst_that_leaves_too_few_layouts_stays() -> None:
    struck = slowed(
        times_of("quiet", layouts=4, trials=4), ["master", "tried", "equal-0", "equal-5"], [3]
    )
    assert 3 not in bursts(struck, TIME)["block"]


def test_a_burst_is_left_out_for_all_branches_alike() -> None:
    times = times_of("quiet")
    struck = slowed(times, ["master", "tried", "equal-0", "equal-5"], [3])
    pairs = {
        name: decide(it, "master", ["time"]).filter(level="cell")
        for name, it in (("all", times), ("less", struck))
    }
    lost = pairs["all"]["pairs"].cast(pl.Int64) - pairs["less"]["pairs"].cast(pl.Int64)
    of_cell = (pairs["all"]["workload"] == "quicksort") & (pairs["all"]["threads"] == 8)
    assert set(lost.filter(of_cell)) == {1}
    assert set(lost.filter(~of_cell)) == {0}


def test_the_chance_of_far_trials_is_that_of_the_hypergeometric_distribution() -> None:
    rng = np.random.default_rng(1)
    every = rng.integers(1, 3000, 2000)
    found = rng.integers(0, every + 1)
    trials = np.minimum(rng.integers(0, 80, 2000), every)
    seen = np.minimum(rng.integers(0, 30, 2000), trials)
    chance = chance_of(seen, every, found, trials)
    np.testing.assert_allclose(
        chance, stats.hypergeom.sf(seen - 1, every, found, trials), rtol=1e-9, atol=1e-9
    )
