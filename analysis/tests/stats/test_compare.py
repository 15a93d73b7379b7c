"""Results on synthetic sweeps are significant if and only if branches differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import synthetic
from sweep_analysis.stats.compare import FASTER, SLOWER, UNCLEAR, UNTESTED, decide, holm
from sweep_analysis.stats.speedup import trial_times, with_time_outs

FOUR = ["master", "packed", "split-counters", "split-counters-no-jec"]
CLAIMS = [FASTER, SLOWER]


def compare(times: pl.LazyFrame, baseline: str = "master") -> pl.DataFrame:
    return decide(times, baseline).filter(quantity="time")


def compared(truth: synthetic.Truth) -> pl.DataFrame:
    return compare(trial_times(synthetic.swept(truth)))


def test_results_of_wall_and_cpu_time_are_corrected_together() -> None:
    times = trial_times(synthetic.swept(synthetic.Truth(branches=FOUR)))
    whole = compare(times).filter(level="overall", branch="packed")
    alone = decide(times, "master", ["time"]).filter(level="overall", branch="packed")
    assert whole["p_value"].item() == alone["p_value"].item()
    assert whole["p_corrected"].item() >= alone["p_corrected"].item()


def test_a_pooled_ratio_is_the_geometric_mean_of_configurations_of_several_workers_within_the_cpus() -> (
    None
):
    effects = {("packed", "tsp"): 0.9}
    frame = compared(synthetic.Truth(branches=FOUR, effects=effects, trial_noise=0.05))
    own = frame.filter(branch="packed")
    several = own.filter(
        pl.col("threads").is_in([2, 4]), level="cell"
    )  # of 1, 2, 4, 8 on four CPUs
    assert np.log(own.filter(level="overall")["time_ratio"].item()) == pytest.approx(
        several["time_ratio"].log().mean()
    )
    alone = own.filter(level="cell", threads=8)["time_ratio"].log().mean()
    assert np.log(own.filter(level="threads", threads=8)["time_ratio"].item()) == pytest.approx(
        alone
    )


def test_a_row_of_one_configuration_has_its_result_and_its_interval_at_every_level() -> None:
    """On two CPUs a workload's row pools only the configuration with two workers.

    Earlier versions corrected row and configuration differently, or gave them different intervals and noise floors.
    """

    def noisy_alone(branch: str, _: str, threads: int, replicate: int) -> float:
        is_noisy = branch == "split-counters" and threads == 1
        return 1.2 if is_noisy and replicate % 2 else 1.0

    effects = {("packed", "tsp"): 0.955, ("packed", "quicksort"): 1.04}
    truth = synthetic.Truth(
        branches=FOUR,
        effects=effects,
        threads=[1, 2],
        cpus=2,
        trials=7,
        trial_noise=0.01,
        state=noisy_alone,
    )
    frame = compared(truth)
    tested = ["p_value", "p_corrected", "detectable", "verdict", "ratio_drift", "p_drift"]
    told = ["branch", "workload", "time_ratio", "ratio_low", "ratio_high", "band", *tested]
    cells = frame.filter(level="cell", threads=2).select(told).sort(told)
    assert frame.filter(level="workload").select(told).sort(told).equals(cells)
    assert cells["verdict"].n_unique() > 2


def test_a_trial_that_ran_into_the_limit_counts_at_the_limit() -> None:
    """Without these trials the branch that hangs would seem fast, because only its lucky trials would count."""

    def hangs(branch: str, workload: str, _: int, replicate: int) -> str | None:
        return "timeout" if (branch, workload) == ("packed", "tsp") and replicate < 3 else None

    sweep = synthetic.swept(synthetic.Truth(branches=FOUR, fails=hangs, trials=7))
    times = trial_times(sweep).collect()
    with_limit = with_time_outs(replace(sweep, manifest={"asked": {"timeout_s": 60}}), times)
    assert with_limit.height == times.height + 12  # three replicates of four thread counts
    place = {"level": "cell", "branch": "packed", "workload": "tsp"}
    left_out, at_limit = (
        compare(frame.lazy()).filter(**place)["time_ratio"] for frame in (times, with_limit)
    )
    assert all(at_limit > 10 * left_out)


def test_a_large_difference_of_the_aa_control_makes_results_of_its_size_inconclusive() -> None:
    """An A/A control that differs by as much as the branch shows that the host, not the branch, made the difference."""
    effects = {("packed", "tsp"): 1.1}
    truth = synthetic.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, effects=effects, cpus=8
    )
    sweep = synthetic.swept(truth)
    times = trial_times(sweep)
    pooled = compare(times).filter(pl.col("branch") == "packed", level="overall")
    assert set(pooled["verdict"]) == {SLOWER}
    off = pl.when(pl.col("branch") == "master-again").then(1.12).otherwise(1.0)
    disturbed = times.with_columns(pl.col("ns_per_unit") * off)
    assert set(compare(disturbed).filter(pl.col("branch") == "packed")["verdict"]) == {UNCLEAR}


def test_a_failing_branch_loses_configurations_in_its_own_rows_alone() -> None:
    truth = synthetic.Truth(
        branches=FOUR,
        workloads={"tsp": 0.1},
        fails=lambda branch, _, threads, __: (
            "crash" if (branch, threads) == ("packed", 4) else None
        ),
    )
    pooled = compared(truth).filter(pl.col("level") == "workload")
    assert dict(pooled.select("branch", "cells").rows()) == {
        "master-again": 2, "packed": 1, "split-counters": 2, "split-counters-no-jec": 2,
    }  # fmt: skip
    assert pooled["band"].null_count() == 0


def test_where_the_aa_control_fails_nothing_is_tested() -> None:
    truth = synthetic.Truth(
        branches=FOUR,
        effects={("packed", "tsp"): 1.5},
        fails=lambda branch, workload, *_: (
            "crash" if (branch, workload) == ("master-again", "tsp") else None
        ),
    )
    rows = compared(truth).filter(branch="packed")
    assert set(rows.filter(workload="tsp")["verdict"]) == {UNTESTED}
    assert rows.filter(level="overall")["cells"].item() == 4  # two workloads, two thread counts
    assert rows.filter(level="overall")["verdict"].item() == UNCLEAR


def test_latency_is_tested_where_a_workload_reports_it() -> None:
    times = trial_times(synthetic.swept(synthetic.Truth(branches=FOUR, trials=7)))
    longer = pl.when(pl.col("branch") == "packed").then(1.3).otherwise(1.0)
    tells = pl.when(pl.col("workload") == "tsp").then(pl.col("ns_per_unit") * longer)
    rows = decide(times.with_columns(p50_ns=tells, p99_ns=tells), "master").filter(
        branch="packed", level="workload"
    )
    verdicts = {(row["workload"], row["quantity"]): row["verdict"] for row in rows.rows(named=True)}
    assert verdicts["tsp", "time"] == UNCLEAR
    assert verdicts["tsp", "p50"] == verdicts["tsp", "p99"] == SLOWER
    assert ("quicksort", "p50") not in verdicts


def test_times_without_noise_are_not_tested() -> None:
    """If a coarse clock gives all trials the same time, their noise is unknown, and there is no interval."""
    truth = synthetic.Truth(
        branches=FOUR,
        effects={("packed", "tsp"): 1.1},
        **synthetic.QUIET,
    )
    packed = compared(truth).filter(level="cell", workload="tsp", branch="packed")
    assert set(packed["verdict"]) == {UNTESTED}
    assert packed["ratio_low"].null_count() == packed.height
    assert packed["time_ratio"].to_list() == pytest.approx([1.1] * 4, rel=1e-6)


def test_holm_multiplies_and_stays_in_order() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.6, 0.9])).tolist() == pytest.approx([1.0, 1.0])


def test_another_baseline_is_tested_with_the_noise_of_the_aa_controls() -> None:
    truth = synthetic.Truth(
        branches=FOUR, effects={("split-counters", "tsp"): 1.1}, trial_noise=0.005
    )
    times = trial_times(synthetic.swept(truth))
    pooled = compare(times, "packed").filter(
        pl.col("level") == "workload", pl.col("workload") == "tsp"
    )
    verdicts = dict(zip(pooled["branch"], pooled["verdict"], strict=True))
    assert verdicts["split-counters"] == SLOWER
    assert verdicts["master"] == UNCLEAR
    assert verdicts["master-again"] == UNTESTED


def test_a_pooled_claim_is_refused_if_its_ratio_drifts_by_more_than_it_shows() -> None:
    """If a branch gets slower during a sweep, its ratio describes no fixed state."""
    truth = synthetic.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, trials=9, sequential=False
    )
    times = trial_times(synthetic.swept(truth))
    share = pl.col("block") / pl.col("block").max()
    verdicts = {}
    for name, factor in (("steady", pl.lit(1.1)), ("drifting", 1 + 0.2 * share)):
        shifted = (
            pl.when(pl.col("branch") == "packed")
            .then(pl.col("ns_per_unit") * factor)
            .otherwise("ns_per_unit")
        )
        pooled = compare(times.with_columns(shifted)).filter(
            pl.col("level") == "workload", pl.col("branch") == "packed"
        )
        verdicts[name] = pooled["verdict"].item()
        drifted = pooled["ratio_drift"].item()
    assert verdicts == {"steady": SLOWER, "drifting": UNTESTED}
    assert drifted == pytest.approx(1.2, abs=0.03)


def test_missing_replicates_do_not_shrink_a_drift() -> None:
    """An earlier version multiplied the slope by the number of known replicates, and not by the time between them."""

    def crashes(branch: str, _: str, __: int, replicate: int) -> str | None:
        return "crash" if branch == "packed" and replicate in (2, 3, 5, 6) else None

    truth = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        trials=9,
        sequential=False,
        trial_noise=0.002,
        fails=crashes,
        state=lambda branch, _, __, replicate: (
            1.2 ** (replicate / 8) if branch == "packed" else 1.0
        ),
    )
    row = compared(truth).filter(branch="packed", level="workload")
    assert row["ratio_drift"].item() == pytest.approx(1.2, abs=0.02)


def _with_a_slow(
    build: int, cells: set[int] | None = None
) -> Callable[[str, str, int, int], float]:
    """`packed` takes twice the time in one build, at the thread counts in `cells`; by default at all counts."""

    def factor(branch: str, _: str, threads: int, replicate: int) -> float:
        is_slow = replicate == build and (cells is None or threads in cells)
        return (2.0 if is_slow else 0.9) if branch == "packed" else 1.0

    return factor


def test_a_build_that_is_slow_in_all_configurations_counts_and_a_slow_trial_does_not() -> None:
    truth = synthetic.Truth(branches=["master", "packed"], trials=7, trial_noise=0.002)
    mean = (0.9**6 * 2) ** (1 / 7)
    for cells, ratio, verdict in ((None, mean, UNCLEAR), ({4}, 0.9, FASTER)):
        made = replace(truth, state=_with_a_slow(3, cells))
        found = compared(made).filter(level="workload", branch="packed")
        assert found["time_ratio"].to_list() == pytest.approx([ratio] * 3, rel=0.02)
        assert set(found["verdict"]) == {verdict}


def test_the_slowest_build_stands_beside_the_ratio_even_where_it_is_an_outlier() -> None:
    truth = synthetic.Truth(branches=["master", "packed"], trials=7, state=_with_a_slow(3, {4}))
    rows = compared(truth).filter(level="cell", branch="packed", threads=4)
    for low, median, high in rows.select("build_low", "build_median", "build_high").rows():
        assert low < 0.92
        assert median == pytest.approx(0.9, rel=0.03)
        assert high == pytest.approx(2.0, rel=0.05)


def test_a_latency_of_zero_leaves_its_configuration_without_a_ratio() -> None:
    """The baseline's latencies are 0 and 100 in equal numbers, the branch's are 60: 20 % more, and not 40 % less."""
    times = trial_times(synthetic.swept(synthetic.Truth(branches=["master", "packed"], trials=8)))
    of_base = pl.when(pl.col("replicate") % 2 == 0).then(0.0).otherwise(100.0)
    waits = pl.when(pl.col("branch") == "packed").then(60.0).otherwise(of_base)
    at_two = pl.when(pl.col("threads") == 2).then(waits).otherwise(100.0 + pl.col("position"))
    rows = decide(times.with_columns(p50_ns=at_two), "master").filter(quantity="p50", level="cell")
    assert 2 not in set(rows["threads"])
    assert {1, 4, 8} <= set(rows["threads"])


def test_configurations_have_the_share_of_levels_that_test_nothing() -> None:
    truth = synthetic.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[2], trials=7
    )
    rows = compared(truth).filter(branch="packed", level="cell")
    both = 2  # wall and CPU time, which are equal in this sweep
    assert rows["p_corrected"][0] == pytest.approx(min(both * rows["p_value"][0], 1.0))
