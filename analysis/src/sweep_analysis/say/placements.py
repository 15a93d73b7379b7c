"""Writes the effect of pinning as sentences."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count, percent, with_panel
from sweep_analysis.read.schema import FREE


def placement_sentences(placed: pl.DataFrame) -> list[str]:
    """A sentence on the workloads that pinning changes significantly, and in which quantities; or none.

    In: rows of `frames.PLACEMENTS`.
    """
    found = with_panel(placed.filter("moved").with_columns(placement=pl.lit(FREE)))
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
    intro = (
        "Pinning worker i to the i-th CPU changes these quantities in all branches together, against workers that the "
        "kernel places"
    )
    return [f"{intro}: {changes}."]
