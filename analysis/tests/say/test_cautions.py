"""Cautions: the conclusions that a sweep does not support."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import synthetic
from sweep_analysis.report.page import render_page
from sweep_analysis.say.cautions import cautions, voids
from sweep_analysis.stats.analysis import analyse


@pytest.mark.parametrize(
    ("distances", "is_told"),
    [
        ([48.0] * 4 + [190.0], True),
        ([92.0, 94.0], False),
        ([92.0] * 74 + [25000.0], False),
        ([None], False),
    ],
    ids=["moved", "steady", "interrupted once", "not measured"],
)
def test_cpus_that_a_hypervisor_moved_are_told_of(
    distances: list[float | None], *, is_told: bool
) -> None:
    truth = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        threads=[2],
        trials=25,
        sequential=False,
    )
    each = itertools.cycle(distances)
    sweep = synthetic.swept(truth, lambda record: record.update(core_to_core_ns=next(each)))
    told = [text for text in cautions(analyse(sweep)) if "latency between CPUs changed" in text]
    assert len(told) == is_told
    if is_told:
        assert "far more or less in 20 % of the trials (48 to 190 ns)" in told[0]


SMALL = synthetic.Truth(
    branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[1, 2], trials=5, cpus=4
)
Change = Callable[[dict[str, Any]], object]


def share_of_cpu(percent: int) -> Change:
    def change(trial: dict[str, Any]) -> None:
        for iteration in trial["iterations"]:
            iteration |= {"user_ns": iteration["elapsed_ns"] * percent // 100, "system_ns": 0}

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (share_of_cpu(32), "got only 32 % of a CPU"),
        (lambda trial: trial.update(steal_ns=trial["process_ns"]), "took 25 % of the CPUs' time"),
        (
            lambda trial: trial.update(quota_throttled_ns=trial["process_ns"] // 2),
            "stopped the programs for 50 %",
        ),
    ],
    ids=["busy", "stolen", "throttled"],
)
def test_a_host_that_takes_the_cpu_away_voids_the_sweep(change: Change, told: str) -> None:
    sweep = synthetic.swept(SMALL, change)
    (void,) = voids(sweep)
    assert told in void
    assert cautions(analyse(sweep))[0] == void


@pytest.mark.parametrize("percent", [32, 95])
def test_a_program_of_the_user_that_waits_does_not_show_a_busy_host(percent: int) -> None:
    sweep = synthetic.swept(SMALL, share_of_cpu(percent))
    asked = sweep.manifest["asked"] | {"program": {"name": "mine", "folder": "mine"}}
    waiting = synthetic.with_manifest(sweep, asked=asked)
    assert not voids(waiting)
    assert not any("of a CPU" in text for text in cautions(analyse(waiting)))


def test_a_host_that_does_a_little_other_work_adds_noise_and_voids_nothing() -> None:
    sweep = synthetic.swept(SMALL, share_of_cpu(95))
    assert not voids(sweep)
    assert any("got only 95 % of a CPU" in text for text in cautions(analyse(sweep)))


def test_a_quiet_host_voids_nothing() -> None:
    sweep = synthetic.swept(SMALL)
    assert not voids(sweep)
    assert not any("of a CPU" in text for text in cautions(analyse(sweep)))


def test_what_voids_a_sweep_stands_beside_its_answer() -> None:
    page = render_page(analyse(synthetic.swept(SMALL, share_of_cpu(32))), [])
    box = page.split('id="summary"')[1].split("</section>")[0]
    assert box.index("got only 32\N{NO-BREAK SPACE}% of a CPU") < box.index('class="answer"')
