"""Reads the registered predictions of `results/predictions`, and the cost parameters of the machine that a sweep ran on."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT, Sweep
from sweep_analysis.read.written import wrong_field

FOLDER = CHECKOUT / "results" / "predictions"
"""The folder with a file for each registered prediction."""

EXPERIMENT = "predictions"
"""The experiment that measures all registered predictions."""

COMMAND = f"cargo runner sweep --experiment {EXPERIMENT} "
"""How the command of each prediction begins."""

_REMEDY = "results/predictions/README.md describes the fields"
_GUESS = "guess"
"""How the source of a value in a machine's file begins, if the value was not measured."""

Direction = Literal["faster", "slower", "no-gain"]
_Positive = Annotated[int, msgspec.Meta(ge=1)]


class Range(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A range of a cost parameter, both ends included."""

    at_least: float = 0.0
    at_most: float = math.inf

    def has(self, value: float) -> bool:
        """Whether the value is in the range."""
        return self.at_least <= value <= self.at_most


class Machine(msgspec.Struct, forbid_unknown_fields=True):
    """The class of machines that a prediction is about: at least `cores` cores, and `costs` within ranges."""

    cores: _Positive
    costs: dict[str, Range] = {}


class Origin(msgspec.Struct, forbid_unknown_fields=True):
    """The sweep over a box that a prediction comes from, and the machines of its class that agree with it."""

    sweep: str
    agree: int
    of: _Positive


class Prediction(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """The contents of one file.

    Attributes:
        direction: `faster`, the ratio of `branch` to `against` is below 1/margin; `slower`, it is above the
            margin; `no-gain`, it is above 1/margin.
        command: the command that measures this prediction alone.
        falsified_if: the outcome that falsifies the prediction, in words.
        commit: the commit whose branches and simulator the box ran.
    """

    branch: str
    against: str
    workload: str
    size: str
    parameters: str
    threads: _Positive
    quantity: Literal["time", "cpu"]
    direction: Direction
    margin: Annotated[float, msgspec.Meta(ge=1)]
    command: str
    falsified_if: str
    commit: str
    machine: Machine
    origin: Origin = msgspec.field(name="from")


def read_predictions(folder: Path = FOLDER) -> dict[str, Prediction]:
    """Read all registered predictions, by the name of their file.

    Raises:
        InputError: a file is not a prediction, or names something that the checkout or its experiment lacks.
    """
    known = _known()
    return {file.stem: _read(file, known) for file in sorted(folder.glob("*.toml"))}


def _read(file: Path, known: Mapping[str, set[str]]) -> Prediction:
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(file, f"it is not TOML: {error}", _REMEDY) from error
    try:
        read = msgspec.convert(written, Prediction)
    except msgspec.ValidationError as error:
        raise InputError(file, wrong_field(error, written), _REMEDY) from error
    named: list[tuple[str, str, str]] = [
        ("branch", read.branch, "branches"),
        ("against", read.against, "branches"),
        ("workload", read.workload, "workloads"),
        ("threads", str(read.threads), "threads"),
        *(("machine.costs", name, "costs") for name in read.machine.costs),
    ]
    for field, value, kind in named:
        if value not in known[kind]:
            what = f"field `{field}` is `{value}`, which is not among the {kind} of {_WHERE[kind]}"
            raise InputError(file, what, f"known: {', '.join(sorted(known[kind]))}")
    if not read.command.startswith(COMMAND):
        what = f"field `command` is `{read.command}`, which does not run the experiment"
        raise InputError(file, what, f"begin it with `{COMMAND.strip()}`")
    return read


_WHERE = dict.fromkeys(
    ("branches", "workloads", "threads"), f"the experiment `{EXPERIMENT}` (experiments.toml)"
) | {"costs": "the box (machines/box.toml)"}


def _known() -> dict[str, set[str]]:
    """The things that a prediction may name: the lists of its experiment, and the cost parameters of the box."""
    experiments = _toml(CHECKOUT / "experiments.toml")["experiment"]
    row = next(it for it in experiments if it["name"] == EXPERIMENT)
    listed = {name: set(row[name].split(",")) for name in ("branches", "workloads", "threads")}
    in_checkout = {it["name"] for it in _toml(CHECKOUT / "branches.toml")["branch"]}
    listed["branches"] &= in_checkout
    return listed | {"costs": set(_toml(CHECKOUT / "machines" / "box.toml")["price"])}


def costs_of(sweep: Sweep) -> dict[str, float]:
    """The known cost parameters of the machine that ran a sweep; empty if the machine was not calibrated.

    A host's parameters are in the folder that `cargo runner on-this-host` wrote beside its sweeps, or in the file that
    `cargo runner calibrate` wrote. Guesses in these files are left out. All parameters of a simulated machine are known.
    """
    own = CHECKOUT / "machines" / f"{sweep.machine or 'here'}.toml"
    if sweep.machine:
        return _costs(own) if own.is_file() else {}
    host = sweep.host.get("id")
    of_host = sweep.path.absolute().parents[1] / "hosts" / str(host) / "here.toml"
    file = of_host if of_host.is_file() else own
    if not file.is_file() or not _toml(file)["title"].startswith(f"host {host}:"):
        return {}
    return _costs(file, but=_GUESS)


def _costs(file: Path, but: str | None = None) -> dict[str, float]:
    prices = _toml(file)["price"].items()
    return {
        name: float(row["value"])
        for name, row in prices
        if but is None or not row["source"].startswith(but)
    }


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(file, str(error), "restore the file from a copy") from error
