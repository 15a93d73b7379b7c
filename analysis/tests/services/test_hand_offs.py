"""The cost of handing work on, from synthetic trials with a known answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from made_up import Truth, write_sweep
from sweep_analysis.read.load import Sweep, read_sweep
from sweep_analysis.services.hand_offs import READER, WAYS, request_sentences, requests, transfers


def made_up(folder: Path, trials: list[dict[str, Any]]) -> Sweep:
    """A sweep of these trials of one millisecond and 100 units of work each, with metrics by name."""
    write_sweep(folder, Truth(branches=["master"], twin=False, sequential=False))
    first = json.loads((folder / "trials.jsonl").read_text().splitlines()[0])
    iteration = {"elapsed_ns": 1_000_000, "user_ns": 500_000, "system_ns": 0, "work_units": 100}
    lines = []
    for number, trial in enumerate(trials):
        told = {
            name: {"value": value, "unit": "made up"} for name, value in trial["metrics"].items()
        }
        own = {
            "trial": str(number),
            "cell": str(number),
            "block": number,
            "iterations": [iteration],
        }
        lines.append(json.dumps(first | own | trial | {"metrics": told}))
    (folder / "trials.jsonl").write_text("".join(line + "\n" for line in lines))
    return read_sweep(folder)


def board(way: str, program: str = "parallel") -> dict[str, Any]:
    parameters = {"implementation": way, "posters": "1", "readers": "3"}
    figures = {
        "server_cpu_per_request": 5000.0,
        "requests_per_second": 7.0,
        "post_p50": 1000.0,
        "read_p50": 3000.0,
    }
    switches = {"voluntary_switches": 200.0, "involuntary_switches": 50.0}
    return {
        "workload": "forum",
        "program": program,
        "parameters": parameters,
        "metrics": figures | switches,
    }


def test_whoever_answers_is_told_apart_and_switches_are_counted_per_request(tmp_path: Path) -> None:
    trials = [board("threads"), board("pool", "sequential"), board("queue"), board("pool")]
    rows = requests(made_up(tmp_path / "sweep", trials))
    assert rows["way"].to_list() == list(WAYS)
    row = rows.row(0, named=True)
    assert (row["clients"], row["sleeps"], row["turned out"]) == (4, 2.0, 0.5)
    assert (row["server CPU µs"], row["wait µs"], row["per second"], row["CPUs busy"]) == (
        5.0,
        2.0,
        7.0,
        0.5,
    )
    assert READER in request_sentences(rows)[0]


def test_handlers_that_keep_a_connection_are_no_hand_off(tmp_path: Path) -> None:
    server = {"handlers": "threads", "takes": "connections", "clients": "2"}
    trial = {"workload": "kv", "parameters": server, "metrics": {"voluntary_switches": 1.0}}
    assert requests(made_up(tmp_path / "sweep", [trial, board("pool")])).height == 1


def test_a_transfer_costs_what_it_takes_above_a_synchronous_one_in_the_same_place(
    tmp_path: Path,
) -> None:
    def transfer(io: str, elapsed_ns: int, switches: float) -> dict[str, Any]:
        parameters = {"io": io, "backend": "auto", "operation": "write", "reaches": "cache"}
        iteration = {"elapsed_ns": elapsed_ns, "user_ns": 1, "system_ns": 0, "work_units": 100}
        return {
            "workload": "async-io",
            "parameters": parameters | {"bytes": "512", "compute-steps": "10"},
            "iterations": [iteration],
            "metrics": {
                "voluntary_switches": switches,
                "involuntary_switches": 0.0,
                "most_under_way": 10.0,
            },
        }

    sweep = made_up(
        tmp_path / "sweep",
        [transfer("synchronous", 1_000_000, 0.0), transfer("asynchronous", 3_000_000, 90.0)],
    )
    row = transfers(sweep).row(0, named=True)
    assert (row["way"], row["x"], row["sleeps"], row["at a time"]) == (
        "asynchronous",
        512,
        0.9,
        10.0,
    )
    assert row["extra µs"] == pytest.approx(20.0)
