"""Writes sentences on the accuracy of a prediction and on its misses."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.stats import differences, validation
from sweep_analysis.stats.differences import NEAR
from sweep_analysis.stats.validation import MARGIN, Validation


def validation_sentences(found: Validation, simulated: Sweep, measured: Sweep) -> list[str]:
    """Write the sentences below the table: first the misses, the worst first; then the accuracy over all configurations."""
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
        said.append(
            f"left out, because only one sweep has them: {count(found.unmatched, 'configuration')}"
        )
    when = (
        f"before it was measured ({measured.path.name})"
        if found.is_prediction
        else f"AFTER it was measured ({measured.path.name}), so this is no prediction"
    )
    said.append(f"Simulated ({simulated.path.name}) {when}.")
    near = found.cells.height - found.missed.height
    said.append(
        f"**Validation of times {_result(found.passes)}**: {near} of {count(found.cells.height, 'configuration')} within "
        f"{MARGIN:.0%} ({found.share:.0%}); the threshold is {validation.THRESHOLD:.0%}. Geometric mean of simulated over "
        f"measured time: {found.mean_ratio:.3f}."
    )
    return said


def _result(passes: bool) -> str:  # noqa: FBT001 - the only argument
    return "passed" if passes else "failed"


def difference_sentence(rows: pl.DataFrame, baseline: str) -> str:
    """A sentence on whether branches gain and lose as the simulation predicts.

    In: rows of `differences.differences`.
    """
    certain, tested = rows.filter("is_certain"), rows.filter(~pl.col("is_bimodal"))
    right, near = int(certain["is_right"].sum()), int(tested["is_near"].sum())
    passes = right == certain.height and near / tested.height >= differences.THRESHOLD
    rest = rows.height - tested.height
    left_out = f" Not tested, because bimodal: {count(rest, 'configuration')}." if rest else ""
    return (
        f"**Validation of gains and losses {_result(passes)}**: in {count(certain.height, 'configuration')} the measured "
        f"95 % interval of a branch's change against `{baseline}` excludes 0. The simulation has the sign right in {right} "
        f"of them; the threshold is all. The simulated ratio is within {NEAR:.0%} of the measured ratio in {near} of "
        f"{count(tested.height, 'configuration')}; the threshold is {differences.THRESHOLD:.0%}.{left_out}"
    )
