"""Writes generated results on the accuracy of simulations."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import count, percent, with_panel
from sweep_analysis.report.statement import Statement
from sweep_analysis.say import tables
from sweep_analysis.say.validation import difference_sentence, validation_sentences
from sweep_analysis.stats import published
from sweep_analysis.stats.differences import differences
from sweep_analysis.stats.validation import validation


def _validated(asked: Statement) -> str:
    """Write the accuracy and the misses of a prediction for a host: of times, and of gains and losses.

    The comment names two sweeps: first the simulated sweep, then the measured sweep.
    """
    simulated, measured = (analysis.sweep for analysis in asked.sweeps)
    found = validation(simulated, measured)
    ratio = pl.col("ratio")
    rows = (
        with_panel(found.cells)
        .group_by("workload", "threads")
        .agg(
            pl.col("is_near").sum().alias("accurate"),
            pl.len().alias("configurations"),
            ratio.log().mean().exp().round(2).alias("simulated over measured"),
        )
        .filter(pl.col("accurate") < pl.col("configurations"))
        .sort("workload", "threads")
    )
    sentence = validation_sentences(found, simulated, measured)[-1]
    table = asked.table(rows, "simulated over measured times where they differ")
    apart = with_panel(differences(*asked.sweeps))
    missed = apart.filter(~pl.col("is_near") | ~pl.col("is_right").fill_null(value=True))
    of_branches = asked.table(
        tables.differences_table(missed), "branches whose simulated and measured changes differ"
    )
    times = f"Predicted times ({simulated.label}) against measured times: {sentence}\n\n{table}"
    said = difference_sentence(apart, str(asked.sweep.baseline))
    return f"{times.rstrip()}\n\nPredicted gains and losses of branches: {said}\n\n{of_branches}"


def _published(asked: Statement) -> str:
    """Write published figures beside simulated figures, and the result of the validation.

    The comment names the sweeps of all machines.
    """
    told = published.read()
    every = published.beside(told, asked.sweeps)
    observed = published.seen(told, asked.sweeps)
    is_scored = pl.col("not_scored") == ""
    rows, seen = every.filter(is_scored), observed.filter(is_scored)
    score = published.score(rows)
    met, of = score.within[0], score.figures
    gains = int(seen["is_right"].sum())
    right, pairs = score.order
    passes = met / of >= told.threshold.share and pairs == right and gains == seen.height
    states, untold = rows.height - of, rows.filter(~pl.col("is_known")).height
    rest = (
        f"{count(states, 'bimodal figure')} are not tested"
        if states
        else "No figure is known to be bimodal"
    )
    few = f"; {untold} have too few seeds to show two modes" if untold else ""
    sentence = (
        f"**Validation {'passed' if passes else 'failed'}**: {met} of {of} simulated figures are within a factor of "
        f"{told.threshold.factor:g} of the published ones; the threshold is {told.threshold.share:.0%}. {right} of {pairs} pairs "
        f"of a series have the published order, and {gains} of {seen.height} programs have the published sign; the "
        f"threshold is all of both. {rest}{few}. {every.height - rows.height} further figures and "
        f"{observed.height - seen.height} programs are not scored, because their comparison was wrong. Of these, "
        f"{every.filter(~is_scored, 'is_met').height} and "
        f"{observed.filter(~is_scored, 'is_right').height} would be met."
    )
    how = pl.DataFrame(
        {
            "figures": [f"{it.name}, {it.source}" for it in told.series],
            "program": [it.program for it in told.series],
            "stated machine": [it.machine_told for it in told.series],
            "stated governor": [it.governor_told for it in told.series],
            "simulated clock": [it.clock for it in told.series],
        }
    ).filter(pl.col("program") != "")
    wrong = pl.concat(
        [_figures(every.filter(~is_scored)), _signs(observed.filter(~is_scored))],
        how="diagonal_relaxed",
    )
    parts = [
        sentence,
        tables.markdown(_scores(rows, seen)),
        tables.markdown(_figures(rows).drop("why")),
        tables.markdown(_signs(seen).drop("why")),
        asked.table(how, "the publisher's facts on each series"),
        asked.table(_struck(wrong), "not scored, and why"),
    ]
    return "\n\n".join(part.rstrip() for part in parts)


def _scores(rows: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """Compute three scores: of all figures, of the figures of the machine with most figures, and of the other figures."""
    most = rows["machine"].mode().sort()[0]
    parts = {
        "all": rows,
        f"`{most}`": rows.filter(machine=most),
        "other machines": rows.filter(pl.col("machine") != most),
    }
    columns = {name: _score(published.score(part)) for name, part in parts.items()}
    signs = {"signs of branches": _of(int(seen["is_right"].sum()), seen.height)}
    columns["all"] |= signs
    return pl.DataFrame(
        {"score": list(columns["all"])}
        | {name: [column.get(it, "") for it in columns["all"]] for name, column in columns.items()}
    )


def _score(score: published.Score) -> dict[str, str]:
    near = {}
    for factor, met, constant in zip(published.FACTORS, score.within, score.constant, strict=True):
        near[f"within {factor:g}"] = _of(met, score.figures)
        near[f"within {factor:g}, the best constant of each unit"] = _of(constant, score.figures)
    return near | {
        "correlation of logarithms, in each unit": f"{score.correlation:.2f}",
        "pairs of figures of one series in the published order": _of(*score.order),
        "neighbouring figures of one series in the published order": _of(*score.directions),
        "the same figure of two series of one program in the published order": _of(
            *score.contrasts
        ),
    }


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"


def _figures(rows: pl.DataFrame) -> pl.DataFrame:
    simulated = pl.col("simulated").list.eval(
        pl.element().map_elements(_digits, return_dtype=pl.String)
    )
    result = pl.when("is_met").then(pl.lit("met")).otherwise(pl.lit("missed"))
    return rows.with_columns(
        pl.col("published").map_elements(_digits, return_dtype=pl.String), simulated
    ).select(
        pl.col("series").alias("what"),
        pl.col("told").alias("of"),
        pl.format("{} {}", "published", "unit").alias("published"),
        pl.format("{} {}", pl.col("simulated").list.join(" or "), "unit").alias("simulated"),
        pl.col("ratio").round(2).alias("simulated over published"),
        pl.when(pl.col("is_met").is_null())
        .then(pl.lit("not tested: bimodal"))
        .otherwise(result)
        .alias("result"),
        pl.format("`{}`", "machine").alias("machine"),
        pl.col("not_scored").alias("why"),
    )


def _signs(seen: pl.DataFrame) -> pl.DataFrame:
    """Make a row per program of which only the sign is published."""
    verdict = {True: "right", False: "wrong"}
    answer = {True: "gains", False: "does not gain"}
    return seen.select(
        pl.col("sign").alias("what"),
        pl.format("`{}`", "workload").alias("of"),
        pl.col("gains").replace_strict(answer, return_dtype=pl.String).alias("published"),
        pl.col("ratio").map_elements(percent, return_dtype=pl.String).alias("simulated"),
        pl.col("is_right").replace_strict(verdict, return_dtype=pl.String).alias("result"),
        pl.format("`{}`", "machine").alias("machine"),
        pl.col("not_scored").alias("why"),
    )


def _struck(rows: pl.DataFrame) -> pl.DataFrame:
    struck = [
        pl.format("~~{}~~", pl.col(name).cast(pl.String)).fill_null("").alias(name)
        for name in rows.columns
        if name != "why"
    ]
    return rows.select(*struck, "why")


def _digits(value: float) -> str:
    return f"{value:.3g}"


VALIDATIONS: dict[str, Callable[[Statement], str]] = {
    "validated": _validated,
    "published": _published,
}
