"""Tests on synthetic trials whether branches give the sequential program's answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import synthetic
from sweep_analysis.read.load import read_sweep
from sweep_analysis.read.request import request_of
from sweep_analysis.say.columns import Look
from sweep_analysis.say.sweep_table import SweepTable, is_proven
from sweep_analysis.stats.agreements import agreements

Trials = list[tuple[str, str, str, str | None]]
"""Depth, generator, program and answer of trials; a trial without an answer failed."""

GOOD: Trials = [
    ("8", "uniform", "sequential", "five"),
    ("8", "uniform", "parallel", "five"),
    ("32", "uniform", "parallel", "five"),
    ("8", "skewed", "sequential", "six"),
    ("8", "skewed", "parallel", "six"),
]


def folder(path: Path, trials: Trials, branches: tuple[str, ...] = ("master",)) -> Path:
    """A sweep about answers, in which the sequential program ignores the depth."""
    truth = synthetic.Truth(branches=list(branches), twin=False, trials=1, threads=[1])
    record = next(it for it in synthetic.records(truth) if it["program"] == "parallel")
    manifest = synthetic.manifest("synthetic", truth)
    loads = [("8", "uniform"), ("32", "uniform"), ("8", "skewed")]
    experiment = {
        "name": "synthetic",
        "shows": "",
        "source": "",
        "figure": "answers",
        "sequential_ignores": ["depth"],
    }
    manifest["asked"] |= {"experiment": experiment, "workloads": [_load(*load) for load in loads]}
    lines: list[dict[str, Any]] = []
    for depth, generator, program, answer in trials:
        for branch in branches if program == "parallel" else branches[:1]:
            ended: dict[str, Any] = {"answer": answer}
            if answer is None:
                ended |= {"outcome": "hang" if depth == "32" else "crash", "iterations": []}
            trial = {"trial": str(len(lines)), "branch": branch, "program": program}
            lines.append(record | _load(depth, generator) | trial | ended)
    path.mkdir(exist_ok=True)
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "host.json").write_text(json.dumps(synthetic.host(truth)))
    (path / "trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _load(depth: str, generator: str) -> dict[str, Any]:
    parameters = {"depth": depth, "generator": generator}
    return {"workload": "packets", "size": "tiny", "parameters": parameters}


def rows(path: Path, trials: Trials) -> list[dict[str, Any]]:
    sweep = read_sweep(folder(path, trials))
    return agreements(sweep, request_of(sweep)).to_dicts()


def test_one_sequential_run_is_the_reference_of_all_that_differ_in_ignored_parameters(
    tmp_path: Path,
) -> None:
    found = rows(tmp_path, GOOD)
    assert all(is_proven(row) for row in found)
    assert (found[1]["way"], found[1]["instance"]) == ("depth=32", "generator=uniform")


def test_another_answer_a_failed_trial_and_a_missing_reference_prove_nothing(
    tmp_path: Path,
) -> None:
    of = dict(zip(range(5), GOOD, strict=True))

    def proven(trials: Trials) -> list[bool]:
        return [is_proven(row) for row in rows(tmp_path, trials)]

    wrong = [*GOOD, ("8", "uniform", "parallel", "four")]
    assert proven(wrong) == [False, True, True]
    assert proven([*GOOD, ("32", "uniform", "parallel", None)]) == [True, False, True]
    assert proven([of[1], of[2], of[3], of[4]]) == [False, False, True]
    assert proven([of[0], of[1], of[3], of[4]]) == [True, False, True]
    two = [*GOOD, ("8", "uniform", "sequential", "other")]
    assert proven(two) == [False, False, True]


def text(path: Path, trials: Trials, *branches: str) -> str:
    return SweepTable(read_sweep(folder(path, trials, branches))).text(Look())


def test_each_branch_has_its_share_and_the_number_of_failed_trials(tmp_path: Path) -> None:
    three = ("master", "packed", "split")
    said = text(tmp_path, GOOD, *three)
    assert said.endswith("9 of 9 rows are proven: all their trials agree.\n")
    for more, row in (
        (("8", "skewed", "parallel", "five"), r"packed +six +1/2 +0 +0 +NO"),
        (("32", "uniform", "parallel", None), r"split +five +1/2 +1 +0 +NO"),
        (("8", "uniform", "parallel", None), r"master +five +1/2 +0 +1 +NO"),
    ):
        assert re.search(row, text(tmp_path, [*GOOD, more], *three))
    assert re.search(r"master +six +0/0", text(tmp_path, [*GOOD[:2], GOOD[3]], "master"))
