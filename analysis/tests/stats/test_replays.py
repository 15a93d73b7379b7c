"""Replays beside programs, on synthetic sweeps."""

from __future__ import annotations

import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report.statement import Statement
from sweep_analysis.report.statement_kinds import KINDS
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.replays import replays

SERIAL = {"hash": 0.2, "sort": 0.1}
"""Amdahl's fractions of two programs. On one thread each takes as long."""


def sweep(recorded: str = "", machine: str | None = None, **more: object) -> Analysis:
    """Of the programs, or of the replay of one of them, without noise."""
    told = {
        "workloads": {"replay": SERIAL[recorded]} if recorded else SERIAL,
        "machine": machine,
        **more,
    }
    quiet = dict.fromkeys(["trial_noise", "iteration_noise", "block_noise"], 0.0)
    truth = synthetic.Truth(
        branches=["master"], threads=[1, 2], cpus=2, twin=False, sequential=False, **quiet, **told
    )  # type: ignore[arg-type]
    named = {"input": f"../{recorded}.zst"} if recorded else {}
    return analyse(synthetic.swept(truth, lambda record: record.update(named)))


def all_replays(**of_hash: object) -> list[Analysis]:
    return [
        sweep(
            recorded,
            machine,
            **(of_hash if (recorded, machine) == ("hash", "here") else {}),
        )
        for recorded in SERIAL
        for machine in (None, "here")
    ]


def test_a_replay_that_is_the_program_predicts_it_and_what_lies_outside_the_pool_is_taken_from_one_thread() -> (
    None
):
    # This one has half of the program: it saves half of what the program does, and the other half
    # stays as it was.
    found = replays(sweep(), all_replays(effects={("master", "replay"): 0.5}))
    assert found["native"].to_list() == pytest.approx([1, 1])
    one, two = found["one_ms"][0], found["two_ms"][0]
    assert two == pytest.approx(0.6 * one)
    assert found["simulated"].to_list() == pytest.approx([(one - 0.2 * one) / two, 1])


def test_the_threshold_is_four_in_five_and_misses_are_named() -> None:
    several = all_replays(effects={("master", "replay"): 0.5})
    text, _ = KINDS["replays"](Statement("x", CHECKOUT, [sweep(), *several], []))
    sentence, _, head, _, *rows = text.splitlines()
    told = "Natively 2 of 2 within 15%, **passed**. In simulation 1 of 2 within 15%, **failed**; misses `hash` ("
    assert f"Replays on 2 threads, on `master`: {told}" in sentence
    assert [cell.strip() for cell in head.split("|")[1:-1]] == [
        *("program", "own time on 1, ms", "own time on 2, ms"),
        *("replayed natively, ratio", "replayed in simulation, ratio"),
    ]
    assert [row.split("|")[1].strip() for row in rows] == ["hash", "sort"]
    assert rows[0].endswith("| 1 | 1.33 |")


def test_a_program_without_both_replays_is_refused() -> None:
    own, several = sweep(), all_replays()
    with pytest.raises(InputError, match="`sort` lacks a measured or a simulated replay"):
        replays(own, several[:3])
    with pytest.raises(InputError, match="all replays are measured, or all are simulated"):
        KINDS["replays"](Statement("x", CHECKOUT, [own, several[0]], []))
