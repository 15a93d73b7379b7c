"""The decision rule: tests every branch against the baseline in time, CPU time and latencies.

Each trial is paired with the baseline's trial of its block, so drift of the host cancels. Blocks that
ran beside other work are excluded (`bursts`). The log-ratios are averaged within each build. The
estimate of a configuration is the mean of these averages over builds, with outliers of single trials
trimmed (`location`). A pooled ratio is the geometric mean of the ratios of its configurations.

A row over several thread counts averages one kind of configuration: the first kind of `POOLED` that its
configurations have. The row only averages configurations that the branch, the baseline and the A/A control all have.

A difference is significant if its corrected p-value is below 5 %, and its ratio is outside the noise
floor. The correction (Holm 1979) covers all quantities, branches, levels and baselines of a sweep,
because a reader may quote any of them. So a sweep of equal branches has a significant difference with a
probability of at most 5 %. A significant ratio that drifts over the sweep by more than it differs from 1
counts as not tested. A row that pools only one configuration has the interval and the test of that configuration, at every level.

On simulated machines the cost parameters are known within about 10 %, so no smaller change is significant.
If all seeds of a simulated configuration agree, chance has no effect on the configuration.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.read.frames import COMPARISONS, cast_to
from sweep_analysis.read.schema import CELL_SET, PANEL, PARALLEL, PLACE, POOL_CELL, TWIN_SUFFIX
from sweep_analysis.stats.bursts import bursts
from sweep_analysis.stats.drift import DRIFT_ALPHA
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
    averaged,
    has_ratio,
    log_ratios,
    numbered,
    of_builds,
)

FASTER = "faster"
SLOWER = "slower"
UNCLEAR = "inconclusive"
UNTESTED = "not tested"
RESULTS = (FASTER, SLOWER, UNCLEAR, UNTESTED)
"""A row is `not tested` if it lacks an A/A control, `FEWEST_UNITS` builds or a standard error, if it is bimodal or of the
A/A control, or if its ratio is significant but drifts."""

QUANTITIES = {
    "time": "ns_per_unit",
    "cpu": "cpu_ns_per_unit",
    "p50": "p50_ns",
    "p99": "p99_ns",
    "cycles": "cycles_per_unit",
}
"""The quantities of a comparison, and their columns in `frames.TIMES`; all ratios are in the column `time_ratio`."""

TESTED = ("time", "cpu", "p50", "p99")
"""The quantities that are tested and corrected together, if a workload reports them."""
WAITS = ("p50", "p99")

ALPHA = 1 - CONFIDENCE
SHARES = {"overall": 0.3, "threads": 0.1, "workload": 0.4, "cell": 0.2}
"""The part of the error probability of 5 % for each level. Configurations are many and noisy, and people quote workloads."""
POOLED = ("several workers within the CPUs", "one worker", "more workers than CPUs")
"""Kinds of configurations, in order of preference, for rows over several thread counts."""
AIMED = 0.9
"""Power in the formula of `detectable_ratio`. It is above 0.8, because both limits in that formula vary from sweep to
sweep. With this value, the test finds synthetic changes in 74 (all-pareto) to 87 (far modes) of 100 sweeps (`cargo
xtask truth`).
"""
LEAST_SIMULATED = 0.1
"""Minimum simulated change that may be significant, and minimum noise floor of a simulation: a guess of the accuracy of
the cost parameters."""
MANY_BIMODAL = 2
"""With this many bimodal branches, no branch of a simulated configuration is tested."""
FEWEST_TO_DRIFT = 5
"""With fewer replicates, a ratio is not tested for a trend."""


def decide(
    times: pl.LazyFrame,
    baseline: str,
    quantities: Sequence[str] = TESTED,
    also: Mapping[str, Sequence[str]] | None = None,
    *,
    simulated: bool = False,
) -> pl.DataFrame:
    """Test all branches against `baseline` in each of `quantities`, and correct over all tests.

    In:  rows of `frames.TIMES`, with time-outs at their limit (`speedup.with_time_outs`); `also` has
         further baselines, and the branches that are compared with each of them.
    Out: rows of `frames.COMPARISONS`, including rows of the A/A control, which is not tested. The noise
         floor comes from the branch that ran twice, even if another branch is the baseline.
    """
    frame = times.collect()
    times, twin = frame.lazy(), twin_of(times, baseline)
    rows = [pl.DataFrame(schema=_ROWS)]
    for quantity in quantities:
        if frame[QUANTITIES[quantity]].null_count() == frame.height:
            continue
        twinned = twin.removesuffix(TWIN_SUFFIX) if twin else baseline
        noise = Comparison(times, twinned, quantity, simulated=simulated)
        own = noise
        if twinned != baseline:
            own = Comparison(times, baseline, quantity, noise, simulated=simulated)
        if not own.branches:
            continue
        others = [
            Comparison(times, base, quantity, noise, among=branches, simulated=simulated)
            for base, branches in (also or {}).items()
        ]
        rows += [
            compared.rows(level, compared.groups(level))
            for compared in (own, *others)
            for level in SHARES
        ]
    return _decided(pl.concat(rows), twin, simulated=simulated)


def in_quantity(times: pl.LazyFrame, quantity: str) -> pl.LazyFrame:
    """Copy the column of `quantity`, one of `QUANTITIES`, over the column of time, so that code for times works on it.

    In and out: rows of `frames.TIMES`. Trials without that quantity are excluded.
    """
    chosen = pl.col(QUANTITIES[quantity])
    known = times if quantity == "time" else times.filter(has_ratio(QUANTITIES[quantity]))
    return known.with_columns(chosen.alias(QUANTITIES["time"]))


def twin_of(times: pl.LazyFrame, baseline: str | None) -> str | None:
    """The A/A control of the sweep: the control of the baseline, or else the first control of another branch."""
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
    """The kind of a configuration, as an index of `POOLED`. In: `threads` and `oversubscribed`."""
    return pl.when("oversubscribed").then(2).when(pl.col("threads") == 1).then(1).otherwise(0)


@dataclass(frozen=True)
class Group:
    """Configurations that one row of a level pools.

    Attributes:
        key: the columns of `schema.PLACE` that these configurations share, with their values.
        cells: indices of the configurations in `Comparison.units`.
        branches: indices of the branches that have exactly these configurations.
    """

    key: dict[str, Any]
    cells: npt.NDArray[np.int64]
    branches: npt.NDArray[np.int64]


class Comparison:
    """Computes and pools the ratios of every branch and configuration to the baseline.

    In: rows of `frames.TIMES`; `noise` is another comparison, which has the A/A control if this comparison lacks it;
        `among` are the only branches to compare, by default all branches.
    """

    def __init__(
        self,
        times: pl.LazyFrame,
        baseline: str,
        quantity: str = "time",
        noise: Comparison | None = None,
        *,
        among: Sequence[str] | None = None,
        simulated: bool = False,
    ) -> None:
        """Pair all trials with the baseline's trials of their blocks, in one of `QUANTITIES`."""
        self.baseline, self.quantity, self._simulated = baseline, quantity, simulated
        column = QUANTITIES[quantity]
        bimodal = of_cells(times, column) if simulated else None
        if not simulated:  # A simulated trial runs beside no other work, so there are no bursts.
            self.bursts: pl.DataFrame = noise.bursts if noise else bursts(times, column)
            times = times.join(self.bursts.lazy(), on="block", how="anti")
        if among is not None:
            times = times.filter(pl.col("branch").is_in([baseline, *among]))
        pairs = numbered(log_ratios(times, baseline, column))
        self.units = averaged(pairs, "layout")
        self._by_replicate = averaged(pairs, "replicate")
        self.branches = self.units.branches
        self._keys = self.units.cells.select(PLACE).rows(named=True)
        self._at = {key: at for at, key in enumerate(self.units.cells.select(CELL_SET).rows())}
        self._kinds = self.units.cells.select(kind_of_cell()).to_series().to_list()
        self._cells = locate(self.units.values, of_builds(self.units))
        self._noise = noise or self
        twin = self._noise.baseline + TWIN_SUFFIX
        self._twin = self._noise.branches.index(twin) if twin in self._noise.branches else None
        self._in_noise = self._noise.places_of(self.units.cells)
        # Pooled rows leave out configurations with fewer than `FEWEST_UNITS` units, which cannot be
        # tested, unless no configuration has so many units.
        enough = min(FEWEST_UNITS, int(self._cells.units.max(initial=0)))
        self._is_bimodal = self._bimodal(bimodal)
        self._has: npt.NDArray[np.bool_] = (self._cells.units >= enough) & ~self._is_bimodal

    def places_of(self, cells: pl.DataFrame) -> npt.NDArray[np.int64]:
        """Indices in `units` of `cells` (rows of `schema.CELL_SET`); −1 for an absent configuration."""
        keys = cells.select(CELL_SET).rows()
        return np.array([self._at.get(key, -1) for key in keys], dtype=np.int64)

    def _bimodal(self, found: pl.DataFrame | None) -> npt.NDArray[np.bool_]:
        """Whether the branch or the baseline is bimodal: an array of configurations by branches.

        If two branches are bimodal in a configuration, all branches count as bimodal there: seven seeds miss
        half of all bimodal configurations, and a comparison of two missed ones would be random.
        """
        has = np.zeros((self.units.cells.height, len(self.branches)), dtype=bool)
        if found is None or not self.branches:
            return has
        is_of_all = (pl.len().over(CELL_SET) >= MANY_BIMODAL) | pl.col("branch").is_in(
            [self.baseline, self._noise.baseline]
        )
        marked = found.with_columns(is_of_all.alias("of_all"))
        of = {name: slice(at, at + 1) for at, name in enumerate(self.branches)}
        for at, branch, of_all in zip(
            self.places_of(marked), marked["branch"], marked["of_all"], strict=True
        ):
            if at >= 0:
                has[at, slice(None) if of_all else of.get(branch, slice(0))] = True
        return has

    def groups(self, level: str, among: npt.NDArray[np.bool_] | None = None) -> list[Group]:
        """Make the groups of a level; `among` selects configurations."""
        cells = np.arange(len(self._keys)) if among is None else np.flatnonzero(among)
        if level == "cell":
            every = np.arange(len(self.branches))
            return [Group(self._keys[at], np.array([at]), every) for at in cells]
        by = {"overall": [], "threads": ["threads"], "workload": PANEL}[level]
        parts: dict[tuple[Any, ...], list[int]] = {}
        for at in cells.tolist():
            parts.setdefault(tuple(self._keys[at][name] for name in by), []).append(at)
        groups = []
        for key, part in parts.items():
            kinds = [0 if level == "threads" else self._kinds[at] for at in part]
            alike = [at for at, kind in zip(part, kinds, strict=True) if kind == min(kinds)]
            groups += [
                Group(dict(zip(by, key, strict=True)), shared, branches)
                for shared, branches in self._alike(np.array(alike))
            ]
        return groups

    def _alike(
        self, cells: npt.NDArray[np.int64]
    ) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Split these configurations into sets, each with the branches that pool exactly that set."""
        has = self._has[cells]
        if self._twin is not None:
            seen = self._in_noise[cells]
            known = has & ((seen >= 0) & self._noise._has[seen, self._twin])[:, None]  # noqa: SLF001 - the same class
            has = np.where(known.any(axis=0), known, has)
        patterns, which = np.unique(has, axis=1, return_inverse=True)
        return [
            (cells[pattern], np.flatnonzero(which.ravel() == number))
            for number, pattern in enumerate(patterns.T)
            if pattern.any()
        ]

    def spread_over(self, groups: Sequence[npt.NDArray[np.int64]]) -> tuple[Location, Spread]:
        """Estimate and spread over each group of configurations, as arrays of groups by branches.

        A group of one configuration has the spread of the level `cell`. The other groups of a level would change the
        spread, so the same configuration would have another interval at each level.
        """
        parts = [pooled(self._cells.at(cells)) for cells in groups]
        found = Location(
            *(
                np.stack([getattr(it, name) for it in parts])
                for name in Location.__dataclass_fields__
            )
        )
        shared = shared_spread(found, exact=self._simulated)
        for at, cells in enumerate(groups):
            if cells.size == 1:
                shared.error[at] = self._spread_of_cells.error[cells[0]]
                shared.degrees[at] = self._spread_of_cells.degrees[cells[0]]
        return found, shared

    @cached_property
    def _spread_of_cells(self) -> Spread:
        """Spread of every configuration by itself, as an array of configurations by branches."""
        return shared_spread(self._cells, exact=self._simulated)

    def rows(self, level: str, groups: list[Group]) -> pl.DataFrame:
        """Make a row per group and branch of the group.

        Out: the columns of `frames.COMPARISONS` that need no test; the standard `error` of the log-ratio;
            `only_cell`, the index in `units` of the configuration if the row pools only one.
        """
        if not groups or not self.branches:
            return pl.DataFrame(schema=_ROWS)
        found, spread = self.spread_over([group.cells for group in groups])
        half = spread.half_width()
        drift, p_drift = self._drift(level, groups)
        band = np.repeat(self._bands(groups, (found, spread))[:, None], len(self.branches), axis=1)
        pairs = np.stack([self.units.pairs[group.cells].sum(axis=0) for group in groups])
        at = np.concatenate(
            [np.full(group.branches.size, number) for number, group in enumerate(groups)]
        )
        which = np.concatenate([group.branches for group in groups])
        is_known = ~np.isnan(found.estimate[at, which])
        at, which = at[is_known], which[is_known]
        is_oversubscribed = self.units.cells["oversubscribed"].to_numpy()
        known = [
            {name: group.key.get(name) for name in PLACE}
            | {
                "oversubscribed": bool(is_oversubscribed[group.cells].any())
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
            "p_value": spread.p_values(found.estimate),
            "is_bimodal": np.stack([self._is_bimodal[it.cells].any(axis=0) for it in groups]),
            "error": spread.error,
            "degrees": spread.degrees,
        }
        columns: dict[str, Any] = {
            "quantity": [self.quantity] * at.size,
            "baseline": [self.baseline] * at.size,
            "level": [level] * at.size,
            "branch": [self.branches[branch] for branch in which],
            **{name: [known[number][name] for number in at] for name in known[0]},
            **{name: values[at, which] for name, values in measured.items()},
        }
        # The frame is made of series, because a frame made of values runs a query for each column.
        return pl.DataFrame(
            [
                pl.Series(name, columns[name], dtype=kind, nan_to_null=True)
                for name, kind in _ROWS.items()
            ]
        )

    def _over_builds(self, groups: list[Group]) -> dict[str, Floats]:
        """Smallest, median and largest ratio of the builds that have all configurations of a group.

        Out: arrays of groups by branches.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # for branches without a configuration
            ratios = np.exp([self.units.values[group.cells].mean(axis=0) for group in groups])
            return {
                "build_low": np.nanmin(ratios, axis=2),
                "build_median": np.nanmedian(ratios, axis=2),
                "build_high": np.nanmax(ratios, axis=2),
            }

    def _bands(self, groups: list[Group], own: tuple[Location, Spread]) -> Floats:
        """The noise floor of each group, as a ratio; NaN where the A/A control lacks a configuration.

        The floor covers 95 % of the ratios of equal builds, as estimated from the spread of the A/A control's builds.
        If the control's own ratio is larger, the floor is that ratio. `own` are the ratios of these groups.
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
        """Trend of each pooled row's ratio over replicates, and the p-value of its slope; NaN for single configurations.

        A replicate counts as one value, because its trials ran in the same round with the same build.
        """
        values = self._by_replicate.values
        shape = (len(groups), len(self.branches))
        if level == "cell" or values.shape[2] < FEWEST_TO_DRIFT:
            return np.full(shape, np.nan), np.full(shape, np.nan)
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            # NumPy warns about means without values, because a branch may lack a configuration or replicate.
            warnings.simplefilter("ignore", RuntimeWarning)
            beside = values - np.nanmean(values, axis=2, keepdims=True)
            residual = np.stack([np.nanmean(beside[group.cells], axis=0) for group in groups])
            known = np.isfinite(residual)
            number = known.sum(axis=2)
            when = np.broadcast_to(np.arange(values.shape[2], dtype=float), residual.shape)
            when, residual = (
                np.where(known, it - np.mean(it, axis=2, where=known, keepdims=True), 0.0)
                for it in (when, residual)
            )
        free = np.maximum(number - 2, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (when * residual).sum(axis=2) / (when**2).sum(axis=2)
            left = residual - slope[..., None] * when
            error = np.sqrt((left**2).sum(axis=2) / free / (when**2).sum(axis=2))
            p_values = 2 * special.stdtr(free, -np.abs(slope) / np.maximum(error, 1e-12))
        enough = number >= FEWEST_TO_DRIFT
        # From the first known replicate to the last, because some between them may be missing.
        whole = np.exp(slope * np.ptp(when, axis=2))
        return np.where(enough, whole, np.nan), np.where(enough, p_values, np.nan)


class Comparisons:
    """Comparisons with several baselines in several quantities, each computed once.

    The noise floor of all comes from the branch that ran twice, which may be another branch than the baseline.
    """

    def __init__(self, times: pl.LazyFrame, baseline: str | None, *, simulated: bool) -> None:
        """Remember the rows of `frames.TIMES`, and the sweep's own baseline."""
        self._times, self._simulated = times, simulated
        self._twin = twin_of(times, baseline)
        self._made: dict[tuple[str, str], Comparison] = {}

    def against(self, baseline: str, quantity: str) -> Comparison:
        """The comparison of all branches with `baseline` in one of `QUANTITIES`."""
        twinned = self._twin.removesuffix(TWIN_SUFFIX) if self._twin else baseline
        for base in (twinned, baseline):
            if (base, quantity) not in self._made:
                noise = self._made.get((twinned, quantity))
                made = Comparison(self._times, base, quantity, noise, simulated=self._simulated)
                self._made[base, quantity] = made
        return self._made[baseline, quantity]


_ROWS = pl.Schema(
    {
        name: kind
        for name, kind in COMPARISONS.items()
        if name not in ("detectable", "p_corrected", "verdict", "cpu_ratio")
    }
    | {"error": pl.Float64, "only_cell": pl.Int64}
)
"""Columns of a row before it is tested."""


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction, which controls the probability of any false result."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def _decided(rows: pl.DataFrame, twin: str | None, *, simulated: bool) -> pl.DataFrame:
    """Fill in corrected p-values, detectable ratios and results. The A/A control is outside the family of tests."""
    own = pl.col("branch") == (twin or "")
    is_known = (
        pl.col("p_value").is_not_null() & pl.col("band").is_not_null() & ~pl.col("is_bimodal")
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
    tested = rows.with_columns(
        pl.Series("p_corrected", corrected, dtype=pl.Float64).fill_nan(None),
        pl.Series("detectable", detectable, dtype=pl.Float64).fill_nan(None),
    )
    # Several rows may have the same single configuration. They share the test of the `cell` row and
    # the trend of the pooled rows.
    of_cell = pl.col("p_corrected", "detectable", "ratio_drift", "p_drift")
    same = ["baseline", "quantity", "branch", "only_cell"]
    tested = tested.with_columns(
        pl.when(is_a_cell).then(of_cell.max().over(same)).otherwise(of_cell)
    )
    is_different = differs(simulated=simulated)
    verdict = (
        pl.when(
            own | pl.col("p_corrected").is_null() | (is_different & drifts(simulated=simulated))
        )
        .then(pl.lit(UNTESTED))
        .when(is_different & (pl.col("time_ratio") < 1))
        .then(pl.lit(FASTER))
        .when(is_different)
        .then(pl.lit(SLOWER))
        .otherwise(pl.lit(UNCLEAR))
    )
    by_cpu = tested.filter(quantity="cpu").select(
        *_CPU_KEY, pl.col("time_ratio").alias("cpu_ratio")
    )
    return (
        tested.with_columns(verdict.alias("verdict"))
        .join(by_cpu, on=_CPU_KEY, how="left", nulls_equal=True, maintain_order="left")
        .select(cast_to(COMPARISONS))
    )


def _shares(tested: set[str]) -> dict[str, float]:
    """`SHARES`; the level `cell` also gets the shares of levels without a test."""
    left = sum(share for level, share in SHARES.items() if level not in tested | {"cell"})
    return SHARES | {"cell": SHARES["cell"] + left}


_CPU_KEY = ["baseline", "level", *POOL_CELL]


def detectable_ratio(rows: pl.DataFrame, alpha: float) -> Floats:
    """Smallest ratio above 1 that the test finds with a probability of about 0.8.

    In: rows with `error`, `degrees` and `band`; `alpha` is the level of the first test of Holm's correction.
    """
    error, degrees, band = (rows[name].to_numpy() for name in ("error", "degrees", "band"))
    quantile = special.stdtrit(degrees, 1 - alpha / 2)
    needed = np.maximum(quantile * error, np.log(band))
    # If a sweep is repeated, estimate and standard error both vary (noncentral t, large-sample form).
    spread = error * (1 + 1 / (4 * degrees)) * np.sqrt(1 + quantile**2 / (2 * degrees))
    # With few degrees of freedom the spread can overflow: infinity means that the test would find no
    # change.
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(needed + special.ndtri(AIMED) * spread), dtype=np.float64)


def differs(corrected: str = "p_corrected", *, simulated: bool = False) -> pl.Expr:
    """Whether a row of `frames.COMPARISONS` is significant: after correction, and outside the noise floor."""
    # The noise floor is symmetric in logarithms: a floor of ±10 % ends at a gain of 9.1 %.
    is_large = (pl.col("time_ratio") - 1).abs() >= (LEAST_SIMULATED if simulated else 0.0)
    return (
        (pl.col("time_ratio").log().abs() > pl.col("band").log())
        & (pl.col(corrected) < ALPHA)
        & is_large
    )


def drifts(*, simulated: bool = False) -> pl.Expr:
    """Whether the ratio of a row of `frames.COMPARISONS` drifted by more than it differs from 1."""
    if simulated:
        return pl.lit(value=False)
    more = pl.col("ratio_drift").log().abs() > pl.col("time_ratio").log().abs()
    return ((pl.col("p_drift") < DRIFT_ALPHA) & more).fill_null(value=False)
