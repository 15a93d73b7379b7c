"""What repeats independently in a pooled comparison: pairs, or whole replicates.

All thread counts of one replicate run the same binaries. If one of these is lucky (its functions happen to lie well in
memory), the branch is lucky in all cells of that replicate, and its pairs are no repetitions of each other: taken for
such, they make luck look like certainty. So an analysis of variance asks first whether replicates differ by more than
their pairs; if they may, a replicate counts once. The level of that question is generous on purpose (Bancroft 1964,
"sometimes pool"): to count replicates needlessly costs some power, to count pairs wrongly costs the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from sweep_analysis.bootstrap import CONFIDENCE, Floats

POOLING_ALPHA = 0.25
"""P-value below which replicates, not pairs, are the units."""


@dataclass(frozen=True)
class Units:
    """The independent values that tests and intervals rest on.

    Attributes:
        values: log-ratios: of pairs, or means of replicates.
        are_replicates: which of the two.
    """

    values: Floats
    are_replicates: bool

    def interval(self, estimate: float) -> tuple[float, float]:
        """95 % t interval around `estimate`."""
        size = self.values.size
        if size < 2:  # noqa: PLR2004 - one value has no spread
            return np.nan, np.nan
        half = special.stdtrit(size - 1, (1 + CONFIDENCE) / 2) * self.values.std(ddof=1) / np.sqrt(size)
        return float(estimate - half), float(estimate + half)


def units_of(log_ratios: list[Floats], replicates: list[Floats]) -> Units:
    """The units of cells whose log-ratios, and the replicate of each, are given cell by cell."""
    pooled = np.concatenate(log_ratios)
    pairs = Units(pooled, are_replicates=False)
    names, place = np.unique(np.concatenate(replicates), return_inverse=True)
    residuals = np.concatenate([cell - cell.mean() for cell in log_ratios])
    between, within = names.size - 1, pooled.size - len(log_ratios) - (names.size - 1)
    if len(log_ratios) < 2 or between < 1 or within < 1:  # noqa: PLR2004 - one cell has a pair per replicate
        return pairs
    sizes = np.bincount(place)
    means = np.bincount(place, weights=residuals) / sizes
    explained = float((sizes * means**2).sum())
    left = float((residuals**2).sum()) - explained
    if explained <= 0 or (left > 0 and _f_test(explained / between, left / within, between, within) >= POOLING_ALPHA):
        return pairs
    grand = float(np.mean([cell.mean() for cell in log_ratios]))
    return Units(grand + means, are_replicates=True)


def _f_test(between: float, within: float, free_between: int, free_within: int) -> float:
    return float(stats.f.sf(between / within, free_between, free_within))
