"""Tests whether a branch is equivalent to the baseline, for each configuration.

An insignificant difference does not prove equality. So this module tests equivalence (two one-sided
tests, Schuirmann 1987, doi:10.1007/BF01068419). A configuration is *equivalent* if its 90 % interval
lies within `CELL_MARGIN`. It is *different* if its interval, corrected for the number of configurations,
lies beyond `CELL_MARGIN`, and otherwise *inconclusive*. The row of level `overall`, which pools one kind of
configuration (`compare.POOLED`), is tested in the same way, with `MEAN_MARGIN`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from sweep_analysis.read.frames import CALIBRATION, cast_to
from sweep_analysis.read.schema import PANEL, PLACE, TWIN_SUFFIX
from sweep_analysis.stats.compare import ALPHA, QUANTITIES, Comparison, holm

MEAN_MARGIN = 0.02
"""Margin of equivalence of the ratio of level `overall`."""

CELL_MARGIN = 0.05
"""Margin of equivalence of the ratio of one configuration."""

EQUAL = "equivalent"
OFF = "different"
OPEN = "inconclusive"
ANSWERS = (EQUAL, OFF, OPEN)

TESTED = ("time", "cpu")
"""The quantities of the table of equivalence."""


@dataclass(frozen=True)
class Calibration:
    """Result of the test of equivalence of one branch.

    Attributes:
        mean: the row of level `overall`: `cells` (the number of its configurations), `time_ratio`,
            `equal_low` and `equal_high` (the 90 % interval), `answer` (one of `ANSWERS`).
        cells: a row for every configuration, with `schema.PANEL` and `threads`; the largest changes
            first.
    """

    mean: pl.DataFrame
    cells: pl.DataFrame

    @property
    def answer(self) -> str:
        """`EQUAL` if the mean and all configurations are `EQUAL`; `OFF` if any of these is `OFF`; otherwise `OPEN`."""
        answers = {*self.mean["answer"], *self.cells["answer"]}
        return OFF if OFF in answers else EQUAL if answers == {EQUAL} else OPEN


def calibration(
    times: pl.LazyFrame, baseline: str, branch: str, quantity: str = "time"
) -> Calibration | None:
    """Test the equivalence of `branch` and `baseline` in `quantity`; None if they share no configuration.

    In: rows of `frames.TIMES`.
    """
    return _of_branch(Comparison(times, baseline, quantity), branch)


def calibrations(times: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """Test the equivalence of each branch and `baseline` in each of `TESTED`.

    In:  rows of `frames.TIMES`.
    Out: rows of `frames.CALIBRATION`, by quantity and branch: first the mean, then the configurations, the
         largest changes first. The A/A control is left out.
    """
    rows = [pl.DataFrame(schema=CALIBRATION)]
    for quantity in TESTED:
        if times[QUANTITIES[quantity]].null_count() == times.height:
            continue
        compared = Comparison(times.lazy(), baseline, quantity)
        for branch in compared.branches:
            found = None if branch.endswith(TWIN_SUFFIX) else _of_branch(compared, branch)
            if found is not None:
                rows += [
                    part.with_columns(verdict="answer").select(cast_to(CALIBRATION))
                    for part in (found.mean, found.cells)
                ]
    return pl.concat(rows)


def _of_branch(compared: Comparison, branch: str) -> Calibration | None:
    if branch not in compared.branches:
        return None
    mean, cells = (
        _answered(compared.rows(level, compared.groups(level)).filter(branch=branch), margin)
        for level, margin in (("overall", MEAN_MARGIN), ("cell", CELL_MARGIN))
    )
    if cells.is_empty() or mean.is_empty():
        return None
    order = [pl.col("time_ratio").log().abs(), *PLACE]
    return Calibration(mean, cells.sort(order, descending=[True] + [False] * (len(PANEL) + 1)))


def _answered(rows: pl.DataFrame, margin: float) -> pl.DataFrame:
    """Add `equal_low`, `equal_high` and `answer` to rows of `compare.Comparison.rows`."""
    ratios, errors, degrees = (
        rows[name].to_numpy().astype(float) for name in ("time_ratio", "error", "degrees")
    )
    logs = np.log(ratios)
    half = special.stdtrit(np.maximum(degrees, 1), 1 - ALPHA) * errors
    nearest, edge = np.abs(logs), np.log1p(margin)
    with np.errstate(invalid="ignore"):
        p_off = special.stdtr(np.maximum(degrees, 1), -(nearest - edge) / errors)
    known = np.isfinite(p_off)
    off = np.zeros(rows.height, dtype=bool)
    off[known] = holm(p_off[known]) < ALPHA / 2  # half, because this line tests both sides
    equal = known & (nearest + half < edge)
    answers = np.where(off, OFF, np.where(equal, EQUAL, OPEN))
    return rows.with_columns(
        pl.Series("equal_low", np.exp(logs - half), dtype=pl.Float64).fill_nan(None),
        pl.Series("equal_high", np.exp(logs + half), dtype=pl.Float64).fill_nan(None),
        pl.Series("answer", answers, dtype=pl.String),
    )
