"""Says how near a prediction is, and names what it missed."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.stats.differences import MARK, NEAR
from sweep_analysis.stats.validation import MARGIN, Validation


def validation_sentences(found: Validation, simulated: Sweep, measured: Sweep) -> list[str]:
    """The sentences below the table.

    The misses by name, the worst first, then the two figures of all cells.
    """
    said = []
    missed = with_panel(found.missed)
    for row in (
        missed.group_by("panel", "threads", maintain_order=True)
        .agg(pl.col("ratio", "branch"))
        .rows(named=True)
    ):
        ratios = ", ".join(
            f"{ratio:.2f} with `{branch}`"
            for ratio, branch in zip(row["ratio"], row["branch"], strict=True)
        )
        said.append(f"missed: {row['panel']} on {count(row['threads'], 'thread')}: {ratios}")
    if found.unmatched:
        said.append(f"{count(found.unmatched, 'cell')} left out that only one sweep has")
    when = "before" if found.is_prediction else "AFTER (so it is no prediction)"
    said.append(f"Simulated ({simulated.path.name}) {when} it was measured ({measured.path.name}).")
    near = found.cells.height - found.missed.height
    said.append(
        f"{near} of {count(found.cells.height, 'cell')} within {MARGIN:.0%} ({found.share:.0%}); geometric mean of "
        f"simulated over measured time {found.mean_ratio:.3f}."
    )
    return said


def difference_sentence(rows: pl.DataFrame, baseline: str) -> str:
    """Whether branches gain and lose where the simulation says.

    In: rows of `differences.differences`.
    """
    certain, judged = rows.filter("is_certain"), rows.filter(~pl.col("two_states"))
    right, near = int(certain["is_right"].sum()), int(judged["is_near"].sum())
    passes = right == certain.height and near / judged.height >= MARK
    rest = rows.height - judged.height
    left_out = f" {count(rest, 'more cell')} that is bimodal: not tested." if rest else ""
    return (
        f"**Validation {'passed' if passes else 'failed'}**: of {count(certain.height, 'cell')} in which a branch certainly "
        f"differs from `{baseline}`, the simulation has the sign right in {right} (the threshold is all), and in {near} of "
        f"{count(judged.height, 'cell')} it is within {NEAR:.0%} of the measured ratio (the threshold is {MARK:.0%})."
        f"{left_out}"
    )
