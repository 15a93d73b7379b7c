"""Writes registered predictions and their results as tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, count, percent
from sweep_analysis.read.predictions import Prediction
from sweep_analysis.say.comparison import interval
from sweep_analysis.stats.predictions import range_in_words


def predictions_table(rows: pl.DataFrame) -> pl.DataFrame:
    """One line per prediction: its result first, then its interval or the reason why it is not tested.

    In: rows of `frames.PREDICTIONS`.
    """
    return pl.DataFrame(
        {
            "result": rows["verdict"],
            "prediction": rows["prediction"],
            "predicted": [_predicted(row) for row in rows.rows(named=True)],
            "found": [row["reason"] or _found(row) for row in rows.rows(named=True)],
        }
    )


def _predicted(row: dict[str, Any]) -> str:
    margin = row["margin"]
    side = {
        "faster": f"below {percent(1 / margin)}",
        "slower": f"above {percent(margin)}",
        "no-gain": f"above {percent(1 / margin)}",
    }[row["direction"]]
    return f"{side} {QUANTITY_NAMES[row['quantity']]}"


def _found(row: dict[str, Any]) -> str:
    return f"{percent(row['time_ratio'])} ({interval(row)})"


def in_words(prediction: Prediction) -> str:
    """The statement of a prediction, as a clause."""
    quantity = QUANTITY_NAMES[prediction.quantity]
    less = percent(1 / prediction.margin)[1:]
    more = percent(prediction.margin)[1:]
    says = {
        "faster": f"takes at least {less} less {quantity}",
        "slower": f"takes at least {more} more {quantity}",
        "no-gain": f"does not take {less} less {quantity}",
    }[prediction.direction]
    return f"`{prediction.branch}` {says} than `{prediction.against}` on `{prediction.workload}`"


def machine_in_words(prediction: Prediction) -> str:
    """The class of machines of a prediction."""
    asked = prediction.machine
    needs = [count(asked.cores, "core"), count(prediction.threads, "CPU")]
    costs = [f"`{name}` {range_in_words(it)}" for name, it in asked.costs.items()]
    return ", ".join(needs + costs)
