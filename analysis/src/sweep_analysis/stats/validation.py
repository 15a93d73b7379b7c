"""Compares a simulated sweep with a measured one of the same cells.

How near the predicted times are.

Cells of the sequential program are left out: the price of work was fitted to it, so nothing is
predicted there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import VALIDATION
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, POOL_CELL, TWIN_SUFFIX
from sweep_analysis.stats.speedup import trial_times

MARGIN = 0.20
"""A cell is near if predicted over measured time is at most this far from 1, either way as a factor."""


@dataclass(frozen=True)
class Validation:
    """How near a prediction is.

    Attributes:
        cells: rows of `frames.VALIDATION`.
        is_prediction: whether the simulated sweep was begun before the measured one.
        unmatched: cells of one sweep that the other lacks, such as those without a good trial.
    """

    cells: pl.DataFrame
    is_prediction: bool
    unmatched: int

    @property
    def missed(self) -> pl.DataFrame:
        """The cells that are not near, the worst first."""
        return self.cells.filter(~pl.col("is_near")).sort(
            pl.col("ratio").log().abs(), descending=True
        )

    @property
    def share(self) -> float:
        """Share of the cells that are near."""
        return 1 - self.missed.height / self.cells.height

    @property
    def mean_ratio(self) -> float:
        """Geometric mean of predicted over measured time."""
        return float(np.exp(np.log(self.cells["ratio"].to_numpy()).mean()))


def validation(simulated: Sweep, measured: Sweep) -> Validation:
    """Compare the two, cell by cell.

    Raises:
        InputError: the first was not simulated, the second was, or they share no cell.
    """
    if simulated.machine is None:
        raise InputError(
            simulated.path,
            "it was measured",
            "name the simulated sweep first, then the measured one",
        )
    if measured.machine is not None:
        raise InputError(measured.path, f"it was {measured.label}", "name a measured sweep second")
    predicted = _times(simulated, "predicted")
    seen = _times(measured, "measured")
    shared = predicted.join(seen, on=POOL_CELL, nulls_equal=True)
    if shared.is_empty():
        raise InputError(
            measured.path,
            f"it shares no cell with {simulated.path.name}",
            "sweep the same experiment with the same sizes; `cargo runner validate` does",
        )
    ratio = pl.col("predicted_ms") / pl.col("measured_ms")
    cells = shared.with_columns(
        ratio=ratio,
        is_near=ratio.is_between(1 / (1 + MARGIN), 1 + MARGIN),
        **_scaling("predicted", "measured"),
    ).sort(POOL_CELL)
    begun = [str(sweep.manifest.get("created_at") or "") for sweep in (simulated, measured)]
    return Validation(
        cells.select(pl.col(name).cast(kind) for name, kind in VALIDATION.items()),
        is_prediction=begun[0] < begun[1],
        unmatched=predicted.height + seen.height - 2 * shared.height,
    )


def _times(sweep: Sweep, name: str) -> pl.DataFrame:
    """The median time of each cell of the pool's program, in ms.

    The A/A control is no cell of its own.
    """
    is_twin = pl.col("branch").cast(pl.String).str.ends_with(TWIN_SUFFIX)
    times = trial_times(sweep).filter(pl.col("program") == PARALLEL, ~is_twin)
    median = (pl.col("elapsed_ns").median() / 1e6).alias(f"{name}_ms")
    return times.group_by(POOL_CELL).agg(median).collect()


def _scaling(*names: str) -> dict[str, pl.Expr]:
    """Time over that of the same branch on one thread; null without that cell."""
    on_one = pl.col("threads") == 1
    keys = [key for key in POOL_CELL if key != "threads"]
    return {
        f"{name}_scaling": pl.col(f"{name}_ms")
        / pl.col(f"{name}_ms").filter(on_one).first().over(keys)
        for name in names
    }
