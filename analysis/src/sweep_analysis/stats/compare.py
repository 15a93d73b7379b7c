"""The one decision rule: tests every branch against the baseline.

It tests time, CPU time and waits, per cell, per workload and overall.

Each trial is paired with the baseline's of its block, so drift of the host cancels. Blocks that ran
beside other work are left out (`bursts`). The log-ratios are averaged within each layout,
and a cell's estimate is their mean over layouts, with outliers of single trials trimmed
(`location`). A pooled ratio is the geometric mean of the ratios of its cells. Beside each ratio
stand the least, the median and the most of its builds, because users run one build, and not the
mean.

If a quantity is zero in one trial of a cell, it has no ratio and no row in that cell. To leave out
only those trials would select trials by their result.

Rows of all workloads, and of one at all thread counts, pool cells of several workers within the
CPUs. One worker shares nothing, and workers beyond the CPUs wait for the kernel. Both behave unlike
the others, so neither is averaged with them (`POOLED`). Each thread count over all workloads is a
level of its own.

Each branch pools the cells that it, the baseline and the A/A control have. A branch that fails on a
workload loses that workload in its own rows alone.

A difference is significant if its corrected p-value is below 5 %, and its ratio is outside the
noise floor. The correction (Holm 1979) covers every result of a sweep that a page, a terminal or a
README may quote. That is all quantities, branches and levels, and both baselines if there are two.
`SHARES` divides the 5 % among levels; the share of a level without a row to test goes to the cells.
So the chance that a sweep of equal branches has any significant difference is at most 5 %. A ratio
that drifts over the sweep by more than it differs from 1 is not tested. A row that pools one cell
is tested as that cell at every level. Otherwise one cell could be significant at one level and not
at another.

On simulated machines cost parameters are known to some ten per cent, so no smaller change is called
a difference. Nothing there drifts, because trials have seeds and no moment. And if all seeds agree,
the cause is no coarse clock: chance decides nothing in such a cell.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.read.frames import COMPARISONS
from sweep_analysis.read.schema import CELL_SET, PANEL, PARALLEL, PLACE, POOL_CELL, TWIN_SUFFIX
from sweep_analysis.stats.bursts import bursts
from sweep_analysis.stats.location import (
    CONFIDENCE,
    FEWEST_UNITS,
    Floats,
    Location,
    Spread,
    locate,
    pooled,
    shared_spread,
)
from sweep_analysis.stats.states import of_cells
from sweep_analysis.stats.units import (
    by_layout,
    by_replicate,
    has_ratio,
    log_ratios,
    numbered,
    of_builds,
)

FASTER = "faster"
SLOWER = "slower"
UNCLEAR = "inconclusive"
UNJUDGED = "not tested"
VERDICTS = (FASTER, SLOWER, UNCLEAR, UNJUDGED)
"""`not tested`: no A/A control to know the noise from, fewer than `FEWEST_UNITS` layouts, a drifting ratio, bimodal."""

QUANTITIES = {
    "time": "ns_per_unit",
    "cpu": "cpu_ns_per_unit",
    "p50": "p50_ns",
    "p99": "p99_ns",
    "cycles": "cycles_per_unit",
}
"""The quantities of a comparison, and their columns in `frames.TIMES`. The wall time of a program that is paced by a
clock does not depend on the pool; its CPU time and its waits do. Cycles are time at the measured clock, for sweeps
whose clock moved. The ratio is called `time_ratio` in every case."""

JUDGED = ("time", "cpu", "p50", "p99")
"""The quantities that verdicts are given on together, as far as a workload tells them."""
WAITS = ("p50", "p99")

ALPHA = 1 - CONFIDENCE
SHARES = {"overall": 0.3, "threads": 0.1, "workload": 0.4, "cell": 0.2}
"""How the 5 % are divided among levels. Cells are many and noisy; people quote workloads."""
POOLED = ("several workers within the CPUs", "one worker", "more workers than CPUs")
"""Kinds of cells; rows over several thread counts pool the first kind that there is."""
AIMED = 0.9
"""Power that the formula of `detectable_ratio` aims at. The larger of two limits counts, and both vary from sweep to
sweep, so synthetic changes are found in 74 (all-pareto) to 87 (far modes) of 100 sweeps (`cargo xtask truth`)."""
LEAST_SIMULATED = 0.1
"""No smaller simulated change is called a difference, and no noise floor of a simulation is smaller. A guess of how
exact the cost parameters are."""
MANY_BIMODAL = 2
"""From this many bimodal branches on, no branch of a simulated cell is tested."""
DRIFT_ALPHA = 0.01
"""P-value of the slope over replicates below which a ratio has a trend."""
FEWEST_TO_DRIFT = 5
"""Replicates from which on a trend of a ratio is looked for."""


def judge(
    times: pl.LazyFrame,
    baseline: str,
    quantities: Sequence[str] = JUDGED,
    also: Mapping[str, Sequence[str]] | None = None,
    *,
    simulated: bool = False,
) -> pl.DataFrame:
    """Compare all branches with `baseline` in each of `quantities`, and correct over all of it.

    In:  rows of `frames.TIMES`, time-outs among them at their limit (`speedup.with_time_outs`);
         `also` has further baselines, and the branches that are compared with each.
    Out: rows of `frames.COMPARISONS`: one per branch, baseline, quantity and level, the A/A control
         included (never judged). The noise is that of the branch that was run twice, whether or not
         it is the baseline. Cells without the baseline have no rows.
    """
    frame = times.collect()
    times, twin = frame.lazy(), twin_of(times, baseline)
    rows = []
    for quantity in quantities:
        if frame[QUANTITIES[quantity]].null_count() == frame.height:
            continue
        noise = (
            Comparison(times, twin.removesuffix(TWIN_SUFFIX), quantity, simulated=simulated)
            if twin
            else None
        )
        for base, branches in {baseline: None, **(also or {})}.items():
            meant = (
                times
                if branches is None
                else times.filter(pl.col("branch").is_in([base, *branches]))
            )
            own = (
                noise if noise is not None and noise.baseline == base and branches is None else None
            )
            own = own or Comparison(meant, base, quantity, noise, simulated=simulated)
            if own.is_empty and branches is None:
                break
            rows += [own.rows(level, own.groups(level)) for level in SHARES]
    if not rows:
        return pl.DataFrame(schema=COMPARISONS)
    return _judged(pl.concat(rows), twin, simulated=simulated)


def compare(
    times: pl.LazyFrame, baseline: str, quantity: str = "time", *, simulated: bool = False
) -> pl.DataFrame:
    """The rows of `judge` in one of `QUANTITIES`.

    Wall and CPU time are tested together whichever is asked for.
    """
    quantities = JUDGED if quantity in JUDGED else (quantity,)
    return judge(times, baseline, quantities, simulated=simulated).filter(quantity=quantity)


def in_quantity(times: pl.LazyFrame, quantity: str) -> pl.LazyFrame:
    """Rows of `frames.TIMES` with one of `QUANTITIES` in the place of time.

    Trials that do not have it are left out.
    """
    chosen = pl.col(QUANTITIES[quantity])
    known = times if quantity == "time" else times.filter(has_ratio(QUANTITIES[quantity]))
    return known.with_columns(chosen.alias(QUANTITIES["time"]))


def twin_of(times: pl.LazyFrame, baseline: str | None) -> str | None:
    """The A/A control that was run: the baseline's, or the only one that there is."""
    names = (
        times.filter(pl.col("program") == PARALLEL)
        .select(pl.col("branch").unique())
        .collect()["branch"]
    )
    twins = sorted(
        name
        for name in names
        if name.endswith(TWIN_SUFFIX) and name.removesuffix(TWIN_SUFFIX) in set(names)
    )
    own = f"{baseline}{TWIN_SUFFIX}"
    return own if own in twins else next(iter(twins), None)


def kind_of_cell() -> pl.Expr:
    """Which of `POOLED` a cell is, by place. In: `threads` and `oversubscribed`."""
    return pl.when("oversubscribed").then(2).when(pl.col("threads") == 1).then(1).otherwise(0)


@dataclass(frozen=True)
class Group:
    """Cells that one row of a level pools.

    Attributes:
        key: its values of `schema.PANEL` and `threads`; what varies among the cells is not in it.
        cells: their places in `Comparison.units`.
        branches: places of the branches that have just these cells.
    """

    key: dict[str, Any]
    cells: npt.NDArray[np.int64]
    branches: npt.NDArray[np.int64]


class Comparison:
    """Every cell of every branch beside the baseline's, to be pooled in any way.

    In: rows of `frames.TIMES`; `noise` is the comparison that has the A/A control, if this one does
    not.
    """

    def __init__(
        self,
        times: pl.LazyFrame,
        baseline: str,
        quantity: str = "time",
        noise: Comparison | None = None,
        *,
        simulated: bool = False,
    ) -> None:
        """Pair all trials with the baseline's of their blocks, in one of `QUANTITIES`."""
        self.baseline, self.quantity, self._simulated = baseline, quantity, simulated
        column = QUANTITIES[quantity]
        if not simulated:  # Seeds have no moment.
            self.bursts: pl.DataFrame = noise.bursts if noise else bursts(times, column)
            times = times.join(self.bursts.lazy(), on="block", how="anti")
        pairs = numbered(log_ratios(times, baseline, column))
        self.units = by_layout(pairs)
        self._by_replicate = by_replicate(pairs)
        self.branches = self.units.branches
        self._keys = self.units.cells.select(PLACE).rows(named=True)
        self._at = {key: at for at, key in enumerate(self.units.cells.select(CELL_SET).rows())}
        self._kinds = self.units.cells.select(kind_of_cell()).to_series().to_numpy()
        self._cells = locate(self.units.values, of_builds(self.units))
        self._noise = noise or self
        twin = self._noise.baseline + TWIN_SUFFIX
        self._twin = self._noise.branches.index(twin) if twin in self._noise.branches else None
        self._in_noise = self._noise.places_of(self.units.cells)
        # With fewer units a cell is not tested, and would keep the rows that hold it from being so.
        enough = min(FEWEST_UNITS, int(self._cells.units.max(initial=0)))
        self._is_bimodal = self._bimodal(times)
        self._has: npt.NDArray[np.bool_] = (self._cells.units >= enough) & ~self._is_bimodal

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be paired."""
        return not self.branches

    def places_of(self, cells: pl.DataFrame) -> npt.NDArray[np.int64]:
        """Places of these cells (rows of `schema.CELL_SET`) in `units`, in their order.

        −1 for those that it lacks.
        """
        keys = cells.select(CELL_SET).rows()
        return np.array([self._at.get(key, -1) for key in keys], dtype=np.int64)

    def _bimodal(self, times: pl.LazyFrame) -> npt.NDArray[np.bool_]:
        """Cells by branches: whether the branch or the baseline is bimodal there.

        If two names are bimodal in a cell, all names count as bimodal there. Seven seeds miss half of
        all bimodal cells, and a comparison of two such names is one of luck (`cargo xtask truth`).
        """
        has = np.zeros((self.units.cells.height, len(self.branches)), dtype=bool)
        if self._simulated and self.branches:
            found = of_cells(times, QUANTITIES[self.quantity])
            of_all = found.group_by(CELL_SET).len().filter(pl.col("len") >= MANY_BIMODAL)
            several = self.places_of(of_all)
            has[several[several >= 0]] = True
            if self._noise is not self:  # It has all names of the sweep.
                of_noise = self._noise._is_bimodal[self._in_noise].all(axis=1)  # noqa: SLF001 - another of us
                has[(self._in_noise >= 0) & of_noise] = True
            of = {name: slice(at, at + 1) for at, name in enumerate(self.branches)}
            of[self.baseline] = slice(None)
            for at, branch in zip(self.places_of(found), found["branch"], strict=True):
                if at >= 0 and branch in of:
                    has[at, of[branch]] = True
        return has

    def groups(self, level: str, among: npt.NDArray[np.bool_] | None = None) -> list[Group]:
        """The groups of a level, of the cells `among` all."""
        cells = np.arange(len(self._keys)) if among is None else np.flatnonzero(among)
        if level == "cell":
            every = np.arange(len(self.branches))
            return [Group(self._keys[at], np.array([at]), every) for at in cells]
        by = {"overall": [], "threads": ["threads"], "workload": PANEL}[level]
        parts: dict[tuple[Any, ...], list[int]] = {}
        first: dict[tuple[Any, ...], int] = {}
        for at in cells.tolist():
            key = tuple(self._keys[at][name] for name in by)
            kind = 0 if level == "threads" else int(self._kinds[at])
            if kind < first.get(key, kind + 1):
                first[key] = kind
                parts[key] = []
            if kind == first[key]:
                parts[key].append(at)
        return [
            Group(dict(zip(by, key, strict=True)), alike, branches)
            for key, part in parts.items()
            for alike, branches in self._alike(np.array(part))
        ]

    def _alike(
        self, cells: npt.NDArray[np.int64]
    ) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Sets of these cells that branches can pool, each with the branches that pool just that set."""
        if cells.size == 0 or not self.branches:
            return []
        has = self._has[cells]
        if self._twin is not None:
            seen = self._in_noise[cells]
            known = has & ((seen >= 0) & self._noise._has[seen, self._twin])[:, None]  # noqa: SLF001 - another of us
            has = np.where(known.any(axis=0), known, has)
        patterns, which = np.unique(has, axis=1, return_inverse=True)
        return [
            (cells[pattern], np.flatnonzero(which.ravel() == number))
            for number, pattern in enumerate(patterns.T)
            if pattern.any()
        ]

    def spread_over(self, groups: Sequence[npt.NDArray[np.int64]]) -> tuple[Location, Spread]:
        """Every branch over each of these groups of cells: groups by branches."""
        parts = [pooled(_at(self._cells, cells)) for cells in groups]
        found = Location(
            *(
                np.stack([getattr(it, name) for it in parts])
                for name in Location.__dataclass_fields__
            )
        )
        return found, shared_spread(found, exact=self._simulated)

    def rows(self, level: str, groups: list[Group]) -> pl.DataFrame:
        """A row per group and branch of it.

        The columns of `frames.COMPARISONS` without those of the correction and the test.

        Four more: `half_width` of the log-ratio's 95 % interval, its standard `error`, and its
        `degrees` of freedom. `only_cell` is the place in `units` of the single cell of a row.
        """
        if not groups or not self.branches:
            return pl.DataFrame(schema=_ROWS)
        found, spread = self.spread_over([group.cells for group in groups])
        half = spread.half_width()
        with np.errstate(invalid="ignore", divide="ignore"):
            p_values = 2 * special.stdtr(
                np.maximum(spread.degrees, 1e-9), -np.abs(found.estimate / spread.error)
            )
        drift, p_drift = self._drift(level, groups)
        band = np.repeat(self._bands(groups, (found, spread))[:, None], len(self.branches), axis=1)
        pairs = np.stack([self.units.pairs[group.cells].sum(axis=0) for group in groups])
        at = np.concatenate(
            [np.full(group.branches.size, number) for number, group in enumerate(groups)]
        )
        which = np.concatenate([group.branches for group in groups])
        is_known = ~np.isnan(found.estimate[at, which])
        at, which = at[is_known], which[is_known]
        crowded = self.units.cells["oversubscribed"].to_numpy()
        told = [
            {name: group.key.get(name) for name in PLACE}
            | {
                "oversubscribed": bool(crowded[group.cells].any())
                if "threads" in group.key
                else None,
                "cells": group.cells.size,
                "only_cell": group.cells[0] if group.cells.size == 1 else None,
            }
            for group in groups
        ]
        measured = {
            "pairs": pairs.astype(int),
            "units": found.units,
            "time_ratio": np.exp(found.estimate),
            "ratio_low": np.exp(found.estimate - half),
            "ratio_high": np.exp(found.estimate + half),
            **self._over_builds(groups),
            "band": band,
            "ratio_drift": drift,
            "p_drift": p_drift,
            "p_value": p_values,
            "two_states": self._states_of(level, groups),
            "half_width": half,
            "error": spread.error,
            "degrees": spread.degrees,
        }
        columns: dict[str, Any] = {
            "quantity": [self.quantity] * at.size,
            "baseline": [self.baseline] * at.size,
            "level": [level] * at.size,
            "branch": [self.branches[branch] for branch in which],
            **{name: [told[number][name] for number in at] for name in told[0]},
            **{name: values[at, which] for name, values in measured.items()},
        }
        # Series, which take no query each, as the values of a frame would.
        return pl.DataFrame(
            [
                pl.Series(name, columns[name], dtype=kind, nan_to_null=True)
                for name, kind in _ROWS.items()
            ]
        )

    def _over_builds(self, groups: list[Group]) -> dict[str, Floats]:
        """Groups by branches: least, median and most of the ratio of a build over the group's cells.

        Of builds that have all of them.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of branches that lack a cell
            ratios = np.exp([self.units.values[group.cells].mean(axis=0) for group in groups])
            return {
                "build_low": np.nanmin(ratios, axis=2),
                "build_median": np.nanmedian(ratios, axis=2),
                "build_high": np.nanmax(ratios, axis=2),
            }

    def _states_of(self, level: str, groups: list[Group]) -> npt.NDArray[np.bool_]:
        """Groups by branches: of single cells, whether one of the two is bimodal.

        False for all other groups, because these pool no bimodal cell.
        """
        if level == "cell":
            return np.stack([self._is_bimodal[group.cells[0]] for group in groups])
        return np.zeros((len(groups), len(self.branches)), dtype=bool)

    def _bands(self, groups: list[Group], own: tuple[Location, Spread]) -> Floats:
        """The noise floor of each group, as a ratio; NaN where the A/A control does not have its cells.

        It holds 95 % of what equal builds show, as the A/A control's layouts vary. If the A/A control itself
        shows more, something else than chance told the two apart, and a branch is believed only
        beyond that. `own` are the groups here, which may hold the A/A control.
        """
        bands = np.full(len(groups), np.nan)
        if self._twin is None:
            return bands
        seen = [self._in_noise[group.cells] for group in groups]
        known = [at for at, cells in enumerate(seen) if (cells >= 0).all()]
        if known:
            is_here = self._noise is self
            found, spread = own if is_here else self._noise.spread_over([seen[at] for at in known])
            widest = np.maximum(spread.half_width(), np.abs(found.estimate))[:, self._twin]
            bands[known] = np.exp(
                np.maximum(widest, math.log1p(LEAST_SIMULATED) if self._simulated else 0.0)
            )
        return bands

    def _drift(self, level: str, groups: list[Group]) -> tuple[Floats, Floats]:
        """Trend of each pooled row's ratio over replicates, and the p-value of its slope.

        NaN for cells.

        A replicate counts as one value, because its trials share the moment and the build.
        """
        values = self._by_replicate.values
        shape = (len(groups), len(self.branches))
        if level == "cell" or values.shape[2] < FEWEST_TO_DRIFT:
            return np.full(shape, np.nan), np.full(shape, np.nan)
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # of cells and replicates that a branch does not have
            beside = values - np.nanmean(values, axis=2, keepdims=True)
            residual = np.stack([np.nanmean(beside[group.cells], axis=0) for group in groups])
        known = np.isfinite(residual)
        number = known.sum(axis=2)
        when = np.where(known, np.arange(values.shape[2], dtype=float), 0.0)
        when = np.where(known, when - (when.sum(axis=2) / np.maximum(number, 1))[..., None], 0.0)
        residual = np.where(known, residual, 0.0)
        free = np.maximum(number - 2, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (when * residual).sum(axis=2) / (when**2).sum(axis=2)
            left = np.where(known, residual - slope[..., None] * when, 0.0)
            left -= np.where(known, (left.sum(axis=2) / np.maximum(number, 1))[..., None], 0.0)
            error = np.sqrt((left**2).sum(axis=2) / free / (when**2).sum(axis=2))
            p_values = 2 * special.stdtr(free, -np.abs(slope) / np.maximum(error, 1e-12))
        enough = number >= FEWEST_TO_DRIFT
        whole = np.exp(slope * np.maximum(number - 1, 0))
        return np.where(enough, whole, np.nan), np.where(enough, p_values, np.nan)


_ROWS = pl.Schema(
    {
        name: kind
        for name, kind in COMPARISONS.items()
        if name not in ("detectable", "p_corrected", "verdict", "cpu_ratio")
    }
    | dict.fromkeys(("half_width", "error"), pl.Float64)
    | {"only_cell": pl.Int64}
)
"""Columns of a row before it is tested."""


def _at(cells: Location, places: npt.NDArray[np.int64]) -> Location:
    return Location(*(getattr(cells, name)[places] for name in Location.__dataclass_fields__))


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction: controls the chance of even one false claim."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def _judged(rows: pl.DataFrame, twin: str | None, *, simulated: bool) -> pl.DataFrame:
    """Fill in corrected p-values, what could have been found, and verdicts.

    The A/A control is outside the family of tests.
    """
    own = pl.col("branch") == (twin or "")
    is_known = (
        pl.col("p_value").is_not_null() & pl.col("band").is_not_null() & ~pl.col("two_states")
    )
    is_a_cell = pl.col("only_cell").is_not_null()
    testable = (
        rows.select(~own & is_known & (~is_a_cell | (pl.col("level") == "cell")))
        .to_series()
        .to_numpy()
    )
    levels = rows["level"].to_numpy()
    p_values = rows["p_value"].to_numpy()
    corrected = np.full(rows.height, np.nan)
    detectable = np.full(rows.height, np.nan)
    for level, share in _shares({*levels[testable]}).items():
        mine = testable & (levels == level)
        if mine.any():
            corrected[mine] = np.minimum(holm(p_values[mine]) / share, 1.0)
            noise = rows.select("error", "degrees", "band").filter(pl.Series(mine))
            detectable[mine] = detectable_ratio(noise, ALPHA * share / int(mine.sum()))
    judged = rows.with_columns(
        pl.Series("p_corrected", corrected, dtype=pl.Float64).fill_nan(None),
        pl.Series("detectable", detectable, dtype=pl.Float64).fill_nan(None),
    )
    # Of the rows of one cell, one was tested, and others may have a trend.
    of_cell = pl.col("p_corrected", "detectable", "ratio_drift", "p_drift")
    same = ["baseline", "quantity", "branch", "only_cell"]
    judged = judged.with_columns(
        pl.when(is_a_cell).then(of_cell.max().over(same)).otherwise(of_cell)
    )
    is_different = differs(simulated=simulated)
    verdict = (
        pl.when(
            own | pl.col("p_corrected").is_null() | (is_different & drifts(simulated=simulated))
        )
        .then(pl.lit(UNJUDGED))
        .when(is_different & (pl.col("time_ratio") < 1))
        .then(pl.lit(FASTER))
        .when(is_different)
        .then(pl.lit(SLOWER))
        .otherwise(pl.lit(UNCLEAR))
    )
    by_cpu = judged.filter(quantity="cpu").select(
        *_CPU_KEY, pl.col("time_ratio").alias("cpu_ratio")
    )
    return (
        judged.with_columns(verdict.alias("verdict"))
        .join(by_cpu, on=_CPU_KEY, how="left", nulls_equal=True, maintain_order="left")
        .select(pl.col(name).cast(kind) for name, kind in COMPARISONS.items())
    )


def _shares(tested: set[str]) -> dict[str, float]:
    """`SHARES`, where cells have those of levels without a row to test."""
    left = sum(share for level, share in SHARES.items() if level not in tested | {"cell"})
    return SHARES | {"cell": SHARES["cell"] + left}


_CPU_KEY = ["baseline", "level", *POOL_CELL]


def detectable_ratio(rows: pl.DataFrame, alpha: float) -> Floats:
    """Smallest ratio above 1 that the verdict finds with a probability of about 0.8, band and all, at this noise.

    In: rows with `error`, `degrees` and `band`; `alpha` is the level of one test after correction,
        none being found before it.
    """
    error, degrees, band = (rows[name].to_numpy() for name in ("error", "degrees", "band"))
    quantile = special.stdtrit(degrees, 1 - alpha / 2)
    needed = np.maximum(quantile * error, np.log(band))
    # Another sweep has another estimate, and another standard error beside it (noncentral t,
    # large-sample form).
    spread = error * (1 + 1 / (4 * degrees)) * np.sqrt(1 + quantile**2 / (2 * degrees))
    # With few degrees of freedom the spread can be immense: infinity says that no change would be
    # found.
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(needed + special.ndtri(AIMED) * spread), dtype=np.float64)


def differs(corrected: str = "p_corrected", *, simulated: bool = False) -> pl.Expr:
    """Whether a row of `frames.COMPARISONS` shows a difference.

    Certain after correction, and outside the noise floor.
    """
    # The band is even in logarithms: one of ±10 % ends at a gain of 9.1 %.
    is_large = (pl.col("time_ratio") - 1).abs() >= (LEAST_SIMULATED if simulated else 0.0)
    return (
        (pl.col("time_ratio").log().abs() > pl.col("band").log())
        & (pl.col(corrected) < ALPHA)
        & is_large
    )


def drifts(*, simulated: bool = False) -> pl.Expr:
    """Whether the ratio of a row of `frames.COMPARISONS` changed over the sweep by more than what it shows."""
    if simulated:
        return pl.lit(value=False)
    more = pl.col("ratio_drift").log().abs() > pl.col("time_ratio").log().abs()
    return ((pl.col("p_drift") < DRIFT_ALPHA) & more).fill_null(value=False)
