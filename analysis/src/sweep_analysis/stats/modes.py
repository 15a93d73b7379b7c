"""Does a cell have several typical times? Then its median stands for none of them.

Silverman's test (1981): the smallest bandwidth at which a Gaussian density estimate has one mode is
large if the values have several; how large it may be by chance comes from samples drawn from that
very density. Values whose bimodality coefficient is at most that of a uniform distribution are not
tested: they are taken as having one mode.

Two questions. *Within trials*, per cell: how far is an iteration from the median of the other
iterations of its trial? An effect that a process keeps for life does not count. *Between trials*, per
branch and panel, because one cell has too few trials to tell: how far is a trial's time from the
median of the other trials of its cell?
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from sweep_analysis.read.frames import MODES
from sweep_analysis.read.schema import CELL
from sweep_analysis.stats.deviations import deviations
from sweep_analysis.stats.location import Floats

SEED = 2022
"""Seed of all resampling, so that the same trials give the same report."""

BETWEEN = "between trials"
WITHIN = "within trials"
FEWEST_VALUES = 20
"""With fewer values nothing is tested; with 20, two modes five standard deviations apart are found every other time."""
FEWEST_TO_DEVIATE = 4
"""Trials of a cell, or iterations of a trial, from which on the median of the others means something."""
MOST_VALUES = 200
"""Of more values this many are drawn: the cost grows with their number, what is found hardly does."""
UNIFORM_COEFFICIENT = 5 / 9
"""Bimodality coefficient of a uniform distribution; two separate points have 1, a normal distribution 1/3."""
SMALLER_MODE = 0.1
"""Share of the values, and at least two of them, that a mode must have: one far value is an outlier, no mode."""
SAMPLES = 500
GRID = 128
STEPS = 20
FALSE_DISCOVERIES = 0.05
"""Share of the flagged that may be false (Benjamini and Hochberg over all cells that have enough values)."""


def modes(times: pl.LazyFrame, iterations: pl.LazyFrame) -> pl.DataFrame:
    """Flag cells with several modes.

    In:  rows of `frames.TIMES`, and of `schema.ITERATIONS`. Out: rows of `frames.MODES`, one per
    question and what it is asked of; `p_value` is null where there are too few
         values.
    """
    rng = np.random.default_rng(SEED)
    rows = []
    for scope, values in ((BETWEEN, _between(times)), (WITHIN, _within(times, iterations))):
        for row in values.sort(CELL, nulls_last=True).iter_rows(named=True):
            found = np.array(row["values"], dtype=float)
            tested = found.size >= FEWEST_VALUES
            p_value, gap = several_modes(found, rng) if tested else (None, None)
            rows.append(
                {name: row[name] for name in CELL}
                | {"scope": scope, "values": found.size, "p_value": p_value, "gap": gap}
            )
    frame = pl.DataFrame(
        rows, schema={name: kind for name, kind in MODES.items() if name not in ("p_bh", "several")}
    )
    p_values = frame["p_value"].to_numpy()
    p_bh = np.full(frame.height, np.nan)
    known = np.isfinite(p_values)
    if known.any():
        p_bh[known] = stats.false_discovery_control(p_values[known])
    corrected = pl.Series("p_bh", p_bh, dtype=pl.Float64).fill_nan(None)
    several = (corrected < FALSE_DISCOVERIES).alias("several").fill_null(value=False)
    return frame.with_columns(corrected, several).select(MODES.names())


def several_modes(values: Floats, rng: np.random.Generator) -> tuple[float, float | None]:
    """P-value that `values` have one mode, and, unless it is 1, the ratio between the modes' places.

    `values` are logs of times. 1 if the coefficient or the size of the smaller mode speaks against
    two.
    """
    values = np.sort(values)  # A query gives them in any order, and what is drawn depends on it.
    if values.size > MOST_VALUES:
        values = rng.choice(values, MOST_VALUES, replace=False)
    if np.ptp(values) == 0 or _coefficient(values) <= UNIFORM_COEFFICIENT:
        return 1.0, None
    bandwidth = _critical_bandwidth(values)
    grid, density = _densities(values[None, :], bandwidth * 0.999)
    peaks = np.flatnonzero(_is_peak(density[0]))
    if peaks.size < 2:  # noqa: PLR2004 - rounding at the critical bandwidth
        return 1.0, None
    left, right = np.sort(peaks[np.argsort(density[0][peaks])[-2:]])
    valley = grid[0][left + int(np.argmin(density[0][left : right + 1]))]
    smaller = min(int((values < valley).sum()), int((values >= valley).sum()))
    if smaller < max(2, SMALLER_MODE * values.size):
        return 1.0, None
    spread = float(values.std())
    drawn = rng.choice(values, (SAMPLES, values.size)) + bandwidth * rng.normal(
        size=(SAMPLES, values.size)
    )
    shrunk = values.mean() + (drawn - values.mean()) / np.sqrt(1 + (bandwidth / spread) ** 2)
    _, densities = _densities(shrunk, bandwidth)
    exceeding = int((_is_peak(densities).sum(axis=1) > 1).sum())
    gap = float(np.exp(np.median(values[values >= valley]) - np.median(values[values < valley])))
    return (exceeding + 1) / (SAMPLES + 1), gap


def _between(times: pl.LazyFrame) -> pl.DataFrame:
    """How far trials are from the others of their cell, a list per branch and panel.

    `threads` is null.
    """
    # A number stands for the cell, as sorting by its words takes much memory.
    cells = times.select(CELL).unique().with_row_index("at").collect().lazy()
    logs = times.select(*CELL, pl.col("ns_per_unit").log().alias("value")).join(
        cells, on=CELL, nulls_equal=True
    )
    # Collected here: Polars panics if a join and two groupings behind it get no rows in one go.
    found = deviations(logs.select("at", "value"), ["at"], FEWEST_TO_DEVIATE).collect()
    return (
        found.group_by("at")
        .agg(pl.col("deviation").alias("values"))
        .join(cells.collect(), on="at")
        .group_by([name for name in CELL if name != "threads"])
        .agg(pl.col("values").explode())
        .with_columns(pl.lit(None, dtype=pl.Int64).alias("threads"))
    )


def _within(times: pl.LazyFrame, iterations: pl.LazyFrame) -> pl.DataFrame:
    """How far iterations are from the others of their trial, a list per cell."""
    enough = times.filter(pl.col("iterations") >= FEWEST_TO_DEVIATE)
    asked = enough.select(*CELL, "trial").collect().lazy()
    if asked.head(1).collect().is_empty():  # Saves a look at all iterations.
        iterations = iterations.head(0)
    logs = iterations.select(
        "trial", (pl.col("elapsed_ns") / pl.col("work_units")).log().alias("value")
    )
    return (
        asked.join(
            deviations(logs.join(asked, on="trial", how="semi"), ["trial"], FEWEST_TO_DEVIATE),
            on="trial",
        )
        .group_by(CELL)
        .agg(pl.col("deviation").alias("values"))
        .collect()
    )


def _coefficient(values: Floats) -> float:
    """The bimodality coefficient, from sample moments."""
    return float((stats.skew(values) ** 2 + 1) / stats.kurtosis(values, fisher=False))


def _critical_bandwidth(values: Floats) -> float:
    """Smallest bandwidth, to 20 steps of bisection, at which the density has one mode."""
    low, high = 0.0, float(np.ptp(values))
    for _ in range(STEPS):
        middle = (low + high) / 2
        _, density = _densities(values[None, :], middle)
        low, high = (low, middle) if _is_peak(density[0]).sum() <= 1 else (middle, high)
    return high


def _densities(samples: Floats, bandwidth: float) -> tuple[Floats, Floats]:
    """Gaussian density estimates of each row on a grid of its own, up to a factor.

    Grid and density.
    """
    low, high = samples.min(axis=1) - bandwidth, samples.max(axis=1) + bandwidth
    grid = np.linspace(low, high, GRID, axis=1)
    density = np.empty_like(grid)
    for row, (places, values) in enumerate(
        zip(grid, samples, strict=True)
    ):  # row by row: memory stays small
        density[row] = np.exp(-0.5 * ((places[:, None] - values) / bandwidth) ** 2).sum(axis=1)
    return grid, density


def _is_peak(density: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each place of the last axis is higher than its neighbours."""
    rises = np.diff(density, axis=-1, prepend=-np.inf) > 0
    falls = np.diff(density, axis=-1, append=-np.inf) < 0
    peaks: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = rises & falls
    return peaks
