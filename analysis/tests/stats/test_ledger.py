"""The ledger counts all data that figures exclude, and tables name their provenance."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.frames import COSTS, LEDGER
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.provenance import provenance, sentence
from sweep_analysis.stats.costs import costs
from sweep_analysis.stats.ledger import ledger
from sweep_analysis.stats.speedup import trial_times


def sweep_of(**truth: object) -> Sweep:
    return synthetic.swept(synthetic.Truth(**truth))  # type: ignore[arg-type]


def fails(branch: str, _: str, threads: int, replicate: int) -> str | None:
    if branch == "packed" and threads == 4:
        return "crash"
    return "timeout" if (branch, threads, replicate) == ("master", 2, 1) else None


def test_every_reason_for_leaving_out_has_a_row_with_its_count() -> None:
    sweep = sweep_of(
        branches=["master", "packed"], workloads={"tsp": 0.1}, cpus=4, fails=fails,
        counts={"packed": {"pushes": 1}},
    )  # fmt: skip
    found = ledger(sweep, trial_times(sweep), "master")
    assert found.schema == LEDGER
    rows = {
        (row["what"], row["reason"], row["branch"]): (row["left_out"], row["of"])
        for row in found.rows(named=True)
    }
    assert rows["trials", "failed: crash", "packed"] == (5, 20)
    assert rows["trials", "failed: timeout", "master"] == (
        1,
        25,
    )  # 20 parallel trials, 5 sequential ones
    assert rows["trials", "counted, so never timed", "packed"] == (12, 12)
    assert rows["pairs", "no good trial of master in the block", "packed"] == (1, 15)
    assert rows["pairs", "no good trial of master in the block", "master-again"] == (1, 20)
    assert rows["configurations of means", "not all branches have it (missing: packed)", None] == (
        1,
        4,
    )


def test_a_clean_sweep_leaves_nothing_out_and_says_so() -> None:
    sweep = sweep_of(branches=["master"], workloads={"tsp": 0.1}, threads=[1, 2], trials=5)
    found = ledger(sweep, trial_times(sweep), "master")
    assert found["left_out"].sum() == 0


def test_a_burst_is_in_the_ledger() -> None:
    sweep = sweep_of(branches=synthetic.STUDY_BRANCHES, workloads={"tsp": 0.1}, trials=7)
    slow = (pl.col("replicate") == 0) & pl.col("branch").is_in(synthetic.STUDY_BRANCHES[:4])
    times = trial_times(sweep).with_columns(
        pl.col("ns_per_unit") * pl.when(slow).then(1.5).otherwise(1.0)
    )
    assert "blocks of comparisons" in ledger(sweep, times, "master")["what"]


def test_a_torn_record_is_in_the_ledger() -> None:
    sweep = replace(
        sweep_of(branches=["master"], workloads={"tsp": 0.1}), notes=["it was torn off"]
    )
    assert ledger(sweep, trial_times(sweep), "master").row(0, named=True)["what"] == "records"


def test_provenance_names_host_builds_clock_and_crowded_thread_counts() -> None:
    sweep = sweep_of(branches=["master", "packed"], features={"packed": ["split"]}, cpus=4)
    found = provenance(sweep)
    assert found["host"]["cpus_usable"] == 4
    assert found["freq_state"] == {"uncontrolled": sweep.trials.collect().height}
    assert found["threads_beyond_cpus"] == [8]
    assert [it["source"] for it in found["branches"]] == ["unknown source", "fork"]
    text = sentence(found, 7)
    for part in (
        "7 rows from sweep sweep",
        "Made-up CPU with 4 CPUs",
        "clock uncontrolled",
        "at 8",
        "packed (fork)",
    ):
        assert part in text


def test_costs_have_wall_time_cpu_time_cycles_and_idle_cpus() -> None:
    sweep = sweep_of(
        branches=["master"], workloads={"tsp": 0.0}, threads=[2], trials=7,
        modes={"dynamic": {2: 1.5}}, block_noise=0.001, trial_noise=0.001,
    )  # fmt: skip
    # A program that is twice as slow at half the clock takes the same cycles. Here `cpus_busy` loses
    # a quarter, as if other work took a quarter of each CPU's time.
    times = trial_times(sweep).with_columns(pl.col("cpus_busy") * 0.75)
    found = costs(times, 4)
    assert found.schema == COSTS
    row = found.filter(pl.col("branch") == "master", pl.col("program") == "parallel").row(
        0, named=True
    )
    true_ns = synthetic.Truth(workloads={"tsp": 0.0}).time_ns("master", "tsp", 2) / 1000
    assert row["ns_per_unit"] == pytest.approx(2 * true_ns, rel=0.01)
    assert row["cycles_per_unit"] == pytest.approx(3.0 * true_ns, rel=0.01)
    assert row["cpu_ns_per_unit"] == pytest.approx(4 * true_ns, rel=0.01)
    assert (row["cpus_busy"], row["cpus_idle"]) == (pytest.approx(1.5), pytest.approx(0.5))
    assert row["ns_per_unit_low"] <= row["ns_per_unit"] <= row["ns_per_unit_high"]
    assert costs(times, None)["cpus_idle"].null_count() == found.height
