"""Calibrates the decision rule on synthetic sweeps of known truth.

A small form of `cargo xtask truth`, with limits that a wrong method fails.

So few sweeps reveal only large mistakes: limits are at least three standard errors from the targets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import truth
from sweep_analysis.read.labels import without_size
from sweep_analysis.report.statement_gains import significant
from sweep_analysis.say.comparison import programs, threads_of
from sweep_analysis.stats.calibration import EQUAL, OFF
from sweep_analysis.stats.compare import FASTER, UNTESTED
from sweep_analysis.stats.decisions import decisions_of

SWEEPS = 24
FALSE = 17.0
"""Largest accepted percentage of null sweeps with a false result. At a true rate of 5 %, the probability that 5 or more of
24 sweeps have a false result is 1/170."""


@cache
def tried(name: str, seed: int) -> truth.Result:
    return truth.tried(truth.CASES[name], seed)


def results(name: str, sweeps: int = SWEEPS) -> list[truth.Result]:
    return [tried(name, seed) for seed in range(sweeps)]


def rates(name: str, sweeps: int = SWEEPS) -> dict[str, float]:
    return truth.rates(results(name, sweeps))


@pytest.mark.parametrize(
    "name", ["quiet", "all-pareto", "bursts", "autocorrelated", "drift", "unlike", "four-layouts"]
)
def test_equal_branches_rarely_differ_significantly_and_intervals_cover(name: str) -> None:
    found = rates(name)
    assert found["any false result"] < FALSE
    for level in truth.LEVELS:
        assert found[f"covered, {level}"] > 89, level
    assert found["recommended"] + found["recommended another"] < FALSE


@pytest.mark.parametrize(
    "name",
    [
        "far-modes",
        "two-branches-lone-noise",
        "two-branches, one cell",
        "simulated, every name bimodal",
    ],
)
def test_two_modes_and_a_single_noisy_branch_make_few_false_results(name: str) -> None:
    assert rates(name)["any false result"] < FALSE


def test_no_branch_is_tested_in_simulated_configurations_with_two_bimodal_branches() -> None:
    case = truth.CASES["simulated, every name bimodal"]
    for seed in range(2):
        rows = decisions_of(*truth.sweep_of(case, seed)).rows
        cells = rows.filter(level="cell", quantity="time")
        assert cells["is_bimodal"].all()
        assert set(rows["verdict"]) <= {UNTESTED}


@pytest.mark.parametrize(
    "name", ["few-layouts", "one-layout", "one-trial", "two-trials", "three-trials"]
)
def test_too_few_builds_are_not_tested(name: str) -> None:
    assert not any(result.is_tested for result in results(name, 2))


@pytest.mark.parametrize(
    "name",
    [
        "5 % faster",
        "5 % faster, pareto",
        "5 % faster, all-pareto",
        "5 % faster, bursts",
        "6 % faster, two branches, one cell",
    ],
)
def test_five_per_cent_is_found_in_clean_and_in_heavy_tails(name: str) -> None:
    # A method that loses power loses power in each sweep, so half of the sweeps suffice.
    assert rates(name, SWEEPS // 2)["found, overall"] > 70


@pytest.mark.parametrize(
    "name", [name for name, case in truth.CASES.items() if case.fails is not None]
)
def test_no_branch_with_failures_is_recommended(name: str) -> None:
    found = results(name, SWEEPS // 2)
    assert not any(result.recommended == truth.TRIED for result in found if result.fails)


def test_a_gain_here_does_not_pay_for_losses_there() -> None:
    found = rates("10 % faster on one, 3 % slower on two")
    assert found["recommended"] == 0


@pytest.mark.parametrize("name", sorted(truth.NOT_TO_MERGE))
def test_a_branch_that_loses_somewhere_is_not_recommended(name: str) -> None:
    assert rates(name, SWEEPS // 3)["recommended"] == 0


@pytest.mark.parametrize("name", [name for name, case in truth.CASES.items() if case.zeros])
def test_latencies_of_zero_make_few_false_results(name: str) -> None:
    assert rates(name)["any false result"] < FALSE


@pytest.mark.parametrize("name", [name for name, case in truth.CASES.items() if case.claims])
def test_a_claim_about_each_workload_is_not_held_by_a_mean(name: str) -> None:
    assert rates(name, SWEEPS // 3)["held"] == 0


@pytest.mark.parametrize("name", ["quiet", "builds-of-two-modes", "autocorrelated"])
def test_ratios_of_unequal_builds_are_rarely_said_to_drift(name: str) -> None:
    assert rates(name)["said to drift"] < 3


def test_a_simulated_change_without_noise_is_found_and_nothing_else() -> None:
    found = rates("simulated, exactly 20 % faster", 2)
    assert (found["found, cell"], found["any false result"]) == (100, 0)


@pytest.mark.parametrize("moves", truth.SHIFTS)
def test_two_sweeps_together_know_what_one_does_not(moves: str) -> None:
    found = [truth.of_sweeps(moves, 2, seed) for seed in range(SWEEPS // 2)]
    assert np.mean([it.one for it in found]) < 0.8
    assert np.mean([it.together for it in found]) > 0.88
    assert 100 * np.mean([it.claims for it in found]) < FALSE


def test_sentences_name_each_gain_its_threads_and_its_programs() -> None:
    sweep, times = truth.sweep_of(truth.Case("half the time on one", effect={"tsp": 0.5}), 0)

    def row(rows: pl.DataFrame, **where: str) -> dict[str, Any]:
        return rows.filter(branch=truth.TRIED, quantity="time", **where).row(0, named=True)

    rows = decisions_of(sweep, times).rows
    own = without_size(rows).filter(pl.col("level").is_in(["workload", "cell"]), branch=truth.TRIED)
    places = {told.split(":")[0] for told in significant(own, FASTER)}
    assert places == {"tsp on 1", "tsp on 2, 4, 8"}
    assert threads_of(rows, row(rows, level="workload", workload="tsp")) == "2, 4, 8 threads"
    assert programs(rows, row(rows, level="overall")) == "3 programs together"
    sets = [pl.col("workload").alias("parameters"), pl.lit("tsp").alias("workload")]
    of_one = replace(sweep, trials=sweep.trials.with_columns(sets))
    rows = decisions_of(of_one, times.with_columns(sets)).rows
    told = programs(rows, row(rows, level="overall"))
    assert told == "3 configurations of 1 program together"


def test_what_is_said_to_be_found_is_found() -> None:
    change, found = truth.detectable_is_found(truth.CASES["quiet"], results("quiet", SWEEPS // 2))
    assert 1 < change < 5
    assert found > 50


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("equal, quiet", OFF),
        ("equal, 25 % noise", OFF),
        ("one workload +15 %, 10 % noise", EQUAL),
        ("one workload +15 %, quiet", EQUAL),
    ],
)
def test_calibration_rarely_gives_the_opposite_sign(name: str, wrong: str) -> None:
    answers = [truth.calibrated(truth.CALIBRATIONS[name], seed) for seed in range(SWEEPS)]
    assert 100 * answers.count(wrong) / SWEEPS < FALSE


def test_a_rule_that_counts_trials_as_builds_would_fail() -> None:
    """A planted mistake: if each trial counts as a build, three fast builds look like nine."""
    case = truth.CASES["few-layouts"]
    alarmed = 0
    for seed in range(SWEEPS):
        sweep, times = truth.sweep_of(replace(case, name="mistaken"), seed)
        mistaken = times.with_columns(layout=times["replicate"] + 1)
        alarmed += truth.claims_of(sweep, mistaken) > 0
    assert alarmed > SWEEPS * FALSE / 100
