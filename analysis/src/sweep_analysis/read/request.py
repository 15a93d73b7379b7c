"""The sweep that the user asked the runner for, in the order of the tables, and the named experiment that it is."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import Any

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT, SWEEPS, Sweep, read_sweep
from sweep_analysis.read.records import pairs

SPEEDUP_BY_BRANCH = "speedup-by-branch"
"""Speed-up by threads, a panel for each workload: what every report shows."""

ANSWERS = "answers"
"""A table: whether every branch gives the sequential program's answer."""


@dataclass(frozen=True)
class Experiment:
    """The named experiment that a sweep ran, from its manifest.

    Attributes:
        name: name in `experiments.toml`.
        shows: its purpose, in one line.
        source: where it was published.
        figure: the kind of its figure.
        sequential_ignores: parameters that mean nothing to the sequential program.
    """

    name: str
    shows: str
    source: str
    figure: str
    sequential_ignores: frozenset[str]

    @property
    def has_own_figure(self) -> bool:
        """Whether its figure, or table, takes the place of the figures of branches, which are not tested then."""
        return self.figure != SPEEDUP_BY_BRANCH


def experiment_of(sweep: Sweep) -> Experiment | None:
    """The experiment that a sweep is; None for a sweep started from a preset.

    A simulated sweep is never drawn beside what was published of hosts: its figures are those of
    branches.
    """
    asked: dict[str, Any] | None = sweep.manifest.get("asked", {}).get("experiment")
    if asked is None:
        return None
    ignores = frozenset(asked["sequential_ignores"])
    figure = SPEEDUP_BY_BRANCH if sweep.machine else asked["figure"]
    return Experiment(asked["name"], asked["shows"], asked["source"], figure, ignores)


def experiment_named(name: str) -> Experiment:
    """The experiment of `experiments.toml` with that name.

    Raises:
        KeyError: there is none.
    """
    listed = tomllib.loads((CHECKOUT / "experiments.toml").read_text(encoding="utf-8"))[
        "experiment"
    ]
    row = {entry["name"]: entry for entry in listed}[name]
    ignores = frozenset(row.get("sequential-ignores", []))
    return Experiment(name, row["shows"], row["source"], row["figure"], ignores)


def newest_of(experiment: str) -> Sweep | None:
    """The newest committed sweep of a named experiment that was measured; None if there is none."""
    for folder in sorted(SWEEPS.iterdir(), reverse=True):
        asked = json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("asked", {})
        if (asked.get("experiment") or {}).get("name") == experiment and "machine" not in asked:
            return read_sweep(folder)
    return None


Place = tuple[str, str, str]
"""A workload, its size and its parameters as `schema.TRIALS` has them."""


@dataclass(frozen=True)
class Load:
    """A workload with all that selects its instance.

    Attributes:
        place: how its trials name it.
        parameters: by name.
        telling: names of parameters that tell it from the other loads of its workload.
        ignored: names of parameters that mean nothing to the sequential program.
    """

    place: Place
    parameters: dict[str, str]
    telling: frozenset[str]
    ignored: frozenset[str]

    def own(self, *, is_sequential: bool = False) -> str:
        """The parameters that tell it from others of its workload, as `name=value`."""
        return self._named(self.telling - (self.ignored if is_sequential else frozenset()))

    def way(self) -> str:
        """Those of `own` that mean nothing to the sequential program."""
        return self._named(self.telling & self.ignored)

    @property
    def sequential(self) -> Place:
        """The key that all loads with the same sequential program share."""
        return (*self.place[:2], self._named(frozenset(self.parameters) - self.ignored))

    def _named(self, names: frozenset[str]) -> str:
        return pairs({name: value for name, value in self.parameters.items() if name in names})


@dataclass(frozen=True)
class Request:
    """The user's request, as the manifest has it.

    Attributes:
        loads: in the order of the plan, each once.
        conditions: pairs of frequency mode and placement, likewise.
        names: the baseline, its A/A control if it ran, the other branches.
        branches: the names of branches, the control excluded, in the order of the plan.
        is_about_answers: whether the result is agreement, not time.
    """

    loads: list[Load]
    conditions: list[tuple[str, str]]
    names: list[str]
    branches: list[str]
    is_about_answers: bool


def request_of(sweep: Sweep) -> Request:
    """Reads the user's request from the manifest of a sweep.

    Raises:
        InputError: the manifest has no request, as in the study's layout.
    """
    asked: dict[str, Any] = sweep.manifest.get("asked") or {}
    is_whole = all(asked.get(name) for name in ("workloads", "branches", "modes"))
    if not is_whole or sweep.baseline is None:
        raise InputError(
            sweep.path / "manifest.json",
            "does not say what was asked",
            "only a sweep of this runner has the table; see `speedup` and `compare`",
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
    return [
        Load(
            (row["workload"], row["size"], pairs(row["parameters"])),
            row["parameters"],
            frozenset(
                name
                for name, value in row["parameters"].items()
                if any(
                    other["parameters"].get(name) != value
                    for other in rows
                    if other["workload"] == row["workload"]
                )
            ),
            ignored,
        )
        for row in rows
    ]
