"""Cells of two typical times are flagged; noise, skew and single outliers are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import made_up
from sweep_analysis.read.frames import MODES
from sweep_analysis.read.load import read_sweep
from sweep_analysis.stats.location import Floats
from sweep_analysis.stats.modes import BETWEEN, WITHIN, modes, several_modes
from sweep_analysis.stats.speedup import trial_times

NOISE = 0.01


def flagged(draw: str, size: int, samples: int = 20) -> float:
    """Share of samples that the test alone calls bimodal at 5 %."""
    rng = np.random.default_rng(5)
    shapes: dict[str, Callable[[], Floats]] = {
        "normal": lambda: rng.normal(0, NOISE, size),
        "skewed": lambda: rng.exponential(NOISE, size),
        "heavy-tailed": lambda: NOISE * rng.standard_t(3, size),
        "two modes": lambda: rng.normal(0, NOISE, size) + 6 * NOISE * (rng.random(size) < 0.5),
    }
    return float(np.mean([several_modes(shapes[draw](), rng)[0] < 0.05 for _ in range(samples)]))


@pytest.mark.parametrize("shape", ["normal", "skewed", "heavy-tailed"])
def test_one_mode_of_any_shape_is_rarely_taken_for_two(shape: str) -> None:
    assert flagged(shape, 35) <= 0.2  # 20 draws at 0.05 exceed four once in four hundred times


def test_two_modes_are_found_in_35_values() -> None:
    assert flagged("two modes", 35) >= 0.9


def test_a_single_far_value_is_no_mode() -> None:
    rng = np.random.default_rng(1)
    values = np.append(rng.normal(0, NOISE, 29), 1.0)
    assert several_modes(values, rng) == (1.0, None)


def bimodal(frame: pl.LazyFrame, column: str, every: int) -> pl.LazyFrame:
    """The same rows of `packed` with every other one a fifth slower."""
    odd = pl.int_range(pl.len()) // every % 2 == 1
    return frame.with_columns(
        pl.when(odd)
        .then(pl.col(column) * 1.2)
        .otherwise(pl.col(column))
        .cast(frame.collect_schema()[column])
    )


@pytest.fixture
def truth() -> made_up.Truth:
    return made_up.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        trials=7,
        iterations=6,
        block_noise=0.005,
        sequential=False,
    )


def test_iterations_that_alternate_are_flagged_in_their_cells_with_their_gap(
    tmp_path: Path, truth: made_up.Truth
) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    mine = sweep.trials.filter(pl.col("branch") == "packed").select("trial")
    theirs = sweep.iterations.join(mine, on="trial", how="anti")
    odd = bimodal(
        sweep.iterations.join(mine, on="trial").sort("trial", "iteration"), "elapsed_ns", 1
    )
    found = modes(trial_times(sweep), pl.concat([theirs, odd]))
    assert found.schema == MODES
    several = found.filter(pl.col("several"))
    assert set(several["branch"]) == {"packed"}
    assert set(several["scope"]) == {WITHIN}
    assert set(several["threads"]) == {1, 2, 4, 8}
    # half of the others are in the other mode, so that deviations are a gap down, about none, and a
    # gap up
    assert several["gap"].min() > 1.05  # type: ignore[operator]


def test_trials_of_two_kinds_are_flagged_over_all_thread_counts(
    tmp_path: Path, truth: made_up.Truth
) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", replace(truth, trials=15)))
    times = trial_times(sweep).collect().lazy()
    odd = bimodal(
        times.filter(pl.col("branch") == "packed").sort("threads", "block"), "ns_per_unit", 1
    )
    found = modes(pl.concat([times.filter(pl.col("branch") != "packed"), odd]), sweep.iterations)
    several = found.filter(pl.col("several"))
    assert several.select("branch", "scope", "threads").rows() == [("packed", BETWEEN, None)]


def test_ordinary_sweeps_have_no_flagged_cell(tmp_path: Path, truth: made_up.Truth) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    found = modes(trial_times(sweep), sweep.iterations)
    assert not found["several"].any()
    assert found["p_value"].null_count() == 0


def test_too_few_values_are_not_tested(tmp_path: Path) -> None:
    truth = made_up.Truth(
        branches=["master"], workloads={"tsp": 0.1}, threads=[2], trials=5, iterations=3
    )
    sweep = read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))
    found = modes(trial_times(sweep), sweep.iterations)
    assert found["p_value"].null_count() == found.height
    assert not found["several"].any()
