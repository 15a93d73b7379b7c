"""Writes the generated table of registered predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from sweep_analysis.read.load import find_sweep
from sweep_analysis.read.predictions import FOLDER, read_predictions
from sweep_analysis.report.statement import Statement
from sweep_analysis.say import tables
from sweep_analysis.say.predictions import in_words, machine_in_words
from sweep_analysis.stats.predictions import check_origin


def _predictions(asked: Statement) -> str:
    """Write a row per registered prediction, with its class of machines and its share of the box; takes no words."""
    rows = []
    for name, prediction in read_predictions().items():
        file = FOLDER / f"{name}.toml"
        box = asked.analysis(find_sweep(Path(prediction.origin.sweep)))
        agree, machines = check_origin(str(file), prediction, box.sweep, box.times)
        rows.append(
            {
                "prediction": f"[{name}]({asked.link(file)})",
                "machine, at least": machine_in_words(prediction),
                "statement": in_words(prediction),
                "holds in the box on": f"{agree} of {machines} machines",
                "box": f"[`{prediction.origin.sweep}`]({asked.link(box.sweep.path)})",
            }
        )
    return tables.markdown(pl.DataFrame(rows))


PREDICTIONS: dict[str, Callable[[Statement], str]] = {"predictions": _predictions}
