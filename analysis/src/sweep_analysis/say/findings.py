"""Writes the results of a sweep as sentences, with their uncertainty and limits.

Report and notebooks show these sentences, so that no conclusion is typed by hand.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import count, with_panel
from sweep_analysis.say.comparison import detectable_of, in_words
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.claims import RESULTS as CLAIM_RESULTS
from sweep_analysis.stats.compare import FASTER, SLOWER, UNCLEAR, UNTESTED


def claims_sentence(analysis: Analysis) -> str:
    """The number of pre-registered hypotheses with each result (`claims.RESULTS`); empty if there are none."""
    found = [(verdict, analysis.claims.filter(verdict=verdict).height) for verdict in CLAIM_RESULTS]
    told = ", ".join(f"{number} {verdict}" for verdict, number in found if number)
    return (
        f"{count(analysis.claims.height, 'pre-registered hypothesis', 'pre-registered hypotheses')}: {told}."
        if told
        else ""
    )


def result_sentences(analysis: Analysis) -> list[str]:
    """One sentence per workload on the branches that differ from the baseline, and by how much."""
    return _result_sentences(analysis.decisions.rows, analysis.decisions.baseline)


def counter_sentences(analysis: Analysis) -> list[str]:
    """The effect of the counters alone, per workload.

    Compares branches of the fork with the fork that has upstream's counters. A comparison with the
    baseline would add the effect of the rest of the scheduler, which all branches of the fork share.
    """
    plain = analysis.decisions.plain
    return _result_sentences(analysis.decisions.over_plain, plain) if plain else []


def _result_sentences(comparisons: pl.DataFrame, baseline: str | None) -> list[str]:
    rows = comparisons.filter(pl.col("level") == "workload")
    sentences = []
    for part in rows.partition_by("panel", maintain_order=True):
        claims = [
            f"{word} than {baseline}: {_each(part.filter(verdict=word))}"
            for word in (FASTER, SLOWER)
            if word in part["verdict"]
        ]
        claimed = part.filter(pl.col("verdict").is_in([FASTER, SLOWER]))["branch"]
        rest = part.filter(~pl.col("branch").is_in(claimed.implode()))
        for verdict in (UNCLEAR, UNTESTED):
            # Each branch is counted once: as different, if it differs in any quantity.
            names = set(rest.filter(verdict=verdict)["branch"])
            names -= set(rest.filter(verdict=UNCLEAR)["branch"]) if verdict == UNTESTED else set()
            if names:
                open_rows = rest.filter(pl.col("branch").is_in(names))
                found = detectable_of(open_rows) if verdict == UNCLEAR else ""
                claims.append(f"{count(len(names), 'branch', 'branches')} {verdict}{found}")
        sentences.append(f"{part['panel'][0]}: {'; '.join(claims)}.")
    return sentences


def _each(rows: pl.DataFrame) -> str:
    """Each branch with its change and interval, the fastest first."""
    each = rows.sort("time_ratio").rows(named=True)
    return ", ".join(f"{row['branch']} {in_words(row)}" for row in each)


def noise_sentences(analysis: Analysis) -> list[str]:
    """The noise floor and the detectable difference of each workload."""
    twin = analysis.sweep.twin
    cells = with_panel(analysis.comparisons.filter(pl.col("level") == "cell"))
    is_simulated = analysis.sweep.machine is not None
    itself = (
        "the noise floor reaches" if is_simulated else "one build against itself differs by up to"
    )
    sentences = []
    for part in cells.partition_by("panel", maintain_order=True):
        bands = part["band"].drop_nulls()
        others = part.filter(pl.col("branch") != twin)["detectable"].drop_nulls().median()
        if bands.is_empty() or not isinstance(others, float):
            sentences.append(f"{part['panel'][0]}: the noise is unknown.")
            continue
        sentences.append(
            f"{part['panel'][0]}: {itself} {(max(bands) - 1) * 100:.1f} % at one thread count; "
            f"a true difference there must be about {(others - 1) * 100:.1f} % to be found."
        )
    return sentences
