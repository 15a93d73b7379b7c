"""Tests the notes on a mean: the counts, the median, the largest contributions, and the pooled thread counts."""

from __future__ import annotations

import re

import synthetic
from sweep_analysis.say.averages import beside_the_mean
from sweep_analysis.say.comparison import threads_of
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.decisions import Decisions


def decided() -> Decisions:
    workloads = dict.fromkeys(("a", "b", "c", "d", "e", "inject"), 0.1)
    truth = synthetic.Truth(
        branches=["master", "good"], workloads=workloads, threads=[1, 2, 4], cpus=2, trials=7,
        effects={("good", "inject"): 0.5}, trial_noise=0.005, sequential=False,
    )  # fmt: skip
    return analyse(synthetic.swept(truth)).decisions


def test_a_mean_that_is_one_workloads_is_told_so() -> None:
    decisions = decided()
    row = decisions.rows.filter(level="overall", quantity="time").row(0, named=True)
    counts, median, few = beside_the_mean(decisions.comparisons, row)
    assert counts.startswith("1 faster, 0 slower, 5 inconclusive (detectable: median ")
    assert re.fullmatch(r"median [−+±]0\.\d.%", median)
    assert few.startswith("`inject`, ")
    assert re.search(r" make (9\d % of|all of) the mean$", few)


def test_a_mean_pools_neither_one_worker_nor_more_than_the_cpus() -> None:
    decisions = decided()
    for level in ("overall", "workload"):
        row = decisions.rows.filter(level=level, quantity="time").row(0, named=True)
        assert threads_of(decisions.comparisons, row) == "2 threads"
    cell = decisions.rows.filter(level="cell").row(0, named=True)
    assert beside_the_mean(decisions.comparisons, cell) == []
