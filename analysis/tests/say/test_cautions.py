"""Cautions: the conclusions that a sweep does not support."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.page import render_page
from sweep_analysis.say.cautions import cautions, voids
from sweep_analysis.stats.analysis import analyse


def sweep_at(folder: Path, distances: Sequence[float | None]) -> Path:
    """A sweep in which trial after trial runs on CPUs at the next of these distances."""
    truth = made_up.Truth(
        branches=["master", "packed"],
        workloads={"tsp": 0.1},
        threads=[2],
        trials=25,
        sequential=False,
    )
    made_up.write_sweep(folder, truth)
    records = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    for number, record in enumerate(records):
        record["core_to_core_ns"] = distances[number % len(distances)]
    (folder / "trials.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


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
    tmp_path: Path, distances: list[float | None], *, is_told: bool
) -> None:
    folder = sweep_at(tmp_path / "sweep", distances)
    told = [text for text in cautions(analyse(read_sweep(folder))) if "far from each other" in text]
    assert len(told) == is_told
    if is_told:
        assert "in 20 % of the trials more or less (48 to 190 ns)" in told[0]


def small_sweep(
    folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda trial: trial
) -> Path:
    """A small sweep whose records were changed."""
    truth = made_up.Truth(
        branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[1, 2], trials=5, cpus=4
    )
    made_up.write_sweep(folder, truth)
    lines = (folder / "trials.jsonl").read_text().splitlines()
    (folder / "trials.jsonl").write_text(
        "".join(json.dumps(change(json.loads(line))) + "\n" for line in lines)
    )
    return folder


def share_of_cpu(percent: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Iterations that got only this much of a CPU."""

    def change(trial: dict[str, Any]) -> dict[str, Any]:
        for iteration in trial["iterations"]:
            iteration |= {"user_ns": iteration["elapsed_ns"] * percent // 100, "system_ns": 0}
        return trial

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (share_of_cpu(32), "got only 32 % of a CPU"),
        (lambda trial: trial | {"steal_ns": trial["process_ns"]}, "took 25 % of the CPUs' time"),
        (
            lambda trial: trial | {"quota_throttled_ns": trial["process_ns"] // 2},
            "stopped the programs for 50 %",
        ),
    ],
    ids=["busy", "stolen", "throttled"],
)
def test_a_host_that_takes_the_cpu_away_voids_the_sweep(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], told: str
) -> None:
    sweep = read_sweep(small_sweep(tmp_path / "sweep", change))
    (void,) = voids(sweep)
    assert told in void
    assert cautions(analyse(sweep))[0] == void


def test_a_host_that_does_a_little_other_work_adds_noise_and_voids_nothing(tmp_path: Path) -> None:
    sweep = read_sweep(small_sweep(tmp_path / "sweep", share_of_cpu(95)))
    assert not voids(sweep)
    assert any("got only 95 % of a CPU" in text for text in cautions(analyse(sweep)))


def test_a_quiet_host_voids_nothing(tmp_path: Path) -> None:
    sweep = read_sweep(small_sweep(tmp_path / "sweep"))
    assert not voids(sweep)
    assert not any("of a CPU" in text for text in cautions(analyse(sweep)))


def test_what_voids_a_sweep_stands_beside_its_answer(tmp_path: Path) -> None:
    page = render_page(analyse(read_sweep(small_sweep(tmp_path / "sweep", share_of_cpu(32)))), [])
    box = page.split('id="summary"')[1].split("</section>")[0]
    assert box.index("got only 32 % of a CPU") < box.index('class="answer"')


@pytest.mark.parametrize(("step_ns", "is_told"), [(10_000_000, True), (1, False)])
def test_a_clock_that_counts_in_large_steps_is_told_of(
    tmp_path: Path, step_ns: int, *, is_told: bool
) -> None:
    def coarse(trial: dict[str, Any]) -> dict[str, Any]:
        for iteration in trial["iterations"]:
            iteration["elapsed_ns"] = max(1, iteration["elapsed_ns"] // step_ns) * step_ns
        return trial

    told = [
        text
        for text in cautions(analyse(read_sweep(small_sweep(tmp_path, coarse))))
        if "wall time is coarse" in text
    ]
    assert bool(told) == is_told


def test_a_clock_is_coarse_in_the_cells_that_show_it_and_in_no_others(tmp_path: Path) -> None:
    def coarse(trial: dict[str, Any]) -> dict[str, Any]:
        for iteration in trial["iterations"] if trial["threads"] == 2 else []:
            iteration["elapsed_ns"] = iteration["elapsed_ns"] // 10_000_000 * 10_000_000
        return trial

    told = [
        text
        for text in cautions(analyse(read_sweep(small_sweep(tmp_path, coarse))))
        if "wall time is coarse: in 3 cells" in text
    ]
    assert told, "master, its twin and packed on two threads, among seven cells"
