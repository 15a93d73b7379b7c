"""Fits laws of scaling to time by threads, with residuals, and says when a law does not fit or cannot be fitted.

Both laws are sums of shares of the work, so they are fitted as such, by least squares with no share below zero:

    time(p) = parallel / p  +  serial  +  crosstalk · (p − 1)

*Amdahl* has no crosstalk; the *universal scalability law* (USL, Gunther 2007) has all three, its sigma being the serial
share of the time on one thread and its kappa the crosstalk over it. Errors are relative: each thread count weighs the
same. The problem is convex, so there are no starting values to be lucky with.

A law is fitted to thread counts within the host's CPUs alone: with more threads than CPUs, time tells of the kernel's
scheduler. It needs one thread count more than it has shares, or it would fit anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import optimize, stats

from sweep_analysis.read.frames import FITS, RESIDUALS_OF_FITS
from sweep_analysis.read.schema import PANEL, PARALLEL, TWIN_SUFFIX
from sweep_analysis.stats.location import CONFIDENCE, FEWEST_UNITS, Floats, locate
from sweep_analysis.stats.units import by_unit

LAWS = {"amdahl": 2, "usl": 3}
"""Name of every law, and how many shares it has."""

GOOD = "good"
POOR = "poor"
REFUSED = "refused"
STATUSES = (GOOD, POOR, REFUSED)
"""`poor`: residuals are too large for noise and for use, so no coefficients; `refused`: too few thread counts."""

TOLERANCE = 0.05
"""Largest relative residual with which a fit is of use even though its residuals are more than noise."""
LACK_ALPHA = 0.01
"""P-value of the lack-of-fit test below which residuals are more than noise."""
MOST_THREADS = 4096
"""Where the search for a peak of throughput ends."""


@dataclass(frozen=True)
class _Curve:
    """One branch's times by threads in one panel, threads ascending."""

    key: dict[str, Any]
    branch: str
    threads: Floats
    logs: Floats  # of the times, threads by units; NaN where nothing was measured

    @property
    def middles(self) -> Floats:
        """Time of each thread count."""
        return np.exp(locate(self.logs).estimate)

    def without_each_unit(self) -> Floats:
        """The same with one unit left out at a time: units by threads; units that some thread count lacks stay in."""
        whole = np.flatnonzero(np.isfinite(self.logs).all(axis=0))
        return np.array([np.exp(locate(np.delete(self.logs, unit, axis=1)).estimate) for unit in whole])


def scaling(times: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fit every law to every branch and panel, the A/A twin left out.

    In:  rows of `frames.TIMES`; only the pool's program counts.
    Out: rows of `frames.FITS`, one per panel, branch and law, refused ones included; and rows of
         `frames.RESIDUALS_OF_FITS`, one per thread count of each law that was fitted, poor ones included.
    """
    fits: list[dict[str, object]] = []
    points: list[dict[str, object]] = []
    for curve, left_out in _curves(times):
        place = {name: curve.key[name] for name in PANEL} | {"branch": curve.branch}
        for law, shares in LAWS.items():
            row = place | {"law": law, "points": curve.threads.size, "points_left_out": left_out}
            if curve.threads.size <= shares:
                reason = (
                    f"{curve.threads.size} thread counts within the CPUs; {shares} shares need at least {shares + 1}"
                )
                fits.append(row | {"status": REFUSED, "reason": reason})
                continue
            design = _design(curve.threads, law)
            fitted = design @ _fit(design, curve.middles)
            fits.append(row | _judged(curve, law, fitted))
            points += [
                place | {"law": law, "threads": int(threads), "ns_per_unit": seen, "fitted_ns_per_unit": said}
                | {"residual": float(np.log(seen / said))}
                for threads, seen, said in zip(curve.threads, curve.middles, fitted, strict=True)
            ]  # fmt: skip
    order = [*PANEL, "law", "branch"]
    return (
        pl.DataFrame(fits, schema=FITS).sort(order),
        pl.DataFrame(points, schema=RESIDUALS_OF_FITS).sort([*order, "threads"]),
    )


def _curves(times: pl.LazyFrame) -> list[tuple[_Curve, int]]:
    """Every branch's curve within the CPUs, and how many thread counts beyond them it has."""
    own = times.filter((pl.col("program") == PARALLEL) & ~pl.col("branch").str.ends_with(TWIN_SUFFIX))
    units = by_unit(own, "ns_per_unit")
    found = []
    cells = units.cells.with_row_index("at").sort(*PANEL, "threads")
    for part in cells.partition_by(PANEL, maintain_order=True):
        for row, branch in enumerate(units.branches):
            mine = part.filter(pl.Series(units.pairs[part["at"].to_numpy(), row] > 0))
            within = mine.filter(~pl.col("oversubscribed"))
            if mine.is_empty():
                continue
            threads = within["threads"].to_numpy().astype(float)
            curve = _Curve(part.row(0, named=True), branch, threads, units.values[within["at"].to_numpy(), row])
            found.append((curve, mine.height - within.height))
    return found


def _design(threads: Floats, law: str) -> Floats:
    """Time of each unit share by threads: columns parallel, serial and, for the USL, crosstalk."""
    columns = [1 / threads, np.ones_like(threads), threads - 1]
    return np.stack(columns[: LAWS[law]], axis=1)


def _fit(design: Floats, times: Floats) -> Floats:
    """Shares, none below zero, with the least squared relative errors."""
    shares, _ = optimize.nnls(design / times[:, None], np.ones(times.size))
    found: Floats = shares
    return found


def _judged(curve: _Curve, law: str, fitted: Floats) -> dict[str, object]:
    """Status, residuals and, for a good fit, coefficients with intervals."""
    residuals = np.log(curve.middles / fitted)
    largest = float(np.abs(residuals).max())
    p_lack = _lack_of_fit(curve, fitted, law)
    row: dict[str, object] = {
        "largest_residual": largest,
        "rms_residual": float(np.sqrt(np.mean(residuals**2))),
        "p_lack_of_fit": p_lack,
    }
    if largest > TOLERANCE and p_lack is None:
        return row | {
            "status": POOR,
            "reason": f"residuals up to {100 * largest:.1f} %, and no repetition to know the noise from",
        }
    if largest > TOLERANCE and p_lack is not None and p_lack < LACK_ALPHA:
        reason = f"residuals up to {100 * largest:.1f} % are more than noise (lack of fit, p = {p_lack:.2g})"
        return row | {"status": POOR, "reason": reason}
    return row | {"status": GOOD, "reason": None} | _coefficients(curve, law)


def _lack_of_fit(curve: _Curve, fitted: Floats, law: str) -> float | None:
    """F-test of residuals against the spread of units of one thread count; None without repetition."""
    logs = [values[np.isfinite(values)] for values in curve.logs]
    free = sum(trials.size - 1 for trials in logs)
    if free == 0:
        return None
    pure = sum(float(((trials - trials.mean()) ** 2).sum()) for trials in logs)
    lack = sum(
        trials.size * float((trials.mean() - np.log(said)) ** 2) for trials, said in zip(logs, fitted, strict=True)
    )
    between = curve.threads.size - LAWS[law]
    if pure == 0:
        return 1.0 if lack == 0 else 0.0
    return float(stats.f.sf((lack / between) / (pure / free), between, free))


def _coefficients(curve: _Curve, law: str) -> dict[str, object]:
    """Coefficients of a good fit, their 95 % intervals (a jackknife over units), and where throughput peaks."""
    design = _design(curve.threads, law)
    sigma, kappa = _sigma_kappa(_fit(design, curve.middles))
    refits = np.array([_sigma_kappa(_fit(design, times)) for times in curve.without_each_unit()]).reshape(-1, 2)
    half = _jackknife_half_width(refits)
    found: dict[str, object] = {"sigma": sigma, "sigma_low": max(0.0, sigma - half[0]), "sigma_high": sigma + half[0]}
    if law == "usl":
        peak = np.sqrt((1 - sigma) / kappa) if kappa > 0 else np.inf
        found |= {"kappa": kappa, "kappa_low": max(0.0, kappa - half[1]), "kappa_high": kappa + half[1]}
        found["peak_threads"] = float(peak) if peak <= MOST_THREADS else None
    return found | {name: None for name, value in found.items() if isinstance(value, float) and np.isnan(value)}


def _jackknife_half_width(refits: Floats) -> Floats:
    """Half of the 95 % interval of each coefficient, from fits with one unit left out; NaN with too few units."""
    size = refits.shape[0]
    if size < FEWEST_UNITS:
        return np.full(2, np.nan)
    error = np.sqrt((size - 1) / size * ((refits - refits.mean(axis=0)) ** 2).sum(axis=0))
    half: Floats = stats.t.ppf((1 + CONFIDENCE) / 2, size - 1) * error
    return half


def _sigma_kappa(shares: Floats) -> tuple[float, float]:
    """Serial share and crosstalk relative to the time on one thread."""
    single = shares[0] + shares[1]
    crosstalk = shares[2] if shares.size > 2 else 0.0  # noqa: PLR2004 - Amdahl's law has no third share
    return float(shares[1] / single), float(crosstalk / single)
