"""Compares published figures of machines with many cores (`results/published.toml`) with simulated figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import LEAST_SIMULATED
from sweep_analysis.stats.states import SMALLEST, two_modes

FILE = CHECKOUT / "results" / "published.toml"
"""The file with the published figures, and with the pre-registered threshold for their simulations."""

BRANCH = "master"
"""The branch to which the published figures apply: the published crate."""


class Threshold(msgspec.Struct, forbid_unknown_fields=True):
    """The pre-registered threshold: for a `share` of the figures, simulated over published is within `factor`."""

    factor: float
    share: float


class RuleOut(msgspec.Struct, forbid_unknown_fields=True):
    """The pre-registered rule by which figures of `machine` rule out points of a box: see `ruled_out`."""

    machine: str
    factor: float
    share: float

    def __post_init__(self) -> None:
        """Refuses a factor or a share with which the rule means nothing."""
        if not (self.factor > 1 and 0 <= self.share < 1):
            raise ValueError(
                f"[rule-out] factor = {self.factor:g}, share = {self.share:g}: write a factor above 1, a share below 1"
            )


class Figure(msgspec.Struct, forbid_unknown_fields=True):
    """One value: its name (`told`), the configuration that simulates it, and the `published` number.

    Figures of the machine of `RuleOut` have a `half`: 1 rules points out, 2 checks the rest.
    """

    told: str
    threads: int
    parameters: str
    published: float
    half: Literal[1, 2] | None = None


class Series(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """Figures that differ in one parameter, in the order of that parameter.

    A series is scored if it names the publisher's `program`, the stated machine and governor (or that
    they are not stated), and the simulated `clock`. If a series is not scored, `not_scored` has the reason.

    Attributes:
        quantity: `wall`: time of an iteration over `per`, minus `less`; `cpus`: CPU time over wall time,
            in per cent; `times:BRANCH`: time of that branch over the median of `master`;
            `share:FUNCTION,…`: time in which these functions wait for cache lines, in per cent of CPU
            time; `break-even`: the least work that takes longer on one thread than as a fork-join region.
    """

    name: str
    source: str
    machine: str
    experiment: str
    quantity: str
    per: int
    unit: str
    figures: list[Figure]
    less: float = 0
    program: str = ""
    machine_told: str = ""
    governor_told: str = ""
    clock: str = ""
    not_scored: str = ""

    def __post_init__(self) -> None:
        """Refuses a series unless it has either all fields of a scored series, or a reason."""
        how = (self.program, self.machine_told, self.governor_told, self.clock)
        if all(how) == bool(self.not_scored):
            raise ValueError(
                f"`{self.name}`: write program, machine-told, governor-told and clock, or not-scored, the reason"
            )


class Sign(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A published observation without a figure: `branch` takes less time than `over` on the workloads of `gain`.

    On the workloads of `not`, `branch` does not take less time.
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
    not_scored: str = ""


class Published(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of `published.toml`."""

    threshold: Threshold = msgspec.field(name="pass")
    series: list[Series] = msgspec.field()
    sign: list[Sign] = msgspec.field()
    rule_out: RuleOut | None = msgspec.field(default=None, name="rule-out")


NANOSECONDS = {"ns": 1.0, "µs": 1e3, "ms": 1e6}
"""Units of time."""


def read(file: Path = FILE) -> Published:
    """Read the published figures.

    Raises:
        InputError: the file is invalid.
    """
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Published)
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            str(file), str(error), "use the form that its first lines describe"
        ) from error


def beside(published: Published, sweeps: list[Analysis]) -> pl.DataFrame:
    """Make a row for each figure.

    Out: `series`, `told`, `machine`, `unit`, `published`; `simulated`, a list of the median, or of the
         medians of both modes (see `states`); `ratio` and `is_met`, null if bimodal; `is_known`, whether
         there are enough seeds to find two modes; `cell`, the simulated configuration, which several
         figures may share; `program`, `not_scored`.

    Raises:
        InputError: no sweep has the configuration of a figure, or a break-even is beyond the sweep.
    """
    rows = []
    for series in published.series:
        of_series = _searched(series, sweeps)
        for figure in series.figures:
            values = next(filter(None, (_values(it, series, figure) for it in of_series)), None)
            if values is None:
                to, on, at = series.experiment, series.machine, figure.threads
                remedy = f"`cargo runner sweep --experiment {to} --machine {on} --threads {at}`"
                raise InputError(str(FILE), f"no sweep has `{series.name}`, {figure.told}", remedy)
            ratio = statistics.median(values) / figure.published
            is_met = 1 / published.threshold.factor <= ratio <= published.threshold.factor
            states = two_modes(np.log(values)) if min(values) > 0 else None
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
                    "cell": f"{series.quantity} {figure.threads} {figure.parameters}",
                    "program": series.program,
                    "not_scored": series.not_scored,
                }
            )
    return pl.DataFrame(rows)


class Score(msgspec.Struct, frozen=True):
    """Accuracy of the scored figures that are not bimodal.

    Attributes:
        figures: number of the scored figures.
        within: for each of `FACTORS`, how many figures have simulated over published values within it.
        constant: like `within`, if the best single constant replaces all simulated values of a unit.
        correlation: correlation of the logarithms of published and simulated values, each minus the mean
            of its unit.
        order: number of pairs within a series that have the published order, and number of all such pairs.
        directions: like `order`, only for pairs of neighbours in a series.
        contrasts: like `order`, for pairs of figures that have the same name in two series of a program.
    """

    figures: int
    within: list[int]
    constant: list[int]
    correlation: float
    order: tuple[int, int]
    directions: tuple[int, int]
    contrasts: tuple[int, int]


FACTORS = (1.5, 2.0)
"""The factors of `Score.within`."""


def score(rows: pl.DataFrame) -> Score:
    """Compute the score of rows that `beside` made."""
    rows = rows.filter(pl.col("ratio").is_not_null(), pl.col("not_scored") == "").with_columns(
        pl.col("simulated").list.first()
    )
    series = [part.to_dicts() for part in rows.partition_by("series", maintain_order=True)]
    units = [
        part.select(pl.col("published", "simulated").log()).to_numpy()
        for part in rows.partition_by("unit")
    ]
    apart = np.concatenate([unit - unit.mean(axis=0) for unit in units])
    programs = [part.to_dicts() for part in rows.partition_by("program", maintain_order=True)]
    logs = rows.select(pl.col("ratio").log().abs()).to_series()
    return Score(
        rows.height,
        [int((logs <= math.log(factor)).sum()) for factor in FACTORS],
        [sum(_best_constant(unit[:, 0], math.log(factor)) for unit in units) for factor in FACTORS],
        float(np.corrcoef(apart.T)[0, 1]),
        _ordered(pair for part in series for pair in combinations(part, 2)),
        _ordered(pair for part in series for pair in pairwise(part)),
        _ordered(
            (one, other)
            for part in programs
            for one, other in combinations(part, 2)
            if (one["told"], one["unit"]) == (other["told"], other["unit"])
            and one["series"] != other["series"]
        ),
    )


def _best_constant(logs: np.ndarray[Any, Any], width: float) -> int:
    """The largest number of these values that are within `width` of one constant."""
    return max(int(((logs >= low) & (logs <= low + 2 * width)).sum()) for low in logs)


def _ordered(pairs: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[int, int]:
    """Count the pairs with the published order, and all pairs that differ in the simulated configuration."""
    right = [
        (one["published"] < other["published"]) == (one["simulated"] < other["simulated"])
        for one, other in pairs
        if one["cell"] != other["cell"]
    ]
    return sum(right), len(right)


def _searched(one: Series | Sign, sweeps: list[Analysis]) -> list[Analysis]:
    """Sweeps of the experiment and machine of a series or sign: the latest first, or the oldest first if not scored."""
    return [
        it
        for it in (sweeps if one.not_scored else sweeps[::-1])
        if it.sweep.machine == one.machine
        and it.experiment is not None
        and it.experiment.name == one.experiment
    ]


def _values(analysis: Analysis, series: Series, figure: Figure) -> list[float]:
    """The simulated values of a figure: one per seed, or a single share or break-even; empty if it was not simulated."""
    own_rows = cell(analysis.times, figure, BRANCH)
    quantity, _, named = series.quantity.partition(":")
    if own_rows.is_empty():
        return []
    if quantity == "cpus":
        return [100 * value for value in own_rows["cpus_busy"].to_list()]
    if quantity == "times":
        own = _median(own_rows, "elapsed_ns")
        return [
            value / own for value in cell(analysis.times, figure, named)["elapsed_ns"].to_list()
        ]
    if quantity == "share":
        return [_share(analysis, figure, named.split(","))]
    if quantity == "break-even":
        return [_break_even(analysis, figure) / series.per / NANOSECONDS[series.unit]]
    unit = series.per * NANOSECONDS[series.unit]
    return [value / unit - series.less for value in own_rows["elapsed_ns"].to_list()]


def cell(rows: pl.DataFrame, figure: Figure, branch: str) -> pl.DataFrame:
    """Select the rows of the configuration that simulates a figure; over a box, those of all its points."""
    words = sorted(set(figure.parameters.split()))
    own = pl.col("parameters").cast(pl.String).str.split(" ")
    has_words = own.list.set_intersection(words).list.len() == len(words)
    is_pool = pl.col("program") == PARALLEL if "program" in rows.columns else True
    return rows.filter(
        is_pool, pl.col("branch") == branch, pl.col("threads") == figure.threads
    ).filter(has_words)


def _share(analysis: Analysis, figure: Figure, functions: list[str]) -> float:
    """Time of waits in functions with these endings, in per cent of the time in which cores neither sleep nor wake up."""
    spent = cell(analysis.spent, figure, BRANCH)
    busy = spent.filter(~pl.col("spent_on").is_in(["asleep", "waking"]))["ns_per_unit"].sum()
    named = pl.any_horizontal(pl.col("at").str.ends_with(f"{function})") for function in functions)
    waited = cell(analysis.line_waits, figure, BRANCH).filter(named)["ns_per_unit"].sum()
    return 100 * float(waited) / float(busy)


def _break_even(analysis: Analysis, figure: Figure) -> float:
    """The least work for which a fork-join region is faster than one thread, as the work's time on one thread in ns.

    Raises:
        InputError: a region is faster for no work of the sweep.
    """
    rows = analysis.times.group_by("program", "branch", "threads", "parameters").agg(
        pl.col("elapsed_ns").median()
    )
    alone = rows.filter(pl.col("program") != PARALLEL).select(
        "parameters", work=pl.col("elapsed_ns") * figure.threads
    )
    gains = (
        cell(rows, figure, BRANCH)
        .join(alone, on="parameters")
        .filter(pl.col("elapsed_ns") < pl.col("work"))
    )
    if gains.is_empty():
        remedy = "add greater values to the experiment's job-steps"
        raise InputError(str(FILE), f"no work gains on {figure.threads} threads", remedy)
    return float(gains.select(pl.col("work").min()).item())


def _median(rows: pl.DataFrame, column: str) -> float:
    return float(rows.select(pl.col(column).median()).item())


def seen(published: Published, sweeps: list[Analysis]) -> pl.DataFrame:
    """Make a row per workload for which only the sign is published.

    Out: `sign`, `machine`, `workload`, `gains` (published), `ratio` (simulated), `is_right`: whether the
         simulation agrees, where a gain is a time that is lower by a factor of 1 + `LEAST_SIMULATED`; `not_scored`.

    Raises:
        InputError: no sweep has the workload.
    """
    rows = []
    for sign in published.sign:
        of_sign = _searched(sign, sweeps)
        for workload in (*sign.gain, *sign.others):
            cell = {"program": PARALLEL, "workload": workload, "threads": sign.threads}
            times = (
                [
                    it.times.filter(branch=branch, **cell)["elapsed_ns"].median()
                    for branch in (sign.branch, sign.over)
                ]
                for it in of_sign
            )
            known = next((both for both in times if None not in both), None)
            if known is None:
                remedy = (
                    f"`cargo runner sweep --experiment {sign.experiment} --machine {sign.machine}`"
                )
                raise InputError(str(FILE), f"no sweep has `{sign.name}`, {workload}", remedy)
            own, over = (float(it) for it in known)  # type: ignore[arg-type]
            ratio = own / over
            gains = workload in sign.gain
            rows.append(
                {
                    "sign": sign.name,
                    "machine": sign.machine,
                    "workload": workload,
                    "gains": gains,
                    "ratio": ratio,
                    "is_right": (ratio <= 1 / (1 + LEAST_SIMULATED)) == gains,
                    "not_scored": sign.not_scored,
                }
            )
    return pl.DataFrame(rows)
