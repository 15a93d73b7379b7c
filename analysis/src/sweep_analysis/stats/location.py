"""The estimator of all comparisons: a trimmed mean of logarithms with one value per unit, and its standard error.

A *unit* is the independent sample: a build of a branch (see `units`). A value has two parts. The shift of
a build in all configurations of its program (`units.of_builds`) is averaged without trimming, because
users run such builds. The rest of the value is averaged with trimming, which drops 20 % of the values at
either end, rounded down. So a trial that ran beside another program hardly changes the mean.

The standard error includes both parts. The error of the trimmed part follows from the winsorised spread
(Yuen 1974, doi:10.1093/biomet/61.1.165). A mean over several configurations adds the errors of each unit
first, because a fast build is fast in all its configurations.

Seven values are too few for a good estimate of their own spread. So each row's variance is estimated
together with the variances of other branches of its group (Smyth 2004, doi:10.2202/1544-6115.1027).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

Floats: TypeAlias = npt.NDArray[np.float64]

CONFIDENCE = 0.95
TRIMMED = 0.2
"""Share of the values of a configuration that is trimmed at either end."""
FEWEST_UNITS = 4
"""With fewer units there is no test and no interval, because two or three values may agree by chance."""
SHARED = 0.2
"""Correlation of two branches' estimated variances, which both include the baseline's noise (synthetic data: 0.12 to 0.25)."""
LONE_ALPHA = 0.1
"""P-value of the F-test below which a row is noisier than its neighbours; their variance is then not used."""
FEWEST_NEIGHBOURS = 3
"""With fewer neighbours, a row gets no degrees of freedom from neighbours whose spread is smaller."""
LEAST_VARIANCE = 1e-18
"""Minimum variance; a smaller variance comes from a coarse clock, because a log-ratio of 1e-9 is negligible."""


@dataclass(frozen=True)
class Location:
    """Trimmed means along the last axis of a table.

    Attributes:
        estimate: the trimmed mean of each row; NaN for a row without values.
        influence: rows by units: the contribution of each value to the standard error; 0 without a
            value. The sum of the squared contributions is the square of the standard error.
        units: number of values of each row.
        degrees: degrees of freedom of the standard error of each row; 0 for a row of one value.
    """

    estimate: Floats
    influence: Floats
    units: npt.NDArray[np.int64]
    degrees: Floats

    def at(self, rows: Any) -> Location:  # noqa: ANN401 - any index of an array
        """The rows at an index."""
        return Location(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def locate(values: Floats, builds: Floats | None = None) -> Location:
    """Compute the trimmed mean of each row along the last axis; NaN means no value.

    `builds` is the part of each value that is not trimmed, and is finite everywhere; None trims whole values.
    """
    flat = values.reshape(int(np.prod(values.shape[:-1])), values.shape[-1])
    known = np.isfinite(flat)
    whole = (
        np.zeros_like(flat) if builds is None else np.where(known, builds.reshape(flat.shape), 0.0)
    )
    rest = flat - whole
    units = known.sum(axis=1)
    estimate = np.full(flat.shape[0], np.nan)
    influence = np.zeros_like(flat)
    degrees = np.zeros(flat.shape[0])
    ordered = np.sort(np.where(known, rest, np.inf), axis=1)
    for size in np.unique(units[units > 0]).tolist():
        rows = units == size
        cut = int(TRIMMED * size)
        kept = size - 2 * cut
        inner = ordered[rows, cut : size - cut]
        there = known[rows]
        mean_of_builds = whole[rows].sum(axis=1, keepdims=True) / size
        estimate[rows] = inner.mean(axis=1) + mean_of_builds[:, 0]
        if kept < 2:  # noqa: PLR2004 - one value has no spread
            continue
        winsorised = np.clip(rest[rows], inner[:, :1], inner[:, -1:])
        middle = np.nanmean(np.where(there, winsorised, np.nan), axis=1, keepdims=True)
        of_rest = np.where(there, winsorised - middle, 0.0) / np.sqrt(kept * (kept - 1))
        of_builds = np.where(there, whole[rows] - mean_of_builds, 0.0) / np.sqrt(size * (size - 1))
        influence[rows] = of_rest + of_builds
        has_rest = (of_rest != 0.0).any(axis=1)
        degrees[rows] = np.where(has_rest, kept, size) - 1
    shape = values.shape[:-1]
    return Location(
        estimate.reshape(shape),
        influence.reshape(values.shape),
        units.reshape(shape),
        degrees.reshape(shape),
    )


def pooled(cells: Location, axis: int = 0) -> Location:
    """Compute the mean over configurations along `axis`, each with equal weight.

    The degrees of freedom are the mean of two numbers: those of a trimmed configuration and of a plain mean of units.
    """
    number = cells.estimate.shape[axis]
    units = cells.units.min(axis=axis)
    trimmed = cells.degrees.mean(axis=axis)
    degrees = trimmed if number == 1 else (trimmed + np.maximum(units - 1, 0)) / 2
    return Location(cells.estimate.mean(axis=axis), cells.influence.mean(axis=axis), units, degrees)


@dataclass(frozen=True)
class Spread:
    """Standard errors of the rows of a `Location`, and their degrees of freedom."""

    error: Floats
    degrees: Floats

    def half_width(self) -> Floats:
        """Half of the 95 % interval; NaN without a standard error."""
        quantile = special.stdtrit(np.maximum(self.degrees, 1), (1 + CONFIDENCE) / 2)
        return np.asarray(quantile * self.error, dtype=np.float64)

    def p_values(self, estimate: Floats) -> Floats:
        """P-values of the two-sided t-tests that these estimates are 0; NaN without a standard error."""
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.abs(estimate / self.error)
        return np.asarray(2 * special.stdtr(np.maximum(self.degrees, 1e-9), -t), dtype=np.float64)


def own_spread(found: Location) -> Spread:
    """Standard errors of rows from their own values; NaN with fewer than `FEWEST_UNITS` values, or equal values."""
    variance = (found.influence**2).sum(axis=-1)
    known = (found.units >= FEWEST_UNITS) & (variance > LEAST_VARIANCE)
    return Spread(np.where(known, np.sqrt(variance), np.nan), np.where(known, found.degrees, 0.0))


def shared_spread(found: Location, *, exact: bool = False) -> Spread:
    """Standard errors of a table of groups by branches; the branches of a group share information on variance.

    A row's prior is the geometric mean of the variances of the other rows of its group. The weight of
    the prior follows from the number of these rows, and from how well variances agree within groups. If the values of a row do not
    differ (the clock is too coarse), the row has only the prior, unless it is known to be `exact`.

    The prior may not lower a standard error below the row's own, nor below the root of half of the
    prior's variance: without this floor, 15 to 24 % of synthetic sweeps of equal branches with far modes
    had a significant result. With a floor of the arithmetic mean, one noisy branch would hide the effects
    of its quiet neighbours.
    """
    alone = own_spread(found)
    known = alone.degrees > 0
    half = np.where(known, alone.degrees, 1.0) / 2
    variance = np.where(known, alone.error**2, 1.0)
    # The log of an estimated variance is, on average, below the log of the true variance; the two
    # added terms correct this bias.
    logs = np.where(known, np.log(variance) - special.digamma(half) + np.log(half), 0.0)
    noise = special.polygamma(1, half)
    number = known.sum(axis=1, keepdims=True)
    centred = np.where(known, logs - logs.sum(axis=1, keepdims=True) / np.maximum(number, 1), 0.0)
    free = int(np.maximum(number - 1, 0).sum())
    excess = (centred**2).sum() / free / (1 - SHARED) - noise[known].mean() if free else 0.0
    others = number - known
    neighbours = np.maximum(others, 1)
    mean_of_others = (logs.sum(axis=1, keepdims=True) - logs) / neighbours
    typical = np.where(known, noise, noise[known].mean() if known.any() else 1.0)
    uncertainty = max(float(excess), 0.0) + typical * (1 + (others - 1) * SHARED) / neighbours
    prior = 2 * _inverse_trigamma(uncertainty)
    prior_variance = np.exp(mean_of_others + special.digamma(prior / 2) - np.log(prior / 2))
    weight = np.where((others > 0) & (found.units >= FEWEST_UNITS), prior, 0.0)
    degrees = weight + alone.degrees
    shared = (weight * prior_variance + alone.degrees * variance) / np.where(
        degrees > 0, degrees, np.nan
    )
    own = np.where(known, variance, 0.0)
    # A row that is clearly noisier than its neighbours has its own spread and degrees of freedom.
    # With few neighbours, any row above the prior counts as clearly noisier.
    limit = special.fdtri(np.maximum(alone.degrees, 1), np.maximum(weight, 0.5), 1 - LONE_ALPHA)
    is_lone = (
        known
        & (weight > 0)
        & (own > np.where(others < FEWEST_NEIGHBOURS, 1.0, limit) * prior_variance)
    )
    least = np.where(weight > 0, prior_variance / 2, 0.0)
    certain = exact & ~(degrees > 0) & (found.units >= FEWEST_UNITS)
    shared = np.where(certain, LEAST_VARIANCE, np.maximum(np.maximum(shared, own), least))
    degrees = np.where(
        is_lone, alone.degrees, np.where(certain, np.maximum(found.units - 1, 1), degrees)
    )
    return Spread(np.sqrt(shared), degrees)


def _inverse_trigamma(values: Floats) -> Floats:
    """The inverse of the trigamma function, by Newton's method (Smyth 2004, appendix)."""
    found = 0.5 + 1 / np.maximum(values, 1e-8)
    for _ in range(50):
        value = special.polygamma(1, found)
        step = value * (1 - value / values) / special.polygamma(2, found)
        found = found + step
        if np.abs(step / found).max(initial=0.0) < 1e-9:  # noqa: PLR2004 - precise enough
            break
    return np.asarray(found, dtype=np.float64)


def described(logs: Floats, builds: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """The mean of each row of logarithms (`locate`) and its 95 % interval, converted to plain numbers; NaN if absent."""
    found = locate(logs, builds)
    half = own_spread(found).half_width()
    return np.exp(found.estimate), np.exp(found.estimate - half), np.exp(found.estimate + half)
