"""Says whether a branch costs what the baseline costs, cell by cell: what a comparison of all others rests on.

Not being distinguishable is no proof of being equal: a noisy sweep distinguishes nothing. Here a branch must be *near*
the baseline: the geometric mean over all cells within `MEAN_MARGIN`, and no cell further off than the A/A band of its
own noise plus `CELL_MARGIN`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from sweep_analysis.compare import compare
from sweep_analysis.schema import PANEL

MEAN_MARGIN = 0.02
"""How far from 1 the geometric mean of the ratios may be."""

CELL_MARGIN = 0.03
"""How far outside the A/A band the ratio of one cell may be."""


@dataclass(frozen=True)
class Calibration:
    """How near one branch is to the baseline.

    Attributes:
        mean: row of `frames.COMPARISONS`, level `overall`.
        cells: rows of `frames.COMPARISONS`, level `cell`, plus `is_near`; sorted, the furthest off first.
    """

    mean: pl.DataFrame
    cells: pl.DataFrame

    @property
    def is_mean_near(self) -> bool:
        """Whether the geometric mean is within its margin."""
        return abs(float(self.mean["time_ratio"].item()) - 1) <= MEAN_MARGIN

    @property
    def is_near(self) -> bool:
        """Whether mean and all cells are within their margins."""
        return self.is_mean_near and bool(self.cells["is_near"].all())


def calibration(times: pl.LazyFrame, baseline: str, branch: str, figure: str = "time") -> Calibration | None:
    """How near `branch` is to `baseline` in `figure`; None if they share no cell, or the sweep has no A/A twin.

    In: rows of `frames.TIMES`.
    """
    compared = compare(times, baseline, figure)
    rows = compared.filter((pl.col("branch") == branch) & pl.col("band").is_not_null())
    cells = rows.filter(pl.col("level") == "cell").with_columns(
        is_near=(pl.col("time_ratio") - 1).abs() <= pl.col("band") - 1 + CELL_MARGIN
    )
    mean = rows.filter(pl.col("level") == "overall")
    if cells.is_empty() or mean.is_empty():
        return None
    furthest = (pl.col("time_ratio").log().abs() - pl.col("band").log()).alias("excess")
    return Calibration(mean, cells.sort(furthest, *PANEL, "threads", descending=[True] + [False] * (len(PANEL) + 1)))
