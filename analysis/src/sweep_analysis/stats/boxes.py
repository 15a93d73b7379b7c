"""Signs over a box: the share of machines on which a branch is faster, and the cost that flips the sign.

A sweep over a box runs each branch on the same machines, which are points of a Latin hypercube of cost
parameters. A machine is the sampling unit, so its seeds are averaged. A machine on which a trial of the
branch or of the baseline failed counts against both signs.

This module states a sign under two conditions. First, the exact one-sided 95 % lower bound
(Clopper-Pearson) of the share of machines with this sign is at least `SHARE`. Second, the median ratio
differs from 1 by a factor of at least 1 + `LEAST_SIMULATED`, and is outside the 5-95 % range of the A/A
control, which is the sweep's own baseline with other seeds.

The cost parameter that flips the sign has the strongest rank correlation (Spearman) with the ratio. This
correlation must be at least `LEAST_RHO`, either way, and significant after correction for the number of
cost parameters that vary. The sign flips at the value that separates the machines of the two signs with the fewest errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from sweep_analysis.read.frames import BOX, BOX_WAITS, cast_to
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, PLACE, WORDS
from sweep_analysis.stats.compare import FASTER, LEAST_SIMULATED, QUANTITIES, SLOWER

SHARE = 0.9
"""Minimum lower bound of the share of machines on which a stated sign holds."""

LEVEL = 0.05
"""Error probability of a bound, and of the choice of one cost parameter among all cost parameters."""

LEAST_RHO = 0.5
"""With a weaker rank correlation, the result names no cost parameter."""

FEWEST = 4
"""With fewer machines no correlation is computed."""

UNDECIDED = "undecided"
"""The result of a row without a stated sign."""

_POINT = r"(?:^| )box=(\S+)"
_Floats = npt.NDArray[np.float64]


def lower_bound(agreeing: int, machines: int) -> float:
    """The exact one-sided 95 % lower bound of the share of the box with a sign that `agreeing` of `machines` have."""
    if agreeing == 0:
        return 0.0
    return float(special.betaincinv(agreeing, machines - agreeing + 1, LEVEL))


def box_signs(
    sweep: Sweep, times: pl.DataFrame, baseline: str | None, points: list[int] | None = None
) -> pl.DataFrame:
    """Compute the signs of every branch over the box, beside those of the A/A control.

    In:  the sweep and its rows of `frames.TIMES`; `points`, if only these points of the box count.
    Out: rows of `frames.BOX`; none if the sweep is not over a box, or no point counts.
    """
    if not sweep.points or baseline is None:
        return pl.DataFrame(schema=BOX)
    logs = _logs(sweep, times)
    if points is not None:
        logs = logs.filter(pl.col("point").is_in(points))
    # The A/A control differs from the sweep's own baseline only by its seeds.
    controls = _ratios(
        logs.filter(pl.col("branch").is_in([sweep.baseline, sweep.twin])), sweep.baseline
    )
    rows: list[dict[str, Any]] = []
    for key, cell in _ratios(logs, baseline).group_by(PLACE, maintain_order=True):
        place = dict(zip(PLACE, key, strict=True))
        twin = controls.filter(**place)["log"].drop_nulls().to_numpy()
        for name in dict.fromkeys(cell["branch"]):
            if name != sweep.twin:
                own = cell.filter(branch=name)
                rows.append(place | {"branch": name} | _row(sweep, own, twin))
    found = pl.DataFrame(rows, schema=BOX).with_columns(pl.col(pl.Float64).fill_nan(None))
    return found.sort([*PLACE, "branch"])


def log_ratios_of(
    sweep: Sweep, times: pl.DataFrame, branch: str, baseline: str, place: dict[str, Any]
) -> pl.DataFrame:
    """Compute a branch's `log` of its ratio to the baseline on each `point` of a box; null if a trial of either failed.

    `place` has columns of `schema.PLACE` with the values of the configuration.
    """
    return (
        _ratios(_logs(sweep, times), baseline).filter(branch=branch, **place).select("point", "log")
    )


def longest_waits(rates: pl.DataFrame) -> pl.DataFrame:
    """Count the machines of a box on which the cores wait longest for a cache line at one pair of source lines.

    In:  rows of `frames.LINE_WAIT_RATES`.
    Out: rows of `frames.BOX_WAITS`, most machines first; none if the sweep is not over a box.
    """
    cell = [*PLACE, "branch"]
    longest = (
        with_points(rates.lazy())
        .sort("share", descending=True)
        .group_by([*cell, "point"], maintain_order=True)
        .first()
    )
    counted = longest.group_by([*cell, "at", "written_at"]).agg(pl.len().alias("on"))
    found = counted.with_columns(machines=pl.col("on").sum().over(cell))
    order = [*cell, "on", "at", "written_at"]
    rows = found.sort(order, descending=[it == "on" for it in order])
    return rows.select(cast_to(BOX_WAITS)).collect()


def _row(sweep: Sweep, own: pl.DataFrame, twin: _Floats) -> dict[str, Any]:
    """Compute the signs of a branch in one configuration.

    In: `own`, with `point` and `log` (null if a trial failed); `twin`, the `log` of the A/A control.
    """
    machines = own.height
    known = own.drop_nulls("log")
    logs = known["log"].to_numpy()
    faster, slower = int((logs < 0).sum()), int((logs > 0).sum())
    bounds = lower_bound(faster, machines), lower_bound(slower, machines)
    low, median, high = _quantiles(logs)
    twin_low, _, twin_high = _quantiles(twin)
    sign = FASTER if faster >= slower else SLOWER
    is_large = bool(logs.size) and abs(median) >= math.log1p(LEAST_SIMULATED)
    is_beyond = bool(twin.size) and not twin_low <= median <= twin_high
    holds = max(bounds) >= SHARE and is_large and is_beyond and (median < 0) == (sign == FASTER)
    return {
        "machines": machines,
        "failed": machines - known.height,
        "faster": faster,
        "slower": slower,
        "faster_bound": bounds[0],
        "slower_bound": bounds[1],
        **dict(zip(("ratio_low", "ratio", "ratio_high"), np.exp([low, median, high]), strict=True)),
        "control": twin.size,
        "control_faster": int((twin < 0).sum()),
        "control_low": math.exp(twin_low),
        "control_high": math.exp(twin_high),
        **flip(sweep, known["point"].to_list(), logs),
        "verdict": sign if holds else UNDECIDED,
    }


def _quantiles(logs: _Floats) -> tuple[float, float, float]:
    if not logs.size:
        return math.nan, math.nan, math.nan
    low, median, high = np.quantile(logs, [0.05, 0.5, 0.95])
    return float(low), float(median), float(high)


def flip(sweep: Sweep, points: list[int], logs: _Floats) -> dict[str, Any]:
    """Find the cost parameter with the strongest rank correlation; empty if no correlation is strong enough.

    In:  numbers of points, and a value of each, whose sign is of interest.
    Out: `price` (the parameter's name), `rho` (the correlation), and `flips_at` (the value that flips the sign).
    """
    from scipy import stats  # noqa: PLC0415 - its import takes longer than other tables

    best: dict[str, Any] = {}
    if logs.size < FEWEST or np.ptp(logs) == 0:
        return best
    prices = pl.DataFrame([sweep.points[point - 1]["prices"] for point in points])
    varied = {it.name: it.to_numpy().astype(float) for it in prices if it.n_unique() > 1}
    for name, values in varied.items():
        rho, p_value = (float(it) for it in stats.spearmanr(values, logs))
        is_certain = p_value * len(varied) < LEVEL
        if is_certain and abs(rho) >= max(LEAST_RHO, abs(best.get("rho", 0.0))):
            best = {"price": name, "rho": rho, "flips_at": _flips_at(values, logs, rho)}
    return best


def _flips_at(values: _Floats, logs: _Floats, rho: float) -> float | None:
    """The value that separates the two signs with the fewest errors; None if no value separates them."""
    order = np.argsort(values)
    # If the ratio rises with the cost, the slower machines are those with the higher cost.
    is_upper = (logs[order] > 0) if rho > 0 else (logs[order] < 0)
    rarer = min(is_upper.sum(), (~is_upper).sum())
    if rarer == 0:
        return None
    below = np.concatenate([[0], np.cumsum(is_upper)])
    above = np.concatenate([np.cumsum(~is_upper[::-1])[::-1], [0]])
    cuts = np.arange(1, values.size)
    errors = (below + above)[cuts]
    if errors.min() >= rarer:
        return None
    best = cuts[errors == errors.min()]
    cut = int(best[best.size // 2])
    lower, upper = values[order][[cut - 1, cut]]
    return float((lower + upper) / 2)


def _ratios(logs: pl.DataFrame, baseline: str | None) -> pl.DataFrame:
    """`log` of each branch's time over the baseline's time; null if a trial of either failed. In: rows of `_logs`."""
    by = [*PLACE, "point"]
    base = logs.filter(branch=baseline).select(*by, base="log")
    return (
        logs.filter(pl.col("branch") != baseline)
        .join(base, on=by, how="left", nulls_equal=True)
        .with_columns(pl.col("log") - pl.col("base"))
        .sort([*PLACE, "branch", "point"])
    )


def _logs(sweep: Sweep, times: pl.DataFrame) -> pl.DataFrame:
    """`log` of each branch's time by configuration and `point`, averaged over seeds; null if a trial failed."""
    by = [*PLACE, "point"]
    words = sweep.trials.with_columns(WORDS).with_columns(pl.col("input").fill_null(""))
    tried = (
        with_points(words.filter(program=PARALLEL))
        .group_by([*by, "branch"])
        .agg(is_good=(pl.col("outcome") == "ok").all())
        .collect()
    )
    own = times.lazy().with_columns(WORDS).filter(program=PARALLEL)
    logs = (
        with_points(own)
        .group_by([*by, "branch"])
        .agg(pl.col(QUANTITIES["time"]).log().mean().alias("log"))
        .collect()
    )
    return tried.join(logs, on=[*by, "branch"], how="left", nulls_equal=True).with_columns(
        log=pl.when("is_good").then("log")
    )


def with_points(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of a box, with the point in the column `point` instead of `parameters`."""
    words = pl.col("parameters").cast(pl.String)
    return rows.with_columns(
        point=words.str.extract(_POINT).cast(pl.Int64),
        parameters=words.str.replace(r" ?\bbox=\S+", "").str.strip_chars(),
    ).drop_nulls("point")
