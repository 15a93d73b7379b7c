"""Pools one change from several sweeps of the same branches.

Link-order randomised builds do not cover a recompilation, or another day. The extra variance between
sweeps is estimated from all rows of a level that the sweeps share. This variance has four parts. A day
may move all ratios alike, the ratios of one branch, those of one workload and thread count, or a single
ratio. A day is one draw for all rows, so with two sweeps the first part has one degree of freedom. Each
part has its own t quantile. The squares of the half-widths, including those of the sweeps themselves, are
added (the MOVER of Zou and Donner 2008, doi:10.1002/sim.3095). If each row had one degree of freedom
instead, coverage would be 65 % when a day moves all ratios (`cargo xtask truth`).

A significant change must pass the same two tests as in a single sweep, with the wider of the sweeps'
noise floors. The correction counts independent draws: one for the day, one for each branch, one for
each workload and thread count. The fourth part is corrected for all rows of the level and the level's
share (`compare.SHARES`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.read.labels import listed
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PLACE, POOL_CELL, TWIN_SUFFIX
from sweep_analysis.stats.compare import (
    AIMED,
    ALPHA,
    FASTER,
    SHARES,
    SLOWER,
    UNCLEAR,
    UNTESTED,
)
from sweep_analysis.stats.location import CONFIDENCE, Floats

_ROW = ["baseline", "quantity", "level", *POOL_CELL]
NAMED = 3
"""Maximum number of missing programs and threads that an error names."""
_KNOWN = ("ratio_low", "ratio_high", "degrees")
"""Columns with the uncertainty of one sweep."""
_MACHINE = ("model_name", "cpu_family", "model")
"""Fields of `host.json` that identify the processor, because virtual machines may hide its model name."""


def unlike(sweeps: list[Sweep], comparisons: list[pl.DataFrame], row: dict[str, Any]) -> str | None:
    """The reason why a row of several sweeps cannot be pooled; None if it can be pooled.

    The sweeps must have run on the same machine, and the row must pool the same programs and threads.
    In: all rows of `frames.COMPARISONS` of each sweep, and the row of the first sweep.
    """
    first, *others = sweeps
    for other in others:
        if _machine(first) != _machine(other):
            return f"`{first.path.name}` ran on {_machine(first)}, `{other.path.name}` on {_machine(other)}"
    cells = [_cells(rows, row) for rows in comparisons]
    for sweep, those in zip(others, cells[1:], strict=True):
        for has, lacks, missing in (
            (first, sweep, sorted(cells[0] - those)),
            (sweep, first, sorted(those - cells[0])),
        ):
            if missing:
                more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
                named = f"{listed(missing[:NAMED])}{more}"
                return f"`{has.path.name}` has {named}, which `{lacks.path.name}` lacks"
    return None


def _machine(sweep: Sweep) -> str:
    cpu: dict[str, Any] = sweep.host.get("cpu") or {}
    model = " ".join(str(cpu[name]) for name in _MACHINE if cpu.get(name) is not None)
    return f"{model or 'an unknown processor'} with {sweep.host.get('cpus_usable')} CPUs"


def _cells(comparisons: pl.DataFrame, row: dict[str, Any]) -> set[str]:
    """The programs and thread counts of a row, as text."""
    same = ["baseline", "quantity", "branch", *(name for name in PLACE if row[name] is not None)]
    own = comparisons.filter(level="cell", **{name: row[name] for name in same})
    return {
        " ".join(str(part) for part in cell if part not in (None, "")) + f" on {threads} threads"
        for *cell, threads in own.select(PLACE).rows()
    }


class Pooled:
    """Pools sweeps of the same branches row by row.

    In: all rows of `frames.COMPARISONS` of each sweep's decisions.
    """

    def __init__(self, comparisons: list[pl.DataFrame]) -> None:
        """Find the rows that have intervals."""
        self._comparisons = comparisons
        self._rows = [
            {_key(row): row for row in rows.drop_nulls("ratio_low").rows(named=True)}
            for rows in comparisons
        ]
        self._between: dict[tuple[str, ...], _Between] = {}

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Pool a row of the first sweep with the same row of the others; `each` has the sweeps' ratios and results.

        Returns None if a sweep lacks the row or its interval.
        """
        found = [rows.get(_key(row)) for rows in self._rows]
        rows = [it for it in found if it is not None]
        if len(rows) < len(found):
            return None
        alike = tuple(row[name] for name in ("level", "baseline", "quantity"))
        if alike not in self._between:
            self._between[alike] = _Between(self._comparisons, row)
        between = self._between[alike]
        logs = np.log([it["time_ratio"] for it in rows])
        middle = float(logs.mean())
        half = between.half_width(rows, logs, 1 - CONFIDENCE)
        needed = between.half_width(rows, logs, ALPHA * SHARES[row["level"]], corrected=True)
        bands = [it["band"] for it in rows]
        band = None if None in bands else max(bands)
        needed = max(needed, math.log(band or 1.0))
        is_tested = band is not None and all(it["verdict"] != UNTESTED for it in rows)
        claim = FASTER if middle < 0 else SLOWER
        verdict = claim if abs(middle) > needed else UNCLEAR
        with np.errstate(over="ignore"):
            detectable = np.exp(needed + special.ndtri(AIMED) * between.error(rows))
        ends = {
            name: [it[name] for it in rows if it[name] is not None]
            for name in ("build_low", "build_high")
        }
        return row | {
            "time_ratio": math.exp(middle),
            "ratio_low": math.exp(middle - half),
            "ratio_high": math.exp(middle + half),
            "build_low": min(ends["build_low"], default=None),
            "build_median": None,
            "build_high": max(ends["build_high"], default=None),
            "band": band,
            "detectable": float(detectable) if is_tested else None,
            "verdict": verdict if is_tested else UNTESTED,
            "each": [(it["time_ratio"], it["verdict"]) for it in rows],
        }

    def rows(self) -> list[dict[str, Any]]:
        """The pooled rows that all sweeps have."""
        made = [self.row(row) for row in self._rows[0].values()]
        return [row for row in made if row is not None]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _ROW)


class _Between:
    """The variance between sweeps, over the rows of one level that all sweeps have.

    Attributes:
        number: number of sweeps.
        parts: for each part: variance of a ratio between sweeps, degrees of freedom, and number of draws
            to correct for; the finest part last.
        has_single_rows: whether the last part is the effect of a day on single rows.
        family: number of rows of the level that all sweeps test, in all quantities and baselines.
    """

    def __init__(self, comparisons: list[pl.DataFrame], row: dict[str, Any]) -> None:
        """Split the variance between sweeps into the parts that the head of this file names.

        In: all rows of each sweep. `row` selects the level, the baseline and the quantity.
        """
        shared = _shared(comparisons, row)
        self.number = len(comparisons)
        self.family = max(shared.height, 1)
        told = shared.filter(baseline=row["baseline"], quantity=row["quantity"])
        ends = range(self.number)
        ratios = np.log(told.select(f"time_ratio_{end}" for end in ends).to_numpy().astype(float))
        known_by = [told.select(f"{name}_{end}" for name in _KNOWN).to_numpy() for end in ends]
        noise = [_own_error(it.T.astype(float)) for it in known_by]
        branch = told["branch"].rank("dense").to_numpy().astype(int) - 1
        place = told.select(pl.struct(PLACE).rank("dense")).to_series().to_numpy().astype(int) - 1
        beside = ratios - ratios.mean(axis=1, keepdims=True)
        day = beside.mean(axis=0, keepdims=True)
        of_branch = _means(beside - day, branch)
        of_place = _means(beside - day, place)
        rest = beside - day - of_branch - of_place
        branches, places, free = int(branch.max()) + 1, int(place.max()) + 1, self.number - 1

        def variance(part: Floats, ranks: int, of: int) -> float:
            return float((part**2).sum(axis=1).mean()) / free * of / ranks if ranks else 0.0

        # The variance of means includes a share of the finer parts, so this share is subtracted
        # (analysis of variance of a balanced table).
        single = (branches - 1) * (places - 1)
        of_one = variance(rest, single, branches * places)
        by_branch = variance(of_branch, branches - 1, branches)
        by_place = variance(of_place, places - 1, places)
        by_day = variance(day, 1, 1)
        by_day -= by_branch / branches + by_place / places - of_one / (branches * places)
        parts = [
            (by_day, 1, 1),
            (by_branch - of_one / places, branches - 1, branches),
            (by_place - of_one / branches, places - 1, places),
            (of_one, single, self.family),
        ]
        parts = [part for part in parts if part[1]]
        self.has_single_rows = single > 0
        if (
            len(parts) > 1
        ):  # The finest part includes the sweeps' own noise, which is added separately.
            finest = parts.pop()
            parts.append((finest[0] - float(np.mean(np.square(noise))), *finest[1:]))
        self.parts = [(max(size, 0.0), ranks * free, events) for size, ranks, events in parts]

    def half_width(
        self, rows: list[dict[str, Any]], logs: Floats, alpha: float, *, corrected: bool = False
    ) -> float:
        """Compute the half-width of the interval of a mean of `logs` at error probability `alpha`.

        With `corrected`, the interval is corrected for all draws, and `alpha` is the share of single rows.
        """
        square = 0.0
        for at, (variance, degrees, events) in enumerate(self.parts):
            # The effect of a day on a branch, or on a workload and thread count, is one draw for all levels.
            whole = alpha if self.has_single_rows and at == len(self.parts) - 1 else ALPHA
            level = whole / events if corrected else alpha
            square += special.stdtrit(degrees, 1 - level / 2) ** 2 * variance / self.number
        level = alpha / self.family if corrected else alpha
        known = _known(rows)
        own = _quantile(known, level) * _own_error(known) / self.number
        square += float((own**2).sum())
        # If the sweeps differ in this row by more than these parts explain, the interval grows.
        apart = float(logs.var(ddof=1)) / (self.error(rows) ** 2 * self.number)
        return math.sqrt(square * max(apart, 1.0))

    def error(self, rows: list[dict[str, Any]]) -> float:
        """Standard error of the mean of the same row in all sweeps."""
        own = float(np.mean(_own_error(_known(rows)) ** 2))
        return math.sqrt((sum(size for size, *_ in self.parts) + own) / self.number)


def _shared(comparisons: list[pl.DataFrame], row: dict[str, Any]) -> pl.DataFrame:
    """The rows of a row's level that have an interval in all sweeps, without rows of other A/A controls."""
    is_twin = pl.col("branch").str.ends_with(TWIN_SUFFIX) & (pl.col("branch") != row["branch"])
    frames = [
        rows.filter(pl.col("level") == row["level"], ~is_twin)
        .drop_nulls("ratio_low")
        .select(*_ROW, pl.col("time_ratio", *_KNOWN).name.suffix(f"_{end}"))
        for end, rows in enumerate(comparisons)
    ]
    both = frames[0]
    for other in frames[1:]:
        both = both.join(other, on=_ROW, nulls_equal=True)
    return both


def _means(values: Floats, groups: npt.NDArray[np.int64]) -> Floats:
    """Replace each row by the mean of the rows of its group."""
    sums = np.zeros((groups.max() + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    return np.asarray((sums / np.bincount(groups)[:, None])[groups], dtype=np.float64)


def _known(rows: list[dict[str, Any]]) -> Floats:
    """The same row of all sweeps: `_KNOWN` by sweeps."""
    return np.array([[it[name] for it in rows] for name in _KNOWN], dtype=np.float64)


def _own_error(known: Floats) -> Floats:
    """Standard errors of rows in one sweep. In: `_KNOWN` by rows."""
    low, high = np.log(known[:2])
    return np.asarray((high - low) / 2 / _quantile(known, 1 - CONFIDENCE), dtype=np.float64)


def _quantile(known: Floats, alpha: float) -> Floats:
    degrees = np.maximum(known[2], 1.0)
    return np.asarray(special.stdtrit(degrees, 1 - alpha / 2), dtype=np.float64)
