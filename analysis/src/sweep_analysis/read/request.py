"""Reads from a manifest the user's request to the runner, and the named experiment of a sweep."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import Any

import msgspec

from sweep_analysis.read.committed import committed_sweeps
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT, Sweep, read_sweep
from sweep_analysis.read.records import pairs
from sweep_analysis.read.written import SPEEDUP_BY_BRANCH, Experiment

ANSWERS = "answers"
"""The figure that is a table: whether every branch gives the sequential program's answer."""


def experiment_of(sweep: Sweep) -> Experiment | None:
    """The named experiment of a sweep; None for a sweep started from a preset.

    A simulated sweep has the figure `speedup-by-branch`, because the figures of older studies show numbers published for hosts.
    """
    asked = sweep.manifest.get("asked", {}).get("experiment")
    if asked is None:
        return None
    found = msgspec.convert(asked, Experiment)
    return msgspec.structs.replace(found, figure=SPEEDUP_BY_BRANCH) if sweep.machine else found


def experiment_named(name: str) -> Experiment:
    """The experiment of `experiments.toml` with that name.

    Raises:
        KeyError: no experiment has that name.
    """
    listed = tomllib.loads((CHECKOUT / "experiments.toml").read_text(encoding="utf-8"))
    row = {entry["name"]: entry for entry in listed["experiment"]}[name]
    return msgspec.convert(
        {field.replace("-", "_"): value for field, value in row.items()}, Experiment
    )


def newest_of(experiment: str) -> Sweep | None:
    """The newest committed measured sweep of a named experiment; None if there is none."""
    for folder in reversed(committed_sweeps()):
        asked = json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("asked", {})
        if (asked.get("experiment") or {}).get("name") == experiment and "machine" not in asked:
            return read_sweep(folder)
    return None


Place = tuple[str, str, str]
"""A workload, its size and its parameters as `schema.TRIALS` has them."""


@dataclass(frozen=True)
class Load:
    """A workload with its size and parameters.

    Attributes:
        place: the workload's name, size and parameters in trial records.
        parameters: the parameters by name.
        telling: names of the parameters that distinguish this load from other loads of the workload.
        ignored: names of the parameters that the sequential program ignores.
    """

    place: Place
    parameters: dict[str, str]
    telling: frozenset[str]
    ignored: frozenset[str]

    def own(self, *, is_sequential: bool = False) -> str:
        """The parameters that distinguish this load from other loads of the workload, as `name=value`."""
        return self._named(self.telling - (self.ignored if is_sequential else frozenset()))

    def way(self) -> str:
        """The parameters of `own` that the sequential program ignores."""
        return self._named(self.telling & self.ignored)

    @property
    def sequential(self) -> Place:
        """The key that all loads with the same sequential program share."""
        return (*self.place[:2], self._named(frozenset(self.parameters) - self.ignored))

    def _named(self, names: frozenset[str]) -> str:
        return pairs({name: value for name, value in self.parameters.items() if name in names})


@dataclass(frozen=True)
class Request:
    """The user's request, from the manifest.

    Attributes:
        loads: the loads in the order of the plan, each once.
        conditions: pairs of frequency mode and placement, in the order of the plan.
        names: the baseline, its A/A control if the user requested it, the other branches.
        branches: the names of branches without the control, in the order of the plan.
        is_about_answers: whether the sweep checks answers, and not times.
    """

    loads: list[Load]
    conditions: list[tuple[str, str]]
    names: list[str]
    branches: list[str]
    is_about_answers: bool


def request_of(sweep: Sweep) -> Request:
    """Reads the user's request from the manifest of a sweep.

    Raises:
        InputError: the manifest lacks the request or a baseline.
    """
    asked: dict[str, Any] = sweep.manifest.get("asked") or {}
    is_whole = all(asked.get(name) for name in ("workloads", "branches", "modes"))
    if not is_whole or sweep.baseline is None:
        raise InputError(
            sweep.path / "manifest.json",
            "it lacks the request of the sweep (`asked`)",
            "restore the file as the runner wrote it; `table SWEEP speedups` needs no request",
        )
    experiment = experiment_of(sweep)
    ignored = experiment.sequential_ignores if experiment else frozenset[str]()
    others = [name for name in asked["branches"] if name != sweep.baseline]
    return Request(
        list({load.place: load for load in _loads(asked["workloads"], ignored)}.values()),
        [(mode, placement) for mode in asked["modes"] for placement in asked["placements"]],
        [sweep.baseline, *([str(sweep.twin)] if asked["twin"] else []), *others],
        asked["branches"],
        experiment is not None and experiment.figure == ANSWERS,
    )


def _loads(rows: list[dict[str, Any]], ignored: frozenset[str]) -> list[Load]:
    loads = []
    for row in rows:
        own: dict[str, str] = row["parameters"]
        alike = [it["parameters"] for it in rows if it["workload"] == row["workload"]]
        telling = {
            name for name, value in own.items() if any(it.get(name) != value for it in alike)
        }
        place = (row["workload"], row["size"], pairs(own))
        loads.append(Load(place, own, frozenset(telling), ignored))
    return loads
