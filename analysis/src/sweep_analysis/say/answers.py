"""The sentences with which notebooks answer their questions.

No number and no verdict is typed by hand.
"""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import capital, count
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.compare import FASTER, SLOWER
from sweep_analysis.stats.explain import SURE, Explanation
from sweep_analysis.stats.noise import second_look


def answer(*sentences: str) -> str:
    """An answer as Markdown."""
    return f"**Answer.** {' '.join(sentences)}"


def bullets(sentences: list[str]) -> str:
    """Sentences as a Markdown list."""
    return "\n".join(f"* {sentence}" for sentence in sentences)


def noise(once: Analysis, layouts: Analysis) -> str:
    """How far equal builds stray, and what became of the differences that one build per branch showed."""

    def widest(analysis: Analysis, which: pl.Expr) -> float | None:
        change = (pl.col("time_ratio") - 1).abs().max()
        value: float | None = (
            analysis.comparisons.filter(which, level="workload").select(change).item()
        )
        return value

    told = [
        f"a whole workload of the baseline strays from itself by up to {100 * noise:.1f} % with {name}, and that of "
        f"a branch from the baseline by up to {100 * change:.1f} %"
        for name, analysis in (("one build", once), ("several layouts", layouts))
        if (noise := widest(analysis, pl.col("branch") == analysis.sweep.twin)) is not None
        and (change := widest(analysis, pl.col("branch") != analysis.sweep.twin)) is not None
    ]
    again = second_look(once, layouts)
    came = again.filter(pl.col("verdict of the second").is_in([FASTER, SLOWER])).height
    found = (
        f"Of {count(again.height, 'change')} that went further with one build than the baseline from itself, {came} "
        f"{'is' if came == 1 else 'are'} significant with several."
    )
    return f"{capital('; '.join(told))}. {found}"


def counts(found: Explanation, plain: str) -> str:
    """Whether the writes explain the times."""
    if found.correlation is None or found.p_value is None:
        return "Too little was counted and timed in the same cells to tell whether writes explain times."
    told = (
        f"Spearman's rank correlation of the two {found.correlation:+.2f}, p = {found.p_value:.2f}"
    )
    if found.p_value >= SURE:
        return f"Whether a branch that writes less than {plain} also takes less time is inconclusive here ({told})."
    if found.correlation > 0:
        return f"Yes: the more writes a branch saves over {plain}, the more time it saves ({told})."
    return f"No: branches that save writes over {plain} take more time ({told})."


def explanation_sentences(found: Explanation, plain: str) -> list[str]:
    """Sentences on how much of the saved time the event counts explain."""
    if found.cells.is_empty():
        return ["Nothing was counted and timed in the same cells, so nothing is explained."]
    sentences = []
    certain = found.cells.filter((pl.col("saved_ns_low") > 0) | (pl.col("saved_ns_high") < 0))
    sentences.append(
        f"In {certain.height} of {found.cells.height} cells the interval of the time saved against {plain} "
        "excludes zero."
    )
    if found.correlation is not None and found.p_value is not None:
        gains = found.correlation > 0
        verdict = (
            "the more writes a branch saves, the more time"
            if gains
            else "saved writes come with lost time"
        )
        told = (
            verdict if found.p_value < SURE else "whether writes explain times is inconclusive here"
        )
        sentences.append(
            f"Spearman's rank correlation between the share of writes saved and the share of time saved is "
            f"{found.correlation:+.2f} (p = {found.p_value:.2f}): {told}."
        )
    return sentences


def frequency(made: Analysis, effect: str, clock_change: float) -> str:
    """Whether the mode changed the verdict on the synthetic branch, or the measured clock could have."""
    rows = made.comparisons.filter(level="workload", branch=effect)
    told = dict(rows.select("mode", "verdict").rows())
    is_same = len(set(told.values())) == 1
    words = ", ".join(f"{mode}: {verdict}" for mode, verdict in sorted(told.items()))
    return (
        f"{'No' if is_same else 'Yes'}: the made-up branch has {'the same verdict' if is_same else 'other verdicts'} "
        f"in the two modes ({words}). The clock that was measured differs by {clock_change:.2%} between thread counts, "
        "so here it bends no curve by more; what a host does that can hold its frequency was not measured."
    )
