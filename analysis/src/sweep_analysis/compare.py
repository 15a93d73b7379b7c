"""Compares every branch with the baseline, block by block, and says what may be claimed.

A verdict needs three things at once: the 95 % interval of the time ratio excludes 1, the ratio is outside the
A/A band, and the p-value, corrected for all comparisons of the level, is below 0.05. From six pairs on, the rank test
must agree as well; with fewer it cannot (five pairs give at least 0.0625), which is why it does not decide alone.

What slows both of a pair cancels, so a host that drifts does no harm. A *ratio* that drifts does: a pooled row whose
ratio changes over the sweep by more than the difference that it would show is not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from sweep_analysis.bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    CellSet,
    Floats,
    cell_sets,
    medians,
    percentile_interval,
    resampled_medians,
)
from sweep_analysis.frames import COMPARISONS
from sweep_analysis.schema import PANEL, PARALLEL, TWIN_SUFFIX
from sweep_analysis.units import units_of

FASTER = "faster"
SLOWER = "slower"
UNCLEAR = "not distinguishable"
UNJUDGED = "not judged"
VERDICTS = (FASTER, SLOWER, UNCLEAR, UNJUDGED)
"""`not judged`: no A/A twin to know the noise from, fewer than `FEWEST_PAIRS` pairs, or a ratio that drifts."""

FIGURES = {"time": "ns_per_unit", "cpu": "cpu_ns_per_unit", "cycles": "cycles_per_unit"}
"""What can be compared, and its column in `frames.TIMES`. A program that is paced by a clock takes its time whatever
the pool does; CPU time is what it shows. Cycles are time at the measured clock, for sweeps whose clock moved. The ratio
is called `time_ratio` in every case."""

POOLED = {"workload": PANEL, "overall": []}
"""Levels that pool cells, and what the cells of one row share."""

ALPHA = 1 - CONFIDENCE
CORRECTED = {"cell": "p_bh", "workload": "p_holm", "overall": "p_holm"}
"""Column that decides at each level: among many cells a few per cent of claims may be false, among pooled rows,
which are what people quote, none should be."""
POWER = 0.8
FEWEST_PAIRS = 4
"""With fewer pairs that happen to agree, a t-test is sure of itself for no reason."""
RANK_TEST_PAIRS = 6
"""Fewest pairs at which Wilcoxon's test can fall below 0.05 (its least p-value is 2 / 2**pairs)."""


FEWEST_TO_DRIFT = 10
"""Pairs of a pooled row from which on a trend of its ratio is looked for."""
DRIFT_ALPHA = 0.01
"""P-value of Spearman's test below which a ratio has a trend."""


@dataclass(frozen=True)
class _Pairs:
    """Log-ratios of one branch to the baseline in one cell, and their resampled median."""

    cell_set: CellSet
    branch: str
    log_ratios: Floats  # finite ones only
    blocks: Floats  # of each ratio
    replicates: Floats  # likewise
    cpu_log_ratio: float  # median
    resampled: Floats

    @property
    def estimate(self) -> float:
        return float(np.median(self.log_ratios))


def compare(times: pl.LazyFrame, baseline: str, figure: str = "time") -> pl.DataFrame:
    """Compare all branches with `baseline`, per cell, per workload and overall, in one of `FIGURES`.

    In:  rows of `frames.TIMES`.
    Out: rows of `frames.COMPARISONS`: one per branch at each level, the A/A twin included (never judged). The noise is
         that of the branch that was run twice, whether or not it is the one compared with. Cells
         without the baseline have no rows; `workload` and `overall` pool only cells that all branches have, as a
         geometric mean of the cells' ratios.
    """
    paired = Paired(times, baseline, figure)
    p_ranks = _rank_p_values([cell.log_ratios for cell in paired.cells])
    rows = [
        _row("cell", [cell], paired.noise) | {"p_rank": p_rank}
        for cell, p_rank in zip(paired.cells, p_ranks, strict=True)
    ]
    shared = _shared_cells(paired.cells)
    for level in POOLED:
        rows += _pooled_rows(level, shared, paired.noise)
    frame = pl.DataFrame(rows, schema=COMPARISONS)
    judged = [_judge(part, paired.twin) for part in frame.partition_by("level", maintain_order=True)]
    return pl.concat(judged) if judged else frame


class Paired:
    """Every cell of every branch beside the baseline's, resampled once, to be pooled in any way.

    In: rows of `frames.TIMES`. The noise is that of the branch that was run twice, whether or not it is the baseline.
    """

    def __init__(self, times: pl.LazyFrame, baseline: str, figure: str = "time") -> None:
        """Pair all trials with the baseline's of their blocks, in one of `FIGURES`."""
        rng = np.random.default_rng(SEED)
        sets = [it for it in cell_sets(in_figure(times, figure)) if it.key["program"] == PARALLEL]
        self.cells = [pairs for cell_set in sets for pairs in _pairs_of(cell_set, baseline, rng)]
        twinned = _twinned(sets, baseline)
        self.twin = twinned + TWIN_SUFFIX
        against_twinned = self.cells
        if twinned != baseline:
            against_twinned = [pairs for cell_set in sets for pairs in _pairs_of(cell_set, twinned, rng)]
        self.noise = _Noise([cell for cell in against_twinned if cell.branch == self.twin])

    def pooled(self, level: str, branch: str, is_meant: Callable[[dict[str, Any]], bool]) -> list[dict[str, object]]:
        """One branch over the cells whose key (`schema.CELL_SET`) is meant: a row per group of a level of `POOLED`.

        The rows have the columns of `frames.COMPARISONS` but for corrected p-values and verdict.
        """
        mine = [cell for cell in self.cells if cell.branch == branch and is_meant(cell.cell_set.key)]
        return _pooled_rows(level, mine, self.noise)


def in_figure(times: pl.LazyFrame, figure: str) -> pl.LazyFrame:
    """Rows of `frames.TIMES` with one of `FIGURES` in the place of time; trials that do not have it are left out."""
    chosen = pl.col(FIGURES[figure])
    known = times if figure == "time" else times.filter(chosen > 0)
    return known.with_columns(chosen.alias(FIGURES["time"]))


def _twinned(sets: list[CellSet], baseline: str) -> str:
    """The branch that was run twice; `baseline` if none was."""
    branches = {branch for cell_set in sets for branch in cell_set.branches}
    twinned = sorted(branch for branch in branches if branch + TWIN_SUFFIX in branches)
    return baseline if baseline in twinned or not twinned else twinned[0]


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction: controls the chance of even one false claim."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def _pairs_of(cell_set: CellSet, baseline: str, rng: np.random.Generator) -> list[_Pairs]:
    base = cell_set.row(baseline)
    if base is None:
        return []
    log_ratios = np.log(cell_set.times) - np.log(cell_set.times[base])
    with np.errstate(divide="ignore", invalid="ignore"):  # CPU time may read 0 in a short region
        cpu = np.log(cell_set.cpu_times) - np.log(cell_set.cpu_times[base])
    cpu[~np.isfinite(cpu)] = np.nan
    cpu_medians = medians(cpu)
    resampled = resampled_medians(log_ratios, rng)
    found = []
    for row, branch in enumerate(cell_set.branches):
        known = np.isfinite(log_ratios[row])
        if row != base and known.any():
            ratios = log_ratios[row][known]
            when = (cell_set.blocks[known], cell_set.replicates[known])
            found.append(_Pairs(cell_set, branch, ratios, *when, float(cpu_medians[row]), resampled[row]))
    return found


def _shared_cells(cells: list[_Pairs]) -> list[_Pairs]:
    """Only cells that every branch has: a mean over different cells would compare programs, not branches."""
    branches = {cell.branch for cell in cells}
    present: dict[int, set[str]] = {}
    for cell in cells:
        present.setdefault(id(cell.cell_set), set()).add(cell.branch)
    return [cell for cell in cells if present[id(cell.cell_set)] == branches]


def _row(level: str, group: list[_Pairs], noise: _Noise) -> dict[str, object]:
    """One row of the result before rank test, correction and verdict; `group` holds one branch's cells."""
    log_ratios = np.concatenate([cell.log_ratios for cell in group])
    estimate = float(np.mean([cell.estimate for cell in group]))
    resampled = np.mean([cell.resampled for cell in group], axis=0)
    low, high = percentile_interval(resampled, log_ratios.size)
    key = group[0].cell_set.key
    cpu = float(np.exp(np.mean([cell.cpu_log_ratio for cell in group])))
    constant = {name: key[name] for name in PANEL if level != "overall"}
    drifted, p_drift = (None, None) if level == "cell" else _drift(group)
    return {
        "level": level,
        **constant,
        "threads": key["threads"] if level == "cell" else None,
        "oversubscribed": group[0].cell_set.oversubscribed if level == "cell" else None,
        "branch": group[0].branch,
        "cells": len(group),
        "pairs": log_ratios.size,
        "units": log_ratios.size,
        "time_ratio": float(np.exp(estimate)),
        "ratio_low": float(np.exp(low)),
        "ratio_high": float(np.exp(high)),
        "cpu_ratio": cpu if np.isfinite(cpu) else None,
        "band": noise.band(group),
        "detectable": _detectable(log_ratios),
        "ratio_drift": drifted,
        "p_drift": p_drift,
        "p_t": _t_test(log_ratios),
    }


def _pooled_rows(level: str, cells: list[_Pairs], noise: _Noise) -> list[dict[str, object]]:
    """A row for each branch, and each workload if the level is about one."""
    groups: dict[tuple[object, ...], list[_Pairs]] = {}
    for cell in cells:
        groups.setdefault((cell.branch, *(cell.cell_set.key[name] for name in POOLED[level])), []).append(cell)
    return [_pooled_row(level, group, noise) for group in groups.values()]


def _pooled_row(level: str, group: list[_Pairs], noise: _Noise) -> dict[str, object]:
    """A row of several cells: its tests rest on what repeats independently, which may be replicates."""
    row = _row(level, group, noise)
    units = units_of([cell.log_ratios for cell in group], [cell.replicates for cell in group])
    if units.are_replicates:
        low, high = units.interval(float(np.mean([cell.estimate for cell in group])))
        row |= {"ratio_low": float(np.exp(low)), "ratio_high": float(np.exp(high)), "units": units.values.size}
        row |= {"p_t": _t_test(units.values), "detectable": _detectable(units.values)}
    # Too few units to be told apart by ranks have no say.
    ranked = units.values.size >= RANK_TEST_PAIRS
    return row | {"p_rank": _rank_p_value(units.values) if ranked else None}


class _Noise:
    """What the A/A twin shows: how far ratios stray from 1 when nothing differs."""

    def __init__(self, twin_cells: list[_Pairs]) -> None:
        pools: dict[tuple[object, ...], list[Floats]] = {}
        self._seen: dict[int, float] = {}
        for cell in twin_cells:
            pools.setdefault(_kind(cell.cell_set), []).append(cell.log_ratios)
            self._seen[id(cell.cell_set)] = cell.estimate
        self._pools = {kind: np.concatenate(parts) for kind, parts in pools.items()}
        self._bands: dict[tuple[tuple[int, int], ...], float | None] = {}

    def band(self, group: list[_Pairs]) -> float | None:
        """How far from 1 the same statistic strays when nothing differs, as a ratio above 1; None without a twin.

        The twin's log-ratios of the same panel and the same side of the CPU count are drawn as often as `group` has
        pairs; 95 % of the statistics so made lie inside. At least as wide as what the twin showed in these very
        cells. Branches with as many pairs in the same cells get the very same band, so it is made once.
        """
        key = tuple((id(cell.cell_set), cell.log_ratios.size) for cell in group)
        if key not in self._bands:
            self._bands[key] = self._made(group)
        return self._bands[key]

    def _made(self, group: list[_Pairs]) -> float | None:
        rng = np.random.default_rng(SEED)
        drawn = []
        for cell in group:
            pool = self._pools.get(_kind(cell.cell_set))
            if pool is None:
                return None
            drawn.append(np.median(rng.choice(pool, (RESAMPLES, cell.log_ratios.size)), axis=1))
        seen = [self._seen[id(cell.cell_set)] for cell in group if id(cell.cell_set) in self._seen]
        spread = float(np.quantile(np.abs(np.mean(drawn, axis=0)), CONFIDENCE))
        return float(np.exp(max(spread, abs(float(np.mean(seen))) if seen else 0.0)))


def _kind(cell_set: CellSet) -> tuple[object, ...]:
    """What cells must share for the noise of one to tell of the other: the panel, and the side of the CPU count."""
    return (*(cell_set.key[name] for name in PANEL), cell_set.oversubscribed)


def _drift(group: list[_Pairs]) -> tuple[float | None, float | None]:
    """Trend of the ratio, each beside the others of its cell: last block over first, and Spearman's p-value."""
    when = np.concatenate([cell.blocks - cell.blocks.mean() for cell in group])
    residual = np.concatenate([cell.log_ratios - cell.log_ratios.mean() for cell in group])
    if when.size < FEWEST_TO_DRIFT or np.ptp(when) == 0 or np.ptp(residual) == 0:
        return None, None
    blocks = np.concatenate([cell.blocks for cell in group])
    slope = float(when @ residual / (when @ when))
    return float(np.exp(slope * np.ptp(blocks))), float(stats.spearmanr(when, residual).pvalue)


def _t_test(log_ratios: Floats) -> float | None:
    """Two-sided p-value that the branch equals the baseline, by a paired t-test; None for a single pair."""
    pairs = log_ratios.size
    if pairs < 2:  # noqa: PLR2004 - one pair has no spread
        return None
    if np.ptp(log_ratios) == 0:  # no spread at all: the t statistic is 0/0 or infinite
        return 1.0 if log_ratios[0] == 0 else 0.0
    statistic = log_ratios.mean() / log_ratios.std(ddof=1) * np.sqrt(pairs)
    return float(2 * special.stdtr(pairs - 1, -abs(statistic)))


def _rank_p_value(log_ratios: Floats) -> float | None:
    """The same by Wilcoxon's signed ranks."""
    if log_ratios.size < 2:  # noqa: PLR2004 - one pair has no spread
        return None
    return 1.0 if not log_ratios.any() else float(stats.wilcoxon(log_ratios).pvalue)


def _rank_p_values(samples: list[Floats]) -> list[float | None]:
    """`_rank_p_value` of every sample; those of one size, without ties and zeros, are tested together: fast."""
    found: list[float | None] = [None] * len(samples)
    alike: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        sizes = np.abs(sample)
        if sample.size > 1 and sizes.all() and np.unique(sizes).size == sample.size:
            alike.setdefault(sample.size, []).append(place)
        else:
            found[place] = _rank_p_value(sample)
    for places in alike.values():
        p_values = stats.wilcoxon(np.stack([samples[place] for place in places]), axis=1).pvalue
        for place, p_value in zip(places, p_values, strict=True):
            found[place] = float(p_value)
    return found


def _detectable(log_ratios: Floats) -> float | None:
    """Smallest ratio above 1 that a single t-test at 5 % finds with probability 0.8 at this noise."""
    pairs = log_ratios.size
    if pairs < 2:  # noqa: PLR2004 - one pair has no spread
        return None
    quantiles = special.stdtrit(pairs - 1, 1 - ALPHA / 2) + special.stdtrit(pairs - 1, POWER)
    return float(np.exp(quantiles * log_ratios.std(ddof=1) / np.sqrt(pairs)))


def _judge(level: pl.DataFrame, twin: str) -> pl.DataFrame:
    """Fill in corrected p-values and verdicts of one level; the twin is outside the family of tests."""
    testable = ((level["branch"] != twin) & (level["pairs"] >= FEWEST_PAIRS)).to_numpy()
    p_values = level["p_t"].to_numpy()
    p_bh = np.full(level.height, np.nan)
    p_holm = np.full(level.height, np.nan)
    if testable.any():
        p_bh[testable] = stats.false_discovery_control(p_values[testable])
        p_holm[testable] = holm(p_values[testable])
    corrected = pl.col(CORRECTED[level["level"][0]])
    verdict = (
        pl.when((pl.col("branch") == twin) | pl.col("band").is_null() | corrected.is_null())
        .then(pl.lit(UNJUDGED))
        .when(differs(corrected) & drifts())
        .then(pl.lit(UNJUDGED))
        .when(differs(corrected) & (pl.col("time_ratio") < 1))
        .then(pl.lit(FASTER))
        .when(differs(corrected))
        .then(pl.lit(SLOWER))
        .otherwise(pl.lit(UNCLEAR))
    )
    return level.with_columns(
        pl.Series("p_bh", p_bh, dtype=pl.Float64).fill_nan(None),
        pl.Series("p_holm", p_holm, dtype=pl.Float64).fill_nan(None),
    ).with_columns(verdict.alias("verdict"))


def differs(corrected: pl.Expr) -> pl.Expr:
    """Whether a row of `frames.COMPARISONS` with this corrected p-value shows a difference: all tests agree."""
    outside_band = pl.col("time_ratio").log().abs() > pl.col("band").log()
    outside_interval = (pl.col("ratio_low") > 1) | (pl.col("ratio_high") < 1)
    ranks_agree = (pl.col("units") < RANK_TEST_PAIRS) | (pl.col("p_rank") < ALPHA)
    return outside_band & outside_interval & (corrected < ALPHA) & ranks_agree


def drifts() -> pl.Expr:
    """Whether the ratio of a row of `frames.COMPARISONS` changed over the sweep by more than what it shows."""
    more = pl.col("ratio_drift").log().abs() > pl.col("time_ratio").log().abs()
    return ((pl.col("p_drift") < DRIFT_ALPHA) & more).fill_null(value=False)
