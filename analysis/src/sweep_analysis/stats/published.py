"""What others published of wide machines, beside what simulations of them say: `results/published.toml`."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import msgspec
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.analysis import Analysis

FILE = CHECKOUT / "results" / "published.toml"
"""The figures, and the mark by which simulations of them pass."""

BRANCH = "master"
"""What others measured."""


class Mark(msgspec.Struct, forbid_unknown_fields=True):
    """What passes: simulated over published within `factor` either way, for a `share` of the figures."""

    factor: float
    share: float


class Figure(msgspec.Struct, forbid_unknown_fields=True):
    """One value: what it is `told` of, the cell that simulates it, and what was `published`."""

    told: str
    threads: int
    parameters: str
    published: float


class Series(msgspec.Struct, forbid_unknown_fields=True):
    """Figures that differ in one thing.

    Attributes:
        quantity: `wall`, time of one of the `per` in an iteration; or `cpus`, CPU time over wall time in per cent.
        unit: of the figures.
    """

    name: str
    source: str
    machine: str
    experiment: str
    quantity: str
    per: int
    unit: str
    figures: list[Figure]


class Published(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    mark: Mark = msgspec.field(name="pass")
    series: list[Series] = msgspec.field()


NANOSECONDS = {"ns": 1.0, "µs": 1e3, "ms": 1e6}
"""Units of time."""


def read(file: Path = FILE) -> Published:
    """The figures.

    Raises:
        InputError: the file is not as it should be.
    """
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Published)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(str(file), str(error), "write it as its first lines say") from error


def beside(published: Published, sweeps: list[Analysis]) -> pl.DataFrame:
    """A row a figure: `series`, `told`, `machine`, `unit`, `published`, `simulated` (a median), `ratio`, `is_met`.

    Raises:
        InputError: no sweep has a figure's cell.
    """
    rows = []
    for series in published.series:
        of_series = [it for it in sweeps if it.sweep.machine == series.machine and _experiment(it) == series.experiment]
        for figure in series.figures:
            simulated = next((value for it in of_series if (value := _value(it, series, figure)) is not None), None)
            if simulated is None:
                to, on, at = series.experiment, series.machine, figure.threads
                remedy = f"`cargo runner sweep --experiment {to} --machine {on} --threads {at}`"
                raise InputError(str(FILE), f"no sweep has `{series.name}`, {figure.told}", remedy)
            ratio = simulated / figure.published
            rows.append(
                {
                    "series": series.name,
                    "told": figure.told,
                    "machine": series.machine,
                    "unit": series.unit,
                    "published": figure.published,
                    "simulated": simulated,
                    "ratio": ratio,
                    "is_met": 1 / published.mark.factor <= ratio <= published.mark.factor,
                }
            )
    return pl.DataFrame(rows)


def signs(rows: pl.DataFrame) -> tuple[int, int]:
    """Of all pairs of figures of one series: how many there are, and how many have the published order."""
    pairs = [
        (one, other)
        for part in rows.partition_by("series", maintain_order=True)
        for one, other in combinations(part.to_dicts(), 2)
    ]
    right = sum((it["published"] < other["published"]) == (it["simulated"] < other["simulated"]) for it, other in pairs)
    return len(pairs), right


def _experiment(analysis: Analysis) -> str | None:
    return analysis.experiment.name if analysis.experiment else None


def _value(analysis: Analysis, series: Series, figure: Figure) -> float | None:
    words = set(figure.parameters.split())
    cell = analysis.times.filter(
        pl.col("program") == PARALLEL, pl.col("branch") == BRANCH, pl.col("threads") == figure.threads
    ).filter(pl.col("parameters").str.split(" ").list.set_intersection(sorted(words)).list.len() == len(words))
    if cell.is_empty():
        return None
    if series.quantity == "cpus":
        return 100 * float(cell.select(pl.col("cpus_busy").median()).item())
    elapsed = float(cell.select(pl.col("elapsed_ns").median()).item())
    return elapsed / series.per / NANOSECONDS[series.unit]
