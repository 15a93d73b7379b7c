"""Tests the sentences that `compare --program` prints: for each quantity a change, an interval and a result."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import synthetic
from sweep_analysis.say.columns import Look
from sweep_analysis.say.sweep_table import SweepTable
from sweep_analysis.say.user_program import UNSEEN


def decisions(megabytes: dict[str, float], *, is_of_user: bool = True) -> list[str]:
    return shown(megabytes, is_of_user=is_of_user).decisions()


def shown(megabytes: dict[str, float], *, is_of_user: bool = True, layouts: int = 7) -> SweepTable:
    """A sweep in which `champion` takes half the time, and each branch takes these `megabytes` of memory."""
    truth = synthetic.Truth(
        layouts=layouts,
        branches=["master", "champion"],
        workloads={"mine": 0.1},
        threads=[2],
        cpus=2,
        trials=7,
        sequential=False,
        effects={("champion", "mine"): 0.5},
    )
    numbers = itertools.count()

    def remember(record: dict[str, Any]) -> None:
        size = megabytes.get(record["branch"].removesuffix("-again"))
        if size is not None:
            noisy = size * 1e6 * (1 + next(numbers) * 1e-4)
            record["metrics"]["peak_memory"] = {"value": noisy, "unit": "bytes"}

    sweep = synthetic.swept(truth, remember)
    program = {"program": {"name": "mine", "folder": "mine"}} if is_of_user else {}
    asked = sweep.manifest["asked"] | program
    return SweepTable(synthetic.with_manifest(sweep, asked=asked))


def test_time_cpu_time_and_memory_have_each_an_interval_and_a_result() -> None:
    time, cpu, memory, *_ = decisions({"master": 40, "champion": 44})
    assert re.match(r"champion takes (49|50)\.\d.% less time", time)
    assert "less time than master on mine with 2 threads (−" in time
    assert "less CPU time than master on mine" in cpu
    assert re.match(r"champion takes (9\.9|10\.\d).% more", memory)
    assert "more peak memory than master on mine with 2 threads (+" in memory
    assert [line.rsplit(": ", 1)[1] for line in (time, cpu, memory)] == ["significant."] * 3


def test_one_program_has_no_means_over_programs_and_no_counts_of_configurations() -> None:
    def text(*, is_of_user: bool) -> str:
        return shown({}, is_of_user=is_of_user).text(Look())

    several = ("By configuration", "Which branch to merge?", "size small")
    assert all(words in text(is_of_user=False) for words in several)
    assert not any(words in text(is_of_user=True) for words in several)
    untested = shown({}, layouts=1).decisions()
    assert any(line.startswith("No branch is tested: ") for line in untested)


def test_memory_does_not_change_what_is_said_of_times() -> None:
    little = decisions({"master": 40, "champion": 40})
    much = decisions({"master": 40, "champion": 80})
    assert little[:2] == much[:2]
    assert little[3:] == much[3:]
    assert little[2] != much[2]


def test_memory_that_a_trial_does_not_report_is_not_compared() -> None:
    assert decisions({"master": 40})[2] == UNSEEN


@pytest.mark.parametrize("megabytes", [{}, {"master": 40, "champion": 80}])
def test_nothing_is_said_of_programs_in_a_sweep_of_workloads(megabytes: dict[str, float]) -> None:
    lines = decisions(megabytes, is_of_user=False)
    assert not any("memory" in line for line in lines)
    assert not lines[0].startswith("champion takes")
