"""The one judge: every branch against the baseline, in wall and in CPU time, per cell, per workload and overall.

Each trial is set beside the baseline's of its block, so that a host that drifts does no harm; the log-ratios are
averaged within each layout, and a cell's estimate is their trimmed mean over layouts (`location`). A workload's
ratio, and that of all workloads together, is the geometric mean of the ratios of its cells.

A verdict needs two things at once: a p-value that survives correction, and a ratio outside the A/A band. The correction
(Holm 1979) covers everything that a page, a terminal or a README may quote of a sweep: both quantities, all branches,
both baselines where there are two, and all levels, among which the 5 % are divided by `SHARES`. So the chance that a
sweep of equal branches has any claim at all, anywhere, is at most 5 %. A ratio that drifts over the sweep by more than
it shows is not judged.

On simulated machines prices are known to some ten per cent, so no smaller change is called a difference. Nothing there
drifts: trials have seeds and no moment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.read.frames import COMPARISONS
from sweep_analysis.read.schema import CELL_SET, PANEL, PARALLEL, TWIN_SUFFIX
from sweep_analysis.stats.location import CONFIDENCE, FEWEST_UNITS, Floats, locate, pooled, shared_spread
from sweep_analysis.stats.units import LOG, by_layout, log_ratios

FASTER = "faster"
SLOWER = "slower"
UNCLEAR = "not distinguishable"
UNJUDGED = "not judged"
VERDICTS = (FASTER, SLOWER, UNCLEAR, UNJUDGED)
"""`not judged`: no A/A twin to know the noise from, fewer than `FEWEST_UNITS` layouts, or a ratio that drifts."""

QUANTITIES = {"time": "ns_per_unit", "cpu": "cpu_ns_per_unit", "cycles": "cycles_per_unit"}
"""What can be compared, and its column in `frames.TIMES`. A program that is paced by a clock takes its time whatever
the pool does; CPU time is what it shows. Cycles are time at the measured clock, for sweeps whose clock moved. The ratio
is called `time_ratio` in every case."""

JUDGED = ("time", "cpu")
"""The quantities that verdicts are given on together."""

ALPHA = 1 - CONFIDENCE
SHARES = {"overall": 0.3, "workload": 0.5, "cell": 0.2}
"""How the 5 % are divided among levels. Cells are many and noisy; people quote workloads."""
POWER = 0.8
LEAST_SIMULATED = 0.1
"""Change below which no simulated difference is called one, and below which the A/A band is never. A guess: how far
prices can be trusted."""
DRIFT_ALPHA = 0.01
"""P-value of Spearman's test below which a ratio has a trend."""
FEWEST_TO_DRIFT = 10
"""Pairs of a pooled row from which on a trend of its ratio is looked for."""

PLACE = ["quantity", "level", *PANEL, "threads"]
"""What a row is about, whichever branch and baseline."""


def judge(
    times: pl.LazyFrame,
    baseline: str,
    quantities: Sequence[str] = JUDGED,
    also: Mapping[str, Sequence[str]] | None = None,
    *,
    simulated: bool = False,
) -> pl.DataFrame:
    """Compare all branches with `baseline` in each of `quantities`, and correct over all of it.

    In:  rows of `frames.TIMES`, time-outs among them at their limit (`speedup.with_time_outs`); `also` has further
         baselines, and the branches that are compared with each.
    Out: rows of `frames.COMPARISONS`: one per branch, baseline, quantity and level, the A/A twin included (never
         judged). The noise is that of the branch that was run twice, whether or not it is the baseline. Cells without
         the baseline have no rows; `workload` and `overall` pool only cells that all branches have.
    """
    frames = []
    twin = twin_of(times, baseline)
    for quantity in quantities:
        first = Comparison(times, baseline, quantity)
        if first.is_empty:
            continue
        rows = [first.all_levels()]
        bands = rows[0]
        if twin is not None and first.twin is None:  # another branch than the baseline was run twice
            bands = Comparison(times, twin.removesuffix(TWIN_SUFFIX), quantity).all_levels()
        bands = bands.filter(branch=twin or "").select(*PLACE, band(simulated=simulated))
        for other, branches in (also or {}).items():
            compared = times.filter(pl.col("branch").is_in([other, *branches]))
            rows.append(Comparison(compared, other, quantity).all_levels())
        frames += [it.join(bands, on=PLACE, how="left", nulls_equal=True, maintain_order="left") for it in rows]
    if not frames:
        return pl.DataFrame(schema=COMPARISONS)
    return _judged(pl.concat(frames), twin, simulated=simulated)


def compare(times: pl.LazyFrame, baseline: str, quantity: str = "time") -> pl.DataFrame:
    """The rows of `judge` in one of `QUANTITIES`; wall and CPU time are judged together whichever is asked for."""
    quantities = JUDGED if quantity in JUDGED else (quantity,)
    return judge(times, baseline, quantities).filter(quantity=quantity)


def in_quantity(times: pl.LazyFrame, quantity: str) -> pl.LazyFrame:
    """Rows of `frames.TIMES` with one of `QUANTITIES` in the place of time; trials that do not have it are left out."""
    chosen = pl.col(QUANTITIES[quantity])
    known = times if quantity == "time" else times.filter(chosen > 0)
    return known.with_columns(chosen.alias(QUANTITIES["time"]))


def twin_of(times: pl.LazyFrame, baseline: str | None) -> str | None:
    """The A/A twin that was run: the baseline's, or the only one that there is."""
    names = times.filter(pl.col("program") == PARALLEL).select(pl.col("branch").unique()).collect()["branch"]
    twins = sorted(
        name for name in names if name.endswith(TWIN_SUFFIX) and name.removesuffix(TWIN_SUFFIX) in set(names)
    )
    own = f"{baseline}{TWIN_SUFFIX}"
    return own if own in twins else next(iter(twins), None)


@dataclass(frozen=True)
class Group:
    """Cells that one row of a level pools.

    Attributes:
        key: its values of `schema.PANEL` and `threads`; what varies among the cells is not in it.
        cells: their places in `Comparison.units`.
    """

    key: dict[str, Any]
    cells: npt.NDArray[np.int64]


class Comparison:
    """Every cell of every branch beside the baseline's, to be pooled in any way.

    In: rows of `frames.TIMES`.
    """

    def __init__(self, times: pl.LazyFrame, baseline: str, quantity: str = "time") -> None:
        """Pair all trials with the baseline's of their blocks, in one of `QUANTITIES`."""
        self.baseline, self.quantity = baseline, quantity
        self._pairs = log_ratios(times, baseline, QUANTITIES[quantity]).collect()
        self.units = by_layout(self._pairs.lazy())
        self.branches = self.units.branches
        self._cells = locate(self.units.values)
        twin = baseline + TWIN_SUFFIX
        self.twin = twin if twin in self.branches else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be paired."""
        return self._pairs.is_empty()

    @cached_property
    def shared(self) -> npt.NDArray[np.int64]:
        """Cells that every branch has: a mean over different cells would compare programs, not branches."""
        enough = min(FEWEST_UNITS, int(self._cells.units.max(initial=0)))
        return np.flatnonzero((self._cells.units >= enough).all(axis=1))

    def places_of(self, cells: pl.DataFrame) -> npt.NDArray[np.int64]:
        """Places of these cells (rows of `schema.CELL_SET`) in `units`; those that it lacks are left out."""
        own = self.units.cells.select(CELL_SET).with_row_index("at")
        return own.join(cells, on=CELL_SET, how="semi", nulls_equal=True)["at"].to_numpy()

    def all_levels(self) -> pl.DataFrame:
        """Rows of every level, see `rows`."""
        return pl.concat([self.rows(level, self.groups(level)) for level in SHARES])

    def groups(self, level: str, among: npt.NDArray[np.int64] | None = None) -> list[Group]:
        """The groups of a level; pooled ones of cells `among` those given, by default those that all branches have."""
        keys = self.units.cells
        if level == "cell":
            return [Group({name: row[name] for name in [*PANEL, "threads"]}, np.array([at]))
                    for at, row in enumerate(keys.rows(named=True))]  # fmt: skip
        places = self.shared if among is None else among
        if places.size == 0:
            return []
        if level == "overall":
            return [Group({}, places)]
        part = keys[places].with_columns(at=pl.Series(places))
        return [Group(dict(zip(PANEL, key, strict=True)), group["at"].to_numpy())
                for key, group in part.group_by(PANEL, maintain_order=True)]  # fmt: skip

    def rows(self, level: str, groups: list[Group]) -> pl.DataFrame:
        """A row per branch and group: the columns of `frames.COMPARISONS` but for band, correction and verdict.

        And `half_width`, of the log-ratio's 95 % interval; `error`, its standard error; `degrees`, of freedom.
        """
        if not groups:
            return pl.DataFrame(schema=_ROWS)
        parts = [pooled(_at(self._cells, group.cells)) for group in groups]
        found = type(parts[0])(
            *(np.stack([getattr(it, name) for it in parts]) for name in parts[0].__dataclass_fields__)
        )
        spread = shared_spread(found)
        half = spread.half_width()
        with np.errstate(invalid="ignore", divide="ignore"):
            p_values = 2 * special.stdtr(np.maximum(spread.degrees, 1e-9), -np.abs(found.estimate / spread.error))
        pairs = np.stack([self.units.pairs[group.cells].sum(axis=0) for group in groups])
        keys = [group.key for group in groups for _ in self.branches]
        is_cell = level == "cell"
        crowded = self.units.cells["oversubscribed"]
        columns: dict[str, Any] = {
            "quantity": self.quantity,
            "baseline": self.baseline,
            "level": level,
            **{name: [key.get(name) for key in keys] for name in [*PANEL, "threads"]},
            "branch": self.branches * len(groups),
            "oversubscribed": [crowded[int(it.cells[0])] if is_cell else None for it in groups for _ in self.branches],
            "cells": np.repeat([it.cells.size for it in groups], len(self.branches)),
            "pairs": pairs.astype(int).ravel(),
            "units": found.units.ravel(),
            "time_ratio": np.exp(found.estimate).ravel(),
            "ratio_low": np.exp(found.estimate - half).ravel(),
            "ratio_high": np.exp(found.estimate + half).ravel(),
            "p_value": p_values.ravel(),
            "half_width": half.ravel(),
            "error": spread.error.ravel(),
            "degrees": spread.degrees.ravel(),
        }
        frame = pl.DataFrame(columns, schema_overrides=_ROWS, strict=False)
        frame = frame.filter(pl.col("time_ratio").is_not_nan())
        measured = ("ratio_low", "ratio_high", "p_value", "half_width", "error")
        frame = frame.with_columns(pl.col(name).fill_nan(None) for name in measured)
        return frame.join(self._drift(level, groups), on=[*PANEL, "branch"], how="left", nulls_equal=True,
                          maintain_order="left").select(_ROWS.names())  # fmt: skip

    def _drift(self, level: str, groups: list[Group]) -> pl.DataFrame:
        """Trend of each pooled row's ratio, each pair beside the others of its cell.

        Out: `ratio_drift`, the last block over the first, and `p_drift`, Spearman's, by panel (null: all) and branch.
        """
        key = [*PANEL, "branch"]
        schema = pl.Schema({name: _ROWS[name] for name in [*key, "ratio_drift", "p_drift"]})
        if level == "cell":
            return pl.DataFrame(schema=schema)
        meant = self.units.cells[np.concatenate([group.cells for group in groups])].select(CELL_SET)
        cell = [*CELL_SET, "branch"]
        beside = (
            self._pairs.lazy()
            .join(meant.lazy(), on=CELL_SET, how="semi")
            .with_columns(
                when=pl.col("block") - pl.col("block").mean().over(cell),
                residual=pl.col(LOG) - pl.col(LOG).mean().over(cell),
            )
        )
        if level == "overall":
            beside = beside.with_columns(pl.lit(None).cast(_ROWS[name]).alias(name) for name in PANEL)
        slope = pl.col("when").dot("residual") / pl.col("when").dot("when")
        span = pl.col("block").max() - pl.col("block").min()
        found = (
            beside.group_by(key)
            .agg(
                pl.len().alias("number"),
                (slope * span).exp().alias("ratio_drift"),
                pl.corr("when", "residual", method="spearman").alias("rho"),
            )
            .filter((pl.col("number") >= FEWEST_TO_DRIFT) & pl.col("rho").is_finite())
            .collect()
        )
        rho = np.clip(found["rho"].to_numpy(), -1 + 1e-12, 1 - 1e-12)
        free = found["number"].to_numpy() - 2
        p_values = 2 * special.stdtr(free, -np.abs(rho) * np.sqrt(free / (1 - rho**2)))
        return found.with_columns(p_drift=pl.Series(p_values, dtype=pl.Float64)).select(schema.names()).cast(schema)


_ROWS = pl.Schema(
    {
        name: kind
        for name, kind in COMPARISONS.items()
        if name not in ("band", "detectable", "p_corrected", "verdict", "cpu_ratio")
    }
    | dict.fromkeys(("half_width", "error", "degrees"), pl.Float64)
)
"""Columns of a row before it is judged."""


def _at(cells: Any, places: npt.NDArray[np.int64]) -> Any:  # noqa: ANN401 - a Location
    return type(cells)(*(getattr(cells, name)[places] for name in cells.__dataclass_fields__))


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction: controls the chance of even one false claim."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def _judged(rows: pl.DataFrame, twin: str | None, *, simulated: bool) -> pl.DataFrame:
    """Fill in corrected p-values, what could have been found, and verdicts; the twin is outside the family of tests."""
    own = pl.col("branch") == (twin or "")
    testable = rows.select(~own & pl.col("p_value").is_not_null() & pl.col("band").is_not_null()).to_series().to_numpy()
    levels = rows["level"].to_numpy()
    p_values = rows["p_value"].to_numpy()
    corrected = np.full(rows.height, np.nan)
    detectable = np.full(rows.height, np.nan)
    for level, share in SHARES.items():
        mine = testable & (levels == level)
        if mine.any():
            corrected[mine] = np.minimum(holm(p_values[mine]) / share, 1.0)
            detectable[mine] = detectable_ratio(rows.filter(mine), ALPHA * share / int(mine.sum()))
    judged = rows.with_columns(
        pl.Series("p_corrected", corrected, dtype=pl.Float64).fill_nan(None),
        pl.Series("detectable", detectable, dtype=pl.Float64).fill_nan(None),
    )
    is_different = differs(simulated=simulated)
    verdict = (
        pl.when(own | pl.col("p_corrected").is_null() | (is_different & drifts(simulated=simulated)))
        .then(pl.lit(UNJUDGED))
        .when(is_different & (pl.col("time_ratio") < 1))
        .then(pl.lit(FASTER))
        .when(is_different)
        .then(pl.lit(SLOWER))
        .otherwise(pl.lit(UNCLEAR))
    )
    by_cpu = judged.filter(quantity="cpu").select(*_CPU_KEY, pl.col("time_ratio").alias("cpu_ratio"))
    return (
        judged.with_columns(verdict.alias("verdict"))
        .join(by_cpu, on=_CPU_KEY, how="left", nulls_equal=True, maintain_order="left")
        .select(pl.col(name).cast(kind) for name, kind in COMPARISONS.items())
    )


_CPU_KEY = ["baseline", "level", *PANEL, "threads", "branch"]


def detectable_ratio(rows: pl.DataFrame, alpha: float) -> Floats:
    """Smallest ratio above 1 that the verdict finds with probability `POWER`, band and all, at this noise.

    In: rows with `error`, `degrees` and `band`; `alpha` is the level of one test after correction, none being found
        before it.
    """
    error, degrees, band = (rows[name].to_numpy() for name in ("error", "degrees", "band"))
    quantile = special.stdtrit(degrees, 1 - alpha / 2)
    needed = np.maximum(quantile * error, np.log(band))
    # Another sweep has another estimate, and another standard error beside it (noncentral t, large-sample form).
    spread = error * (1 + 1 / (4 * degrees)) * np.sqrt(1 + quantile**2 / (2 * degrees))
    # With few degrees of freedom the spread can be immense: infinity says that no change would be found.
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(needed + special.ndtri(POWER) * spread), dtype=np.float64)


def band(*, simulated: bool = False) -> pl.Expr:
    """The A/A band from a twin's row of `Comparison.rows`.

    It holds 95 % of what equal builds show, as the twin's layouts vary. If the twin itself shows more, something else
    than chance told the two apart, and a branch is believed only beyond that.
    """
    least = math.log1p(LEAST_SIMULATED) if simulated else 0.0
    return (
        pl.when(pl.col("half_width").is_not_null())
        .then(pl.max_horizontal("half_width", pl.col("time_ratio").log().abs(), pl.lit(least)).exp())
        .alias("band")
    )


def differs(corrected: str = "p_corrected", *, simulated: bool = False) -> pl.Expr:
    """Whether a row of `frames.COMPARISONS` shows a difference: certain after correction, and outside the A/A band."""
    # The band is even in logarithms: one of ±10 % ends at a gain of 9.1 %.
    is_large = (pl.col("time_ratio") - 1).abs() >= (LEAST_SIMULATED if simulated else 0.0)
    return (pl.col("time_ratio").log().abs() > pl.col("band").log()) & (pl.col(corrected) < ALPHA) & is_large


def drifts(*, simulated: bool = False) -> pl.Expr:
    """Whether the ratio of a row of `frames.COMPARISONS` changed over the sweep by more than what it shows."""
    if simulated:
        return pl.lit(value=False)
    more = pl.col("ratio_drift").log().abs() > pl.col("time_ratio").log().abs()
    return ((pl.col("p_drift") < DRIFT_ALPHA) & more).fill_null(value=False)
