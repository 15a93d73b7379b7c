"""Statements on how near a simulation came to what was measured."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import with_panel
from sweep_analysis.report.asked import Asked
from sweep_analysis.say import tables
from sweep_analysis.say.validation import count_sentences, difference_sentence, validation_sentences
from sweep_analysis.stats import published
from sweep_analysis.stats.differences import differences
from sweep_analysis.stats.validated_counts import by_event, validated_counts
from sweep_analysis.stats.validation import validation


def _validated(asked: Asked) -> str:
    """How near a prediction of a host is, and a row for each workload and number of threads that it misses.

    Two sweeps: simulated, measured.
    """
    simulated, measured = (analysis.sweep for analysis in asked.sweeps)
    found = validation(simulated, measured)
    ratio = pl.col("ratio")
    rows = (
        with_panel(found.cells)
        .group_by("workload", "threads")
        .agg(
            pl.col("is_near").sum().alias("near"),
            pl.len().alias("cells"),
            ratio.log().mean().exp().round(2).alias("simulated over measured"),
        )
        .filter(pl.col("near") < pl.col("cells"))
        .sort("workload", "threads")
    )
    sentence = validation_sentences(found, simulated, measured)[-1]
    table = asked.table(rows, "simulated over measured times where they differ")
    return f"Times {simulated.label}, beside measured ones: {sentence}\n\n{table}"


def _validated_counts(asked: Asked) -> str:
    """How near predicted counts are, a row an event and a number of threads. Two sweeps: simulated, measured."""
    simulated, measured = (analysis.sweep for analysis in asked.sweeps)
    counts = validated_counts(simulated, measured)
    if counts.is_empty():
        raise asked.refused("one of the sweeps has no counts", "name two that were swept with `--instrument`")
    shown = tables.validated_counts_table(by_event(counts))
    table = asked.table(shown, "simulated over measured counts by event and threads")
    return f"Counts {simulated.label}, beside measured ones: {count_sentences(counts)[-1]}\n\n{table}"


def _validated_differences(asked: Asked) -> str:
    """Whether branches gain and lose where a simulation says, and the cells that it misses. Two sweeps as above."""
    simulated, measured = asked.sweeps
    rows = with_panel(differences(simulated, measured))
    missed = rows.filter(~pl.col("is_near") | ~pl.col("is_right").fill_null(value=True))
    table = asked.table(tables.differences_table(missed), "branches whose simulated and measured gains are apart")
    return f"{difference_sentence(rows, str(simulated.baseline))}\n\n{table}"


def _published(asked: Asked) -> str:
    """What others published beside what simulations say, and whether they pass. The sweeps of all machines."""
    told = published.read()
    rows = published.beside(told, asked.sweeps)
    met, of = int(rows["is_met"].sum()), rows.height
    pairs, right = published.signs(rows)
    passes = met / of >= told.mark.share and pairs == right
    sentence = (
        f"**{'Passed' if passes else 'Not passed'}**: {met} of {of} figures, simulated, are within a factor of "
        f"{told.mark.factor:g} of what was published (the mark is {told.mark.share:.0%}), and {right} of {pairs} pairs "
        "of a series have the published order (the mark is all)."
    )
    number = pl.col("published", "simulated").map_elements(lambda it: f"{it:.3g}", return_dtype=pl.String)
    table = rows.with_columns(number).select(
        pl.col("series").alias("what"),
        pl.col("told").alias("of"),
        pl.format("{} {}", "published", "unit").alias("published"),
        pl.format("{} {}", "simulated", "unit").alias("simulated"),
        pl.col("ratio").round(2).alias("simulated over published"),
        pl.when("is_met").then(pl.lit("met")).otherwise(pl.lit("missed")).alias("mark"),
        pl.format("`{}`", "machine").alias("machine"),
    )
    return f"{sentence}\n\n{tables.markdown(table)}"


VALIDATIONS: dict[str, Callable[[Asked], str]] = {
    "validated": _validated,
    "validated-counts": _validated_counts,
    "validated-differences": _validated_differences,
    "published": _published,
}
"""These statements, by kind."""
