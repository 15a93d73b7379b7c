"""One experiment of an older study.

Shows measured numbers beside published ones, or says which are missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.read.experiment import Experiment, experiment_named, newest_of
from sweep_analysis.read.labels import HERE, PUBLISHED, count
from sweep_analysis.read.load import Sweep
from sweep_analysis.say import tables
from sweep_analysis.say.answers import bullets
from sweep_analysis.say.facts import host
from sweep_analysis.services import document_findings, servers
from sweep_analysis.services.experiments import FAMILIES, beside
from sweep_analysis.services.packets import OVERHEAD_BY_WORDS
from sweep_analysis.stats.analysis import Analysis, analyse

PACKETS = (
    "packets-idle-lock-overhead",
    "packets-speedup-uniform",
    "packets-speedup-exponential",
    "packets-awesome",
)
"""The packet study's experiments 1 to 4, as `experiments.toml` names them."""

POOL, LOCK_FREE = "pool", "lock-free"
"""Ways to hand packets on, as those experiments name them."""

SAME, OTHER, UNTOLD = "the same", "another number", "cannot tell"
"""How a published number compares with the interval measured in the same place."""
MOST_WIDE = 0.2
"""Widest interval of a speed-up, as a share of it, that confirms a number inside: ±10 %. A guess."""
MOST_POINTS = 5.0
"""The same for throughput lost, in percentage points: an interval from −127 to 24 holds whatever was printed."""


@dataclass(frozen=True)
class Result:
    """One experiment.

    Attributes:
        experiment: as `experiments.toml` has it.
        points: those of its `Family`; only published ones if there is no sweep.
        cpus: CPUs of the host that measured; None if none did.
        sentences: the sweep, its trials and its host, or that the measurement is missing.
        sweep: the sweep that measured it; None if none did.
    """

    experiment: Experiment
    points: pl.DataFrame
    cpus: int | None
    sentences: list[str]
    sweep: Sweep | None = None

    def found(self) -> str:
        """The results of an experiment of the documents, as Markdown."""
        return bullets(
            document_findings.found(self.experiment.name, self.points) or ["Nothing yet."]
        )

    def charts(self) -> list[alt.VConcatChart]:
        """Measured above published; a chart with only one of the two shows that one."""
        return list(
            FAMILIES[self.experiment.figure]
            .charts(self.points, self.experiment, self.cpus, LIGHT)
            .values()
        )

    def table(self) -> str:
        """Published numbers beside what was measured in the same place, as Markdown."""
        met = beside(self.points, self.experiment.figure)
        if met.is_empty():
            return "No published number has a measured one beside it."
        return tables.markdown(tables.rounded(met))


def result_of(name: str) -> Result:
    """An experiment by the newest committed sweep of it, or by what was published alone."""
    return result(experiment_named(name), newest_of(name))


def result(experiment: Experiment, sweep: Sweep | None) -> Result:
    """An experiment by `sweep`, or by what was published alone."""
    family = FAMILIES[experiment.figure]
    if sweep is None:
        return Result(experiment, family.published(experiment), None, [_not_measured(experiment)])
    analysis = analyse(sweep)
    points = family.points(analysis, experiment)
    return Result(
        experiment, points, analysis.cpus, _sentences(analysis, experiment, points), sweep
    )


def agreement(met: pl.DataFrame, figure: str) -> dict[str, int]:
    """How many published numbers are the same here, how many are not, and how many are inconclusive.

    The same: inside the interval, and that is narrow enough to exclude much else (`MOST_WIDE`). In:
    rows of `beside`.
    """
    width = pl.col("high") - pl.col("low")
    narrow = width <= (
        MOST_POINTS if figure == OVERHEAD_BY_WORDS else MOST_WIDE * pl.col("measured").abs()
    )
    inside = pl.col("published").is_between(pl.col("low"), pl.col("high"))
    told = met.select(
        pl.when(~inside)
        .then(pl.lit(OTHER))
        .when(narrow)
        .then(pl.lit(SAME))
        .otherwise(pl.lit(UNTOLD))
        .alias("told")
    )["told"]
    return {word: int((told == word).sum()) for word in (SAME, OTHER, UNTOLD)}


def packets(results: list[Result]) -> str:
    """How many published numbers came again, and whether workers that take from any queue make up for owners."""
    met = [(each, beside(each.points, each.experiment.figure)) for each in results]
    printed = sum(_published(each.points).height for each in results)
    words = [agreement(rows, each.experiment.figure) for each, rows in met]
    same, other, untold = (sum(found[word] for found in words) for word in (SAME, OTHER, UNTOLD))
    told = (
        f"Of {printed} published numbers {sum(rows.height for _, rows in met)} were measured in the same place: "
        f"{same} came again, {other} did not, and {untold} are inconclusive."
    )
    place = ["generator", "depth", "words", "threads"]
    speedups = [
        each.points.filter(pl.col("origin") == HERE)
        for each in results
        if "speedup" in each.experiment.figure
    ]
    if not speedups:
        return told
    points = (
        pl.concat(speedups)
        .select(*place, "way", "low", "high")
        .drop_nulls()
        .unique([*place, "way"])
    )
    both = points.filter(way=POOL).join(points.filter(way=LOCK_FREE), on=place, suffix="_other")
    ahead = both.filter(pl.col("low") > pl.col("high_other")).height
    behind = both.filter(pl.col("high") < pl.col("low_other")).height
    return (
        f"{told} A work-stealing pool is faster than queues that workers own in {ahead} of {both.height} places "
        f"measured here, slower in {behind}; in the others intervals overlap."
    )


def _published(points: pl.DataFrame) -> pl.DataFrame:
    return points.filter((pl.col("origin") == PUBLISHED) & (pl.col("kind") != "bound"))


def summary(results: list[Result]) -> str:
    """How many published numbers of the packet study were met, an experiment a row, as Markdown."""
    rows = []
    for each in results:
        published = each.points.filter(
            (pl.col("origin") == PUBLISHED) & (pl.col("kind") != "bound")
        )
        met = beside(each.points, each.experiment.figure)
        rows.append(
            {
                "experiment": each.experiment.name,
                "published numbers": published.height,
                "measured in the same place": met.height,
                **agreement(met, each.experiment.figure),
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def _not_measured(experiment: Experiment) -> str:
    """Replaces the measurements while there are none, and names the remedy."""
    return (
        f"Not measured here yet: no sweep of {experiment.name} is committed, so below is only what was published. "
        f"`cargo runner sweep --experiment {experiment.name}` measures it."
    )


def _sentences(analysis: Analysis, experiment: Experiment, points: pl.DataFrame) -> list[str]:
    """Which sweep, how many trials, on which host; and what its points cannot be set against."""
    good, failed = analysis.times.height, analysis.failures.height
    found = [
        f"Sweep {analysis.sweep.path.name}: {count(good, 'good trial')}, {failed} failed, on {host(analysis)}."
    ]
    most = max(analysis.times["threads"], default=0)
    if experiment.name in PACKETS and analysis.cpus is not None and most > analysis.cpus:
        found.append(
            f"Points with more than {count(analysis.cpus, 'thread')} have more threads than CPUs: they show how the "
            "ways behave when threads crowd, and cannot be set against those of the study's 14 cores."
        )
    lacking = servers.lacking(points, experiment.figure)
    if lacking:
        found.append(
            f"Not measured yet, for the sweep is older: {'; '.join(lacking)}. "
            f"`cargo runner sweep --experiment {experiment.name}` measures that."
        )
    return found
