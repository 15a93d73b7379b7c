"""Latencies: quantiles of trials, summarised over trials and not pooled."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

import synthetic
from sweep_analysis.read.frames import LATENCIES
from sweep_analysis.stats.latency import latencies, waits_of
from sweep_analysis.stats.speedup import trial_times, with_time_outs


def waits(told: dict[str, float], **truth: object) -> pl.DataFrame:
    made = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"ticks": 0.1},
        threads=[2, 4],
        trials=3,
        waits_ns={"packed": told},
        **truth,  # type: ignore[arg-type]
    )
    return latencies(synthetic.swept(made)).collect()


def test_a_configuration_has_the_median_and_the_range_of_its_trials_in_microseconds() -> None:
    found = waits({"latency_p50": 1000.0, "first_job_p99.9": 5000.0})
    assert found.schema == LATENCIES
    assert set(found["branch"]) == {"packed"}
    rows = found.filter(pl.col("threads") == 2).select(
        "kind", "quantile", "trials", "wait_us", "wait_us_low", "wait_us_high"
    )
    assert rows.rows() == [
        ("first_job", "p99.9", 3, 10.0, 5.0, 15.0),
        ("latency", "p50", 3, 2.0, 1.0, 3.0),
    ]


def test_figures_that_are_no_quantile_of_a_latency_are_left_out() -> None:
    found = waits(
        {"latency_over_10ms": 7.0, "cpu_per_unit": 3.0, "latency_p75": 2.0, "x_latency_p50": 1.0},
    )
    assert found.is_empty()


def test_failed_trials_have_no_latencies() -> None:
    found = waits(
        {"latency_p50": 1000.0},
        fails=lambda branch, _, threads, replicate: (
            "crash" if (branch, threads, replicate) == ("packed", 4, 0) else None
        ),
    )
    assert found.sort("threads").select("threads", "trials", "wait_us_low").rows() == [
        (2, 3, 1.0),
        (4, 2, 2.0),
    ]


def test_of_several_kinds_of_latency_the_first_tested_kind_is_compared() -> None:
    truth = synthetic.Truth(
        branches=["master"],
        workloads={"ticks": 0.1},
        threads=[2],
        trials=3,
        waits_ns={"master": {"first_job_p50": 9000.0, "latency_p50": 1000.0, "service_p50": 5.0}},
    )
    found = waits_of(synthetic.swept(truth))
    assert found["p50_ns"].unique().sort().to_list() == [1000.0, 2000.0, 3000.0]


def test_a_trial_that_ran_into_the_limit_waited_for_the_limit() -> None:
    truth = synthetic.Truth(
        branches=["master"],
        workloads={"ticks": 0.1},
        threads=[2],
        trials=3,
        sequential=False,
        waits_ns={"master": {"latency_p50": 1000.0, "latency_p99": 2000.0}},
        fails=lambda *trial: "timeout" if trial[-1] == 1 else None,
    )
    sweep = synthetic.swept(truth)
    limited = replace(sweep, manifest={"asked": {"timeout_s": 60}})
    times = with_time_outs(limited, trial_times(sweep).collect())
    assert times["p50_ns"].max() == times["p99_ns"].max() == 60e9
