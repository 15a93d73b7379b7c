"""Compares the times of a simulated sweep with the times of a measured sweep of the same configurations.

The sequential program is excluded, because the cost of work was fitted to its measured time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import VALIDATION, cast_to
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, POOL_CELL, PREDICTED_CELL, TWIN_SUFFIX
from sweep_analysis.stats.speedup import trial_times

MARGIN = 0.20
"""A prediction is accurate if the ratio of predicted to measured time is within the factor 1 + `MARGIN`, either way."""
THRESHOLD = 0.80
"""The validation of times needs at least this share of accurate predictions."""


@dataclass(frozen=True)
class Validation:
    """The accuracy of a prediction.

    Attributes:
        cells: rows of `frames.VALIDATION`.
        is_prediction: whether the simulated sweep began before the measured sweep.
        unmatched: number of configurations that only one sweep has, for example because the other has no good trial.
    """

    cells: pl.DataFrame
    is_prediction: bool
    unmatched: int

    @property
    def missed(self) -> pl.DataFrame:
        """The configurations with an inaccurate prediction, the worst first."""
        return self.cells.filter(~pl.col("is_near")).sort(
            pl.col("ratio").log().abs(), descending=True
        )

    @property
    def share(self) -> float:
        """Share of the configurations with an accurate prediction."""
        return 1 - self.missed.height / self.cells.height

    @property
    def passes(self) -> bool:
        """Whether enough predictions are accurate."""
        return self.share >= THRESHOLD

    @property
    def mean_ratio(self) -> float:
        """Geometric mean of predicted over measured time."""
        return float(np.exp(np.log(self.cells["ratio"].to_numpy()).mean()))


def validation(simulated: Sweep, measured: Sweep) -> Validation:
    """Compare the two sweeps by configuration.

    Raises:
        InputError: `simulated` was measured, `measured` was simulated or has two placements, or they share no
            configuration.
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
    if seen["placement"].n_unique() > 1:
        raise InputError(
            measured.path,
            "it has free and pinned workers; simulated machines do not pin workers",
            "measure one placement; `cargo runner validate` does",
        )
    seen = seen.drop("placement")
    shared = predicted.join(seen, on=PREDICTED_CELL, nulls_equal=True)
    if shared.is_empty():
        raise InputError(
            measured.path,
            f"it shares no configuration with {simulated.path.name}",
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
        cells.select(cast_to(VALIDATION)),
        is_prediction=begun[0] < begun[1],
        unmatched=predicted.height + seen.height - 2 * shared.height,
    )


def _times(sweep: Sweep, name: str) -> pl.DataFrame:
    """The median time of each parallel configuration in ms, without the A/A control."""
    is_twin = pl.col("branch").cast(pl.String).str.ends_with(TWIN_SUFFIX)
    times = trial_times(sweep).filter(pl.col("program") == PARALLEL, ~is_twin)
    median = (pl.col("elapsed_ns").median() / 1e6).alias(f"{name}_ms")
    return times.group_by(POOL_CELL).agg(median).collect()


def _scaling(*names: str) -> dict[str, pl.Expr]:
    """Time over the time of the same branch on one thread; null if one thread was not measured."""
    on_one = pl.col("threads") == 1
    keys = [key for key in POOL_CELL if key != "threads"]
    return {
        f"{name}_scaling": pl.col(f"{name}_ms")
        / pl.col(f"{name}_ms").filter(on_one).first().over(keys)
        for name in names
    }
