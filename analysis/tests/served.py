"""Synthetic sweeps of servers: one trial for each pair of parameters and metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from made_up import Truth, write_sweep
from sweep_analysis.read.experiment import Experiment
from sweep_analysis.read.load import Sweep, read_sweep
from sweep_analysis.services.servers import FORUM_GRID, SERVICE_BY_THREADS

KV = Experiment("kv-queues", "made up", "made up", SERVICE_BY_THREADS, frozenset())
FORUM = Experiment("forum-grid", "made up", "made up", FORUM_GRID, frozenset())


def made_up(
    folder: Path, trials: list[tuple[dict[str, str], dict[str, tuple[float, str]]]]
) -> Sweep:
    """A sweep of one trial for each pair of parameters and metrics."""
    write_sweep(folder, Truth(branches=["master"], twin=False, sequential=False))
    first = json.loads((folder / "trials.jsonl").read_text().splitlines()[0])
    lines = []
    for number, (parameters, metrics) in enumerate(trials):
        told = {name: {"value": value, "unit": unit} for name, (value, unit) in metrics.items()}
        record: dict[str, Any] = {
            "trial": str(number),
            "cell": str(number),
            "block": number,
            "threads": 4,
        }
        lines.append(json.dumps(first | record | {"parameters": parameters, "metrics": told}))
    (folder / "trials.jsonl").write_text("".join(line + "\n" for line in lines))
    return read_sweep(folder)


def server(
    queue: str = "regular",
    empty: str = "wait",
    handlers: str = "threads",
    store: str = "reader-writer",
) -> dict[str, str]:
    return {"handlers": handlers, "queue": queue, "empty": empty, "store": store}


def board(
    implementation: str, posters: int, rate: float, harness: str | None = None
) -> tuple[dict[str, str], dict[str, tuple[float, str]]]:
    parameters = {"implementation": implementation, "posters": str(posters), "readers": "1"}
    named = (
        {} if harness is None else {"harness": harness}
    )  # sweeps from before there were two have none
    return parameters | named, {"posts_per_second": (rate, "requests/s")}
