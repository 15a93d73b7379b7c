"""Speed-ups on synthetic sweeps whose true speed-ups are known."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import synthetic
from sweep_analysis.stats.speedup import speedups, trial_times

PAIR = ["master", "packed"]


def analysed(truth: synthetic.Truth) -> pl.DataFrame:
    sweep = synthetic.swept(truth)
    return speedups(trial_times(sweep), sweep.baseline)


def test_the_three_definitions_have_their_own_references() -> None:
    truth = synthetic.Truth(
        branches=PAIR,
        workloads={"tsp": 0.1},
        threads=[1, 4],
        effects={("packed", "tsp"): 0.8},
        **synthetic.QUIET,
    )
    frame = analysed(truth).filter(pl.col("branch") == "packed", pl.col("threads") == 4)
    found = dict(frame.select("definition", "speedup").rows())
    alone, together = truth.time_ns("packed", "tsp", 1), truth.time_ns("packed", "tsp", 4)
    assert found == pytest.approx(
        {
            "own": alone / together,
            "baseline": truth.time_ns("master", "tsp", 1) / together,
            "sequential": truth.sequential_ns / together,
        },
        rel=1e-6,
    )
    assert len({round(value, 6) for value in found.values()}) == 3


def test_efficiency_and_karp_flatt_find_the_serial_fraction() -> None:
    truth = synthetic.Truth(
        branches=PAIR,
        workloads={"tsp": 0.2},
        threads=[1, 4],
        **synthetic.QUIET,
    )
    found = analysed(truth).filter(definition="own", threads=4, branch="packed")
    row = found.row(0, named=True)
    assert row["karp_flatt"] == pytest.approx(0.2, rel=1e-5)
    assert row["efficiency"] == pytest.approx(row["speedup"] / 4)


def test_a_branch_against_its_own_single_thread_is_exactly_one() -> None:
    frame = analysed(synthetic.Truth(branches=PAIR, threads=[1, 2]))
    own = frame.filter(pl.col("definition") == "own", pl.col("threads") == 1)
    assert own.select("speedup", "speedup_low", "speedup_high").unique().rows() == [
        (1.0, None, None)
    ]
    assert own["karp_flatt"].null_count() == own.height


@pytest.mark.parametrize(
    ("truth", "present"),
    [
        (synthetic.Truth(branches=PAIR, threads=[1, 2], sequential=False), {"own", "baseline"}),
        (synthetic.Truth(branches=PAIR, threads=[2, 4]), {"sequential"}),
        (synthetic.Truth(branches=PAIR, threads=[2, 4], sequential=False), set()),
    ],
)
def test_a_definition_without_reference_has_no_rows(
    truth: synthetic.Truth, present: set[str]
) -> None:
    assert set(analysed(truth)["definition"]) == present


def test_the_median_shrugs_off_one_slow_iteration_and_one_slow_trial() -> None:
    truth = synthetic.Truth(
        branches=PAIR,
        workloads={"tsp": 0.1},
        threads=[1],
        **synthetic.QUIET,
    )
    sweep = synthetic.swept(truth)
    slow = (pl.col("iteration") == 0) | pl.col("trial").cast(pl.String).str.ends_with("-3")
    factor = pl.when(slow).then(9).otherwise(1)
    disturbed = replace(
        sweep, iterations=sweep.iterations.with_columns(pl.col("elapsed_ns") * factor)
    )
    times = trial_times(disturbed).collect()
    assert (times["ns_per_unit"] > 8 * times["ns_per_unit"].min()).sum() == 4  # type: ignore[operator]
    found = speedups(times.lazy(), "master").filter(pl.col("definition") == "sequential")
    assert found["speedup"].to_list() == pytest.approx(
        [truth.speedup("master", "tsp", 1)] * 3, rel=1e-6
    )


def test_time_per_unit_is_what_counts_for_timed_work() -> None:
    """A program of fixed duration differs in the amount of its work."""
    truth = synthetic.Truth(
        branches=PAIR,
        workloads={"packets": 0.1},
        threads=[1],
        **synthetic.QUIET,
        work_units=lambda elapsed: elapsed // 100,
    )
    frame = analysed(truth)
    assert frame["ns_per_unit"].to_list() == pytest.approx([100.0] * frame.height, rel=1e-4)
    assert frame["speedup"].to_list() == pytest.approx([1.0] * frame.height, rel=1e-4)


def test_speed_up_interval_covers_the_truth_at_the_promised_rate() -> None:
    workloads = {f"w{number}": 0.1 for number in range(400)}
    truth = synthetic.Truth(
        branches=PAIR[:1],
        workloads=workloads,
        threads=[2],
        trials=5,
        iterations=1,
        trial_noise=0.03,
        block_noise=0.02,
        twin=False,
    )
    frame = analysed(truth)
    true = truth.speedup("master", "w0", 2)
    covered = (
        frame.select((pl.col("speedup_low") <= true) & (true <= pl.col("speedup_high")))
        .to_series()
        .mean()
    )
    assert isinstance(covered, float)
    assert 0.91 <= covered <= 0.985  # 95 % of 400 configurations, three standard errors
