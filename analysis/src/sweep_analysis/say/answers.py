"""The sentences with which notebooks answer their questions; no number and no verdict is typed by hand."""

from __future__ import annotations

import polars as pl

from sweep_analysis.read.labels import HERE, PUBLISHED, count
from sweep_analysis.say.findings import Analysis
from sweep_analysis.services import document_findings, documents
from sweep_analysis.services import results as experiment_results
from sweep_analysis.services.results import OTHER, SAME, UNTOLD, Result
from sweep_analysis.stats.compare import FASTER, SLOWER
from sweep_analysis.stats.explain import SURE, Explanation
from sweep_analysis.stats.noise import second_look

POOL, LOCK_FREE = "pool", "lock-free"
"""Ways to hand packets on, as the packet study's experiments name them."""


def answer(*sentences: str) -> str:
    """An answer as Markdown."""
    return f"**Answer.** {' '.join(sentences)}"


def noise(once: Analysis, layouts: Analysis) -> str:
    """How far equal builds stray, and what became of the differences that one build per branch showed."""

    def widest(analysis: Analysis, which: pl.Expr) -> float | None:
        change = (pl.col("time_ratio") - 1).abs().max()
        value: float | None = analysis.comparisons.filter(which, level="workload").select(change).item()
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
        "can be told from nothing with several."
    )
    sentence = "; ".join(told)
    return f"{sentence[:1].upper()}{sentence[1:]}. {found}"


def counts(found: Explanation, plain: str) -> str:
    """Whether the writes explain the times."""
    if found.correlation is None or found.p_value is None:
        return "Too little was counted and timed in the same cells to tell whether writes explain times."
    told = f"Spearman's rank correlation of the two {found.correlation:+.2f}, p = {found.p_value:.2f}"
    if found.p_value >= SURE:
        return f"Whether a branch that writes less than {plain} also takes less time cannot be told here ({told})."
    if found.correlation > 0:
        return f"Yes: the more writes a branch saves over {plain}, the more time it saves ({told})."
    return f"No: branches that save writes over {plain} take more time ({told})."


def packets(results: list[Result]) -> str:
    """How many published numbers came again, and whether workers that take from any queue make up for owners."""
    met = [(each, experiment_results.beside(each.points, each.experiment.figure)) for each in results]
    printed = sum(_published(each.points).height for each in results)
    words = [experiment_results.agreement(rows, each.experiment.figure) for each, rows in met]
    same, other, untold = (sum(found[word] for found in words) for word in (SAME, OTHER, UNTOLD))
    told = (
        f"Of {printed} published numbers {sum(rows.height for _, rows in met)} were measured in the same place: "
        f"{same} came again, {other} did not, and of {untold} that cannot be told."
    )
    place = ["generator", "depth", "words", "threads"]
    speedups = [each.points.filter(pl.col("origin") == HERE) for each in results if "speedup" in each.experiment.figure]
    if not speedups:
        return told
    points = pl.concat(speedups).select(*place, "way", "low", "high").drop_nulls().unique([*place, "way"])
    both = points.filter(way=POOL).join(points.filter(way=LOCK_FREE), on=place, suffix="_other")
    ahead = both.filter(pl.col("low") > pl.col("high_other")).height
    behind = both.filter(pl.col("high") < pl.col("low_other")).height
    return (
        f"{told} A work-stealing pool is faster than queues that workers own in {ahead} of {both.height} places "
        f"measured here, slower in {behind}; in the others intervals overlap."
    )


def _published(points: pl.DataFrame) -> pl.DataFrame:
    return points.filter((pl.col("origin") == PUBLISHED) & (pl.col("kind") != "bound"))


def frequency(made: Analysis, effect: str, clock_change: float) -> str:
    """Whether the mode changed the verdict on the made-up branch, and whether the measured clock could have."""
    rows = made.comparisons.filter(level="workload", branch=effect)
    told = dict(rows.select("mode", "verdict").rows())
    is_same = len(set(told.values())) == 1
    words = ", ".join(f"{mode}: {verdict}" for mode, verdict in sorted(told.items()))
    return (
        f"{'No' if is_same else 'Yes'}: the made-up branch has {'the same verdict' if is_same else 'other verdicts'} "
        f"in the two modes ({words}). The clock that was measured differs by {clock_change:.2%} between thread counts, "
        "so here it bends no curve by more; what a host does that can hold its frequency was not measured."
    )


def orders(results: list[Result]) -> str:
    """How often two ways have the order that was printed."""
    by_name = {each.experiment.name: each for each in results}
    found = [by_name[name] for *_, name in documents.DOCUMENTS]
    agreed = [document_findings.agreement(each.points, each.experiment.figure) for each in found]
    same, other, untold = (sum(column) for column in zip(*agreed, strict=True))
    return (
        f"Of {same + other + untold} places in which two ways were printed and measured, {same} have the printed order "
        f"here, {other} the opposite one, and of {untold} it cannot be told, because the intervals overlap."
    )
