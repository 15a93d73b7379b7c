"""Predicted beside measured counts, on synthetic sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import made_up
from sweep_analysis.__main__ import main
from sweep_analysis.read.frames import VALIDATED_COUNTS
from sweep_analysis.read.load import Sweep, read_sweep
from sweep_analysis.say.validation import count_sentences
from sweep_analysis.stats.validated_counts import by_event, validated_counts

MEASURED = {"jobs_executed": 1_000, "steals_won": 100, "sleeps": 20, "wakes_sent": 0, "pushes": 7}
PREDICTED = {
    "jobs_executed": 1_000,
    "steals_won": 140,
    "sleeps": 40,
    "wakes_sent": 3,
    "pushes": 900,
}


def sweep(folder: Path, machine: str | None, counts: dict[str, int] | None) -> Sweep:
    """One cell on two threads; each worker counts what `counts` says."""
    truth = made_up.Truth(
        branches=["packed"],
        workloads={"tsp": 0.1},
        threads=[2],
        cpus=2,
        counts={"packed": counts} if counts else {},
        counted_trials=1,
        machine=machine,
    )
    return read_sweep(made_up.write_sweep(folder, truth))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Sweep]:
    folder = tmp_path_factory.mktemp("counts")
    return sweep(folder / "simulated", "here", PREDICTED), sweep(
        folder / "measured", None, MEASURED
    )


def test_a_count_is_near_if_it_is_within_the_factor_and_few_events_are_not_judged(
    pair: tuple[Sweep, Sweep],
) -> None:
    found = validated_counts(*pair)
    assert found.schema == VALIDATED_COUNTS
    rows = {row["event"]: row for row in found.to_dicts()}
    assert set(rows) == {
        "jobs_executed",
        "steals_won",
        "sleeps",
        "wakes_sent",
    }  # pushes are not compared
    # Of two workers, and 1 by threads outside.
    assert (rows["steals_won"]["predicted"], rows["steals_won"]["measured"]) == (281, 201)
    assert rows["steals_won"]["ratio"] == pytest.approx(281 / 201)
    near = {event: row["is_near"] for event, row in rows.items()}
    assert near == {"jobs_executed": True, "steals_won": True, "sleeps": False, "wakes_sent": None}


def test_an_event_that_one_sweep_alone_has_is_a_miss_without_a_ratio(tmp_path: Path) -> None:
    simulated = sweep(tmp_path / "simulated", "here", {"sleeps": 50})
    measured = sweep(tmp_path / "measured", None, {"sleeps": 0})
    file = measured.path / "trials.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        if "events" in record:
            record["events"]["outside"] = {"sleeps": 0}
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = validated_counts(simulated, read_sweep(measured.path))
    assert found.select("measured", "ratio", "is_near").rows() == [(0.0, None, False)]
    assert by_event(found)["ratio"].to_list() == [None]


def test_counts_are_told_for_the_work_that_was_measured(tmp_path: Path) -> None:
    simulated, measured = (
        sweep(tmp_path / name, machine, MEASURED)
        for name, machine in (("simulated", "here"), ("measured", None))
    )
    file = simulated.path / "trials.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        if "events" in record:
            record["events"]["work_units"] *= 2
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = validated_counts(read_sweep(simulated.path), measured)
    assert found["ratio"].drop_nulls().to_list() == pytest.approx([0.5] * 4)


def test_the_summary_has_a_row_for_each_event_and_misses_are_named(
    pair: tuple[Sweep, Sweep],
) -> None:
    counts = validated_counts(*pair)
    rows = {row["event"]: row for row in by_event(counts).to_dicts()}
    assert (rows["sleeps"]["near"], rows["sleeps"]["judged"], rows["sleeps"]["few"]) == (0, 1, 0)
    assert (
        rows["wakes_sent"]["near"],
        rows["wakes_sent"]["judged"],
        rows["wakes_sent"]["few"],
    ) == (0, 0, 1)
    said = count_sentences(counts)
    assert (
        said[0]
        == "missed: sleeps of tsp · small on 2 threads with `packed`: simulated 81, measured 41"
    )
    assert said[-1].startswith("2 of 3 counts within a factor of 1.5; 1 not judged")


def test_sweeps_without_counts_are_said_to_have_none(
    tmp_path: Path, pair: tuple[Sweep, Sweep]
) -> None:
    silent = sweep(tmp_path / "measured", None, None)
    assert "--instrument" in count_sentences(validated_counts(pair[0], silent))[0]


def test_the_command_shows_a_row_for_each_event(
    tmp_path: Path, pair: tuple[Sweep, Sweep], capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(made.path) for made in pair]
    assert main(["validate", *folders, "--format", "md", "--output", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "| steals | 2 | 1 | 1 | 0 | 1.4 |" in told
    assert "2 of 3 counts" in told
    assert (tmp_path / "validation-counts.csv").is_file()
