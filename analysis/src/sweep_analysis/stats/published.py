"""Published figures of wide machines (`results/published.toml`), beside simulated ones."""

from __future__ import annotations

import math
import statistics
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import LEAST_SIMULATED
from sweep_analysis.stats.states import SMALLEST, two_states

FILE = CHECKOUT / "results" / "published.toml"
"""The figures, and the pre-registered threshold for simulations of them."""

BRANCH = "master"
"""The branch that others measured."""


class Mark(msgspec.Struct, forbid_unknown_fields=True):
    """The pre-registered threshold of the validation.

    A `share` of the figures must have simulated over published within `factor` either way.
    """

    factor: float
    share: float


class Figure(msgspec.Struct, forbid_unknown_fields=True):
    """One value: its name (`told`), the cell that simulates it, and the `published` number."""

    told: str
    threads: int
    parameters: str
    published: float


class Series(msgspec.Struct, forbid_unknown_fields=True):
    """Figures that differ in one thing.

    Attributes: quantity: `wall`, time of one of the `per` in an iteration; `cpus`, CPU time over
        wall time in per cent;
            `times:BRANCH`, the time of that branch over the measured one's; `share:FUNCTION,…`, for
            how long these functions wait for lines of memory, in per cent of CPU time.
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


class Sign(msgspec.Struct, forbid_unknown_fields=True):
    """A published observation without a figure.

    It names workloads on which `branch` takes less time than `over`, and others on which it does
    `not`.
    """

    name: str
    source: str
    machine: str
    experiment: str
    branch: str
    over: str
    threads: int
    gain: list[str]
    others: list[str] = msgspec.field(name="not")


class Published(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    mark: Mark = msgspec.field(name="pass")
    series: list[Series] = msgspec.field()
    sign: list[Sign] = msgspec.field()


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
    """A row for each figure.

    Out: `series`, `told`, `machine`, `unit`, `published`, `simulated` (a list: the median, or those
         if bimodal, see `states`), `ratio`, `is_met`, which are null where it is bimodal,
         and `is_known`: there are seeds enough to tell whether there are.

    Raises:
        InputError: no sweep has a figure's cell.
    """
    rows = []
    for series in published.series:
        of_series = [
            it
            for it in sweeps
            if it.sweep.machine == series.machine and _experiment(it) == series.experiment
        ]
        for figure in series.figures:
            values = next(
                (found for it in of_series if (found := _values(it, series, figure))), None
            )
            if values is None:
                to, on, at = series.experiment, series.machine, figure.threads
                remedy = f"`cargo runner sweep --experiment {to} --machine {on} --threads {at}`"
                raise InputError(str(FILE), f"no sweep has `{series.name}`, {figure.told}", remedy)
            ratio = statistics.median(values) / figure.published
            is_met = 1 / published.mark.factor <= ratio <= published.mark.factor
            states = two_states(np.log(values)) if min(values) > 0 else None
            simulated = (
                [statistics.median(values)]
                if states is None
                else [math.exp(state) for state in states]
            )
            rows.append(
                {
                    "series": series.name,
                    "told": figure.told,
                    "machine": series.machine,
                    "unit": series.unit,
                    "published": figure.published,
                    "simulated": simulated,
                    "ratio": ratio if states is None else None,
                    "is_met": is_met if states is None else None,
                    "is_known": len(values) >= 2 * SMALLEST,
                }
            )
    return pl.DataFrame(rows)


def signs(rows: pl.DataFrame) -> tuple[int, int]:
    """Of all pairs of figures of one series that are not bimodal.

    Out: how many there are, and how many have the published order.
    """
    pairs = [
        (one, other)
        for part in rows.filter(pl.col("ratio").is_not_null()).partition_by(
            "series", maintain_order=True
        )
        for one, other in combinations(part.to_dicts(), 2)
    ]
    right = sum(
        (it["published"] < other["published"]) == (it["simulated"] < other["simulated"])
        for it, other in pairs
    )
    return len(pairs), right


def _experiment(analysis: Analysis) -> str | None:
    return analysis.experiment.name if analysis.experiment else None


def _values(analysis: Analysis, series: Series, figure: Figure) -> list[float]:
    """The figure, simulated: a value a seed; of a share, one for all. Nothing without its cell."""
    cell = _cell(analysis.times, figure, BRANCH)
    quantity, _, named = series.quantity.partition(":")
    if cell.is_empty():
        return []
    if quantity == "cpus":
        return [100 * value for value in cell["cpus_busy"].to_list()]
    if quantity == "times":
        own = _median(cell, "elapsed_ns")
        return [
            value / own for value in _cell(analysis.times, figure, named)["elapsed_ns"].to_list()
        ]
    if quantity == "share":
        return [_share(analysis, figure, named.split(","))]
    return [value / series.per / NANOSECONDS[series.unit] for value in cell["elapsed_ns"].to_list()]


def _cell(rows: pl.DataFrame, figure: Figure, branch: str) -> pl.DataFrame:
    words = sorted(set(figure.parameters.split()))
    own = pl.col("parameters").cast(pl.String).str.split(" ")
    has_words = own.list.set_intersection(words).list.len() == len(words)
    is_pool = pl.col("program") == PARALLEL if "program" in rows.columns else True
    return rows.filter(
        is_pool, pl.col("branch") == branch, pl.col("threads") == figure.threads
    ).filter(has_words)


def _share(analysis: Analysis, figure: Figure, functions: list[str]) -> float:
    """Waits in functions whose names end so, in per cent of the time in which cores were neither asleep nor waking."""
    spent = _cell(analysis.spent, figure, BRANCH)
    busy = spent.filter(~pl.col("spent_on").is_in(["asleep", "waking"]))["ns_per_unit"].sum()
    named = pl.any_horizontal(pl.col("at").str.ends_with(f"{function})") for function in functions)
    waited = _cell(analysis.line_waits, figure, BRANCH).filter(named)["ns_per_unit"].sum()
    return 100 * float(waited) / float(busy)


def _median(rows: pl.DataFrame, column: str) -> float:
    return float(rows.select(pl.col(column).median()).item())


def seen(published: Published, sweeps: list[Analysis]) -> pl.DataFrame:
    """A row a workload of which only the sign is known.

    Out: `sign`, `machine`, `workload`, `gains` (published), `ratio` (simulated), `is_right`: it
         gains if it takes at least `LEAST_SIMULATED` less time.

    Raises:
        InputError: no sweep has it.
    """
    rows = []
    for sign in published.sign:
        of_sign = [
            it
            for it in sweeps
            if it.sweep.machine == sign.machine and _experiment(it) == sign.experiment
        ]
        for workload in (*sign.gain, *sign.others):
            is_cell = {"program": PARALLEL, "workload": workload, "threads": sign.threads}
            cells = [it.times.filter(**is_cell) for it in of_sign]
            both = [
                {branch: cell.filter(branch=branch) for branch in (sign.branch, sign.over)}
                for cell in cells
            ]
            known = next(
                (it for it in both if not any(cell.is_empty() for cell in it.values())), None
            )
            if known is None:
                remedy = (
                    f"`cargo runner sweep --experiment {sign.experiment} --machine {sign.machine}`"
                )
                raise InputError(str(FILE), f"no sweep has `{sign.name}`, {workload}", remedy)
            ratio = _median(known[sign.branch], "elapsed_ns") / _median(
                known[sign.over], "elapsed_ns"
            )
            gains = workload in sign.gain
            row = {
                "sign": sign.name,
                "machine": sign.machine,
                "workload": workload,
                "gains": gains,
                "ratio": ratio,
            }
            rows.append(row | {"is_right": (ratio <= 1 / (1 + LEAST_SIMULATED)) == gains})
    return pl.DataFrame(rows)
