"""Named experiments: what `experiments.toml` says of one, and which sweep is one."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import Any

from sweep_analysis.read.load import CHECKOUT, SWEEPS, Sweep, read_sweep

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
