"""Bimodal configurations are found, and left out of tests and means. The data are synthetic, so their modes are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import synthetic
from sweep_analysis.say.averages import gained_and_lost
from sweep_analysis.say.comparison import threads_of
from sweep_analysis.say.headline import result_of
from sweep_analysis.say.validation import difference_sentence
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.compare import FASTER, UNTESTED
from sweep_analysis.stats.differences import differences
from sweep_analysis.stats.states import two_modes

SEEDS = 7
Shape = Callable[[np.random.Generator, int], np.ndarray[tuple[int], np.dtype[np.float64]]]
SHAPES: dict[str, Shape] = {
    "normal": lambda rng, seeds: rng.normal(size=seeds),
    "flat": lambda rng, seeds: rng.uniform(-math.sqrt(3), math.sqrt(3), seeds),
    "skewed": lambda rng, seeds: rng.exponential(size=seeds),
    "heavy tails": lambda rng, seeds: rng.standard_t(3, seeds) / math.sqrt(3),
}
"""Distributions of noise, each with a standard deviation of 1."""


@pytest.mark.parametrize("apart", [2.0, 3.0, 10.0])
def test_pairs_of_states_are_found(apart: float) -> None:
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(2000):
        upper = rng.integers(2, SEEDS - 1)
        logs = 0.05 * rng.normal(size=SEEDS) + math.log(apart) * (np.arange(SEEDS) < upper)
        states = two_modes(rng.permutation(logs))
        found += states is not None and math.isclose(
            states[1] - states[0], math.log(apart), abs_tol=0.2
        )
    assert found > 0.99 * 2000


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
def test_one_noisy_state_is_rarely_taken_for_two(shape: str, noise: float) -> None:
    rng = np.random.default_rng(2)
    found = sum(two_modes(noise * SHAPES[shape](rng, SEEDS)) is not None for _ in range(2000))
    assert found <= 0.03 * 2000


def test_a_lone_far_seed_and_too_few_seeds_are_no_second_state() -> None:
    assert two_modes(np.log([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0])) is None
    assert two_modes(np.log([1.0, 9.0, 9.0])) is None
    assert two_modes(np.log([1.0, 1.0, 1.3, 1.3])) is None
    assert two_modes(np.log([1.0, 1.0, 9.0, 9.0])) == pytest.approx((0.0, math.log(9)))


def swept(machine: str | None = "synthetic-8") -> Analysis:
    """Two branches take 0.65 of the time; with three of seven seeds `turning` takes five times as long on `quicksort`."""
    gains = {
        (branch, workload): 0.65
        for branch in ("turning", "steady")
        for workload in ("tsp", "quicksort")
    }
    truth = synthetic.Truth(
        branches=["packed", "turning", "steady"],
        workloads={"tsp": 0.1, "quicksort": 0.1},
        threads=[4, 8],
        cpus=8,
        trials=SEEDS,
        trial_noise=0.002,
        block_noise=0.0,
        effects=gains,
        state=lambda branch, workload, threads, seed: (
            5.0 if (branch, workload, threads) == ("turning", "quicksort", 8) and seed < 3 else 1.0
        ),
        machine=machine,
    )
    return analyse(synthetic.swept(truth))


def test_a_bimodal_configuration_is_not_tested_and_in_no_mean() -> None:
    analysis = swept()
    rows = analysis.comparisons.filter(quantity="time")

    def cell(branch: str, workload: str, threads: int) -> dict[str, Any]:
        place = {"branch": branch, "workload": workload, "threads": threads}
        return rows.filter(level="cell", **place).row(0, named=True)

    turned = cell("turning", "quicksort", 8)
    assert (turned["verdict"], turned["is_bimodal"]) == (UNTESTED, True)
    assert turned["p_corrected"] is None
    assert result_of(turned, analysis.sweep) == "not tested: bimodal"
    for place in (("turning", "quicksort", 4), ("turning", "tsp", 8), ("steady", "quicksort", 8)):
        assert (cell(*place)["verdict"], cell(*place)["is_bimodal"]) == (FASTER, False)
    pooled = rows.filter(level="workload", workload="quicksort")
    told = {row["branch"]: (row["cells"], row["time_ratio"]) for row in pooled.rows(named=True)}
    assert told["turning"] == (1, pytest.approx(0.65, rel=0.01))
    assert told["steady"][0] == 2
    overall = dict(rows.filter(level="overall").select("branch", "time_ratio").rows())
    assert overall["turning"] == pytest.approx(overall["steady"], rel=0.01)


def test_a_mean_names_only_the_configurations_that_it_pools() -> None:
    comparisons = swept().comparisons.filter(quantity="time")
    threads = {
        row["branch"]: threads_of(comparisons, row)
        for row in comparisons.filter(level="workload", workload="quicksort").rows(named=True)
    }
    assert threads["turning"] == "4 threads"
    assert threads["steady"] == "4, 8 threads"
    told = {
        row["branch"]: " ".join(gained_and_lost(comparisons, row))
        for row in comparisons.filter(level="overall").rows(named=True)
    }
    assert "1 of 4 configurations are bimodal and left out" in told["turning"]
    assert "left out" not in told["steady"]


def test_with_a_bimodal_baseline_no_branch_is_tested() -> None:
    truth_of = analyse(swept().sweep, "turning")
    rows = truth_of.comparisons.filter(
        level="cell", quantity="time", workload="quicksort", threads=8
    )
    assert set(rows["verdict"]) == {UNTESTED}
    assert rows["is_bimodal"].all()


def test_builds_of_a_host_are_no_seeds() -> None:
    assert not swept(None).comparisons["is_bimodal"].any()


def test_a_bimodal_prediction_is_neither_right_nor_wrong() -> None:
    rows = differences(swept(), swept(None))
    turned = rows.row(by_predicate=pl.col("is_bimodal"), named=True)
    assert (turned["branch"], turned["workload"], turned["threads"]) == ("turning", "quicksort", 8)
    assert (turned["is_certain"], turned["is_right"], turned["is_near"]) == (False, None, None)
    said = difference_sentence(rows, "packed")
    assert said.startswith("**Validation of gains and losses passed**: in 7 configurations")
    assert said.endswith(" Not tested, because bimodal: 1 configuration.")
