"""What a sweep tells its readers not to conclude."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import made_up
from sweep_analysis.cautions import cautions
from sweep_analysis.findings import analyse
from sweep_analysis.load import read_sweep


@pytest.mark.parametrize(
    ("distances", "is_told"),
    [([48.0, 190.0], True), ([92.0, 94.0], False), ([92.0] * 50 + [25000.0], False), ([None], False)],
    ids=["moved", "steady", "interrupted once", "not measured"],
)
def test_cpus_that_a_hypervisor_moved_are_told_of(
    tmp_path: Path, distances: list[float | None], *, is_told: bool
) -> None:
    truth = made_up.Truth(branches=["master", "packed"], workloads={"tsp": 0.1}, threads=[2], trials=17)
    folder = made_up.write_sweep(tmp_path / "sweep", truth)
    records = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    for number, record in enumerate(records):
        record["core_to_core_ns"] = distances[number % len(distances)]
    (folder / "trials.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    told = [text for text in cautions(analyse(read_sweep(folder))) if "far from each other" in text]
    assert len(told) == is_told
    if is_told:
        assert "from 48 to 190 ns" in told[0]
