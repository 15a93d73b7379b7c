"""The effect of pinning, in sentences and as a table for people."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count, percent, with_panel
from sweep_analysis.read.schema import FREE
from sweep_analysis.stats.placements import moved


def placement_sentences(placed: pl.DataFrame) -> list[str]:
    """Which workloads take more or less of what when their workers are pinned, beyond noise.

    A sentence, or none.

    In: rows of `frames.PLACEMENTS`.
    """
    found = with_panel(moved(placed).with_columns(placement=pl.lit(FREE)))
    if found.is_empty():
        return []
    told = []
    for part in found.partition_by("panel", "threads", maintain_order=True):
        of_place = [
            f"{quantity} {percent(ratio)} ({percent(low)} to {percent(high)})"
            for quantity, ratio, low, high in part.select(
                "quantity", "ratio", "ratio_low", "ratio_high"
            ).rows()
        ]
        told.append(
            f"{part['panel'][0]} on {count(part['threads'][0], 'thread')}: {', '.join(of_place)}"
        )
    changes = "; ".join(told)
    intro = "Where workers run decides this, whatever the branch. Pinned, worker i on the i-th CPU, against where"
    return [f"{intro} the kernel puts them: {changes}."]
