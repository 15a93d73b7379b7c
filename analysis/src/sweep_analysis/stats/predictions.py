"""Tests the registered predictions of `results/predictions` against a sweep of their experiment.

A prediction is about the ratio of one branch to another in one configuration. It names a set of ratios:
below 1/margin (`faster`), above the margin (`slower`), or above 1/margin (`no-gain`).

* hit: the 95 % interval of the ratio lies in this set
* miss: the interval lies outside this set
* undecided: the interval has ratios of both kinds
* not tested: the machine is not of the prediction's class, or the sweep lacks the data

An interval beyond the margin also needs a significant difference, so chance makes no such hit or miss. Predictions were
registered before the sweep, so they are a separate family of tests, as pre-registered hypotheses are (`claims`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import PREDICTIONS
from sweep_analysis.read.labels import count
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.predictions import Prediction, Range
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.stats.boxes import log_ratios_of
from sweep_analysis.stats.claims import beside_margin, reason_untested
from sweep_analysis.stats.compare import UNTESTED, Comparisons, holm

HIT = "hit"
MISS = "miss"
OPEN = "undecided"
RESULTS = (HIT, MISS, OPEN, UNTESTED)


def judged(
    predictions: Mapping[str, Prediction],
    sweep: Sweep,
    times: pl.DataFrame,
    costs: Mapping[str, float],
) -> pl.DataFrame:
    """Test each prediction.

    In: rows of `frames.TIMES` of the sweep, and the known cost parameters of its machine.
    Out: rows of `frames.PREDICTIONS`, in the order of `predictions`.
    """
    simulated = sweep.machine is not None
    compared = Comparisons(times.lazy(), sweep.baseline, simulated=simulated)
    rows = []
    for name, prediction in predictions.items():
        row: dict[str, Any] = {
            "prediction": name,
            **{field: getattr(prediction, field) for field in _PREDICTED},
        }
        why = _outside(prediction, sweep, costs) or _unmeasured(prediction, times)
        if why is None:
            found, why = _compared(prediction, sweep, compared)
            row |= {field: found.get(field) for field in _MEASURED}
        rows.append(row | {"reason": why})
    table = pl.DataFrame(rows, schema=PREDICTIONS)
    is_tested = table["reason"].is_null()
    corrected = np.full(table.height, np.nan)
    if is_tested.any():
        corrected[is_tested.to_numpy()] = holm(table.filter(is_tested)["p_value"].to_numpy())
    return table.with_columns(p_holm=pl.Series(corrected).fill_nan(None)).with_columns(
        verdict=pl.when(pl.col("reason").is_null())
        .then(_result(simulated=simulated))
        .otherwise(pl.lit(UNTESTED))
    )


_PREDICTED = ("branch", "against", "workload", "threads", "quantity", "direction", "margin")
_MEASURED = ("time_ratio", "ratio_low", "ratio_high", "band", "p_value")


def _result(*, simulated: bool) -> pl.Expr:
    not_above, not_below, above, below = beside_margin(pl.col("margin"), simulated=simulated)
    outcomes = {
        "faster": (below, not_below),
        "slower": (above, not_above),
        "no-gain": (not_below, below),
    }
    found = pl.lit(OPEN)
    for direction, (hit, miss) in outcomes.items():
        mine = pl.col("direction") == direction
        found = (
            pl.when(mine & hit)
            .then(pl.lit(HIT))
            .when(mine & miss)
            .then(pl.lit(MISS))
            .otherwise(found)
        )
    return found


def _outside(prediction: Prediction, sweep: Sweep, costs: Mapping[str, float]) -> str | None:
    """The reason why the sweep's machine is not of the prediction's class; None if it is."""
    cpus = sweep.host.get("cpus_usable") or 0
    cores = sweep.host.get("cores") or cpus
    # In the box no pool had more threads than the machine's CPUs.
    for needed, has, one in (
        (prediction.machine.cores, cores, "core"),
        (prediction.threads, cpus, "CPU"),
    ):
        if has < needed:
            return f"needs {count(needed, one)}; this machine has {has}"
    for name, asked in prediction.machine.costs.items():
        if name not in costs:
            return f"needs the cost `{name}`, which is unknown: run `cargo runner calibrate`"
        if not asked.has(costs[name]):
            return f"is about machines whose `{name}` is {range_in_words(asked)}; this machine has {costs[name]:.0f}"
    return None


def range_in_words(asked: Range) -> str:
    """A range of a cost parameter, as text."""
    ends = [
        f"at least {asked.at_least:g}" if asked.at_least > 0 else "",
        f"at most {asked.at_most:g}" if math.isfinite(asked.at_most) else "",
    ]
    return " and ".join(end for end in ends if end)


def _place(prediction: Prediction) -> dict[str, Any]:
    """The configuration of a prediction, as columns of `schema.PLACE`."""
    return {
        "workload": prediction.workload,
        "size": prediction.size,
        "parameters": " ".join(sorted(prediction.parameters.split())),
        "threads": prediction.threads,
    }


def _unmeasured(prediction: Prediction, times: pl.DataFrame) -> str | None:
    """The reason why the sweep has no comparison of a prediction; None if it has one."""
    own = times.filter(_is_at(prediction), program=PARALLEL)
    for name in (prediction.branch, prediction.against):
        if own.filter(branch=name).is_empty():
            return f"no good trial of `{name}` in this configuration"
    return None


def _is_at(prediction: Prediction) -> pl.Expr:
    return pl.all_horizontal(
        (pl.col(name).cast(pl.String) if isinstance(value, str) else pl.col(name)) == value
        for name, value in _place(prediction).items()
    ) & (pl.col("placement") == "free")


def _compared(
    prediction: Prediction, sweep: Sweep, compared: Comparisons
) -> tuple[dict[str, Any], str | None]:
    """The comparison of a prediction, and the reason why it is not tested, if there is one."""
    own = compared.against(prediction.against, prediction.quantity)
    here = own.units.cells.select(_is_at(prediction)).to_series().to_numpy()
    found = own.rows("cell", own.groups("cell", here)).filter(branch=prediction.branch)
    if found.height != 1:
        return {}, f"{found.height} comparisons instead of one: sweep with one `--mode`"
    row = found.row(0, named=True)
    return row, reason_untested(sweep, row)


def share(prediction: Prediction, box: Sweep, times: pl.DataFrame) -> tuple[int, int]:
    """Count the machines of a box that agree with a prediction, and all machines of its class.

    A machine on which a trial failed does not agree.
    """
    logs = log_ratios_of(box, times, prediction.branch, prediction.against, _place(prediction))
    margin = math.log(prediction.margin)
    agrees = {
        "faster": pl.col("log") < -margin,
        "slower": pl.col("log") > margin,
        "no-gain": pl.col("log") > -margin,
    }[prediction.direction]
    points = [box.points[point - 1]["prices"] for point in logs["point"]]
    is_of_class = [
        all(asked.has(prices[name]) for name, asked in prediction.machine.costs.items())
        for prices in points
    ]
    mine = logs.filter(pl.Series(is_of_class, dtype=pl.Boolean))
    return mine.select(agrees.fill_null(value=False).sum()).item(), mine.height


def check_origin(
    where: str, prediction: Prediction, box: Sweep, times: pl.DataFrame
) -> tuple[int, int]:
    """Return the share of a prediction (see `share`), after a check of the file against the box.

    Raises:
        InputError: the file has another share or another commit than the sweep.
    """
    agree, machines = share(prediction, box, times)
    origin = prediction.origin
    if (origin.agree, origin.of) != (agree, machines):
        what = f"field `from` says {origin.agree} of {origin.of} machines, but {agree} of {machines} agree"
        raise InputError(where, what, "write what the sweep has")
    commit = str(box.manifest["checkout"]["commit"])
    if prediction.commit != commit:
        raise InputError(
            where,
            f"field `commit` is `{prediction.commit}`, but the sweep ran at `{commit}`",
            "write the sweep's commit",
        )
    return agree, machines
