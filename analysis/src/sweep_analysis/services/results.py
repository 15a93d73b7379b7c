"""One experiment of an older study: what was measured here beside what was published, or what is missing."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.read.labels import HERE, PUBLISHED, count
from sweep_analysis.read.load import Sweep
from sweep_analysis.report import notebooks
from sweep_analysis.say import tables
from sweep_analysis.say.facts import host
from sweep_analysis.say.findings import Analysis, analyse
from sweep_analysis.services import document_findings, experiments, wall_times
from sweep_analysis.services import servers as services
from sweep_analysis.services.experiment_plots import experiment_figures
from sweep_analysis.services.experiments import Experiment

PACKETS = (
    "packets-idle-lock-overhead",
    "packets-speedup-uniform",
    "packets-speedup-exponential",
    "packets-awesome",
)
"""The packet study's experiments 1 to 4, as `experiments.toml` names them."""


SAME, OTHER, UNTOLD = "the same", "another number", "cannot tell"
"""What a published number is beside the interval of what was measured in the same place."""
MOST_WIDE = 0.2
"""Widest interval of a speed-up, as a share of it, that confirms a number inside: ±10 %. A guess."""
MOST_POINTS = 5.0
"""The same for throughput lost, in percentage points: an interval from −127 to 24 holds whatever was printed."""


@dataclass(frozen=True)
class Result:
    """One experiment.

    Attributes:
        experiment: as `experiments.toml` has it.
        points: rows of `experiments.POINTS`, `wall_times.WALL_POINTS`, `services.SERVICE_POINTS` or
            `services.FORUM_POINTS`; only published ones if there is no sweep.
        cpus: CPUs of the host that measured; None if none did.
        sentences: what was measured where, or what is missing.
        sweep: what was measured; None if nothing was.
    """

    experiment: Experiment
    points: pl.DataFrame
    cpus: int | None
    sentences: list[str]
    sweep: Sweep | None = None

    def found(self) -> str:
        """What was found for an experiment of the documents, as Markdown."""
        return notebooks.bullets(document_findings.found(self.experiment.name, self.points) or ["Nothing yet."])

    def charts(self) -> list[alt.VConcatChart]:
        """Measured above published; what has one of the two alone is drawn with that one."""
        return list(experiment_figures(self.points, self.experiment, self.cpus, LIGHT).values())

    def table(self) -> str:
        """Published numbers beside what was measured in the same place, as Markdown."""
        met = beside(self.points, self.experiment.figure)
        if met.is_empty():
            return "No published number has a measured one beside it."
        return tables.markdown(tables.rounded(met))


def result_of(name: str) -> Result:
    """An experiment by the newest committed sweep of it, or by what was published alone."""
    return result(experiment_named(name), notebooks.newest_of(name))


def result(experiment: Experiment, sweep: Sweep | None) -> Result:
    """An experiment by `sweep`, or by what was published alone."""
    if sweep is None:
        return Result(experiment, _published(experiment), None, [_not_measured(experiment)])
    analysis = analyse(sweep)
    return Result(experiment, analysis.points, analysis.cpus, _sentences(analysis, experiment), sweep)


def experiment_named(name: str) -> Experiment:
    """The experiment of `experiments.toml` with that name.

    Raises:
        KeyError: there is none.
    """
    listed = tomllib.loads((notebooks.ROOT / "experiments.toml").read_text(encoding="utf-8"))["experiment"]
    row = {entry["name"]: entry for entry in listed}[name]
    ignores = frozenset(row.get("sequential-ignores", []))
    return Experiment(name, row["shows"], row["source"], row["figure"], ignores)


def beside(points: pl.DataFrame, figure: str) -> pl.DataFrame:
    """Published numbers with what was measured in the same place.

    In:  `points` of a `Result`.
    Out: one row per published number and branch measured there: columns of the place, `published`, `kind` where numbers
         were printed or derived from print, `branch`, `measured`, `low`, `high`. For a board both numbers are the
         difference from its reference in per cent, and there is no interval. Bounds have no rows, nor have numbers that
         nothing measured answers.
    """
    interval, told = ["low", "high"], list[str]()
    if figure == services.FORUM_GRID:
        # What a document calls its own and the reference are not our two implementations: only differences compare.
        place, value, interval = ["harness", "kind", "posters", "readers"], "difference_percent", []
        points = points.join(services.COMPARED.select("harness", "way"), on="way")
    elif figure in services.FIGURES:
        place, value = ["side", "panel", "way", "threads"], "value_ms"
        points = points.rename({"low_ms": "low", "high_ms": "high"})
    elif figure in wall_times.AXES:
        place, value = ["place", "panel", "way", "x"], "wall_ms"
    else:
        place, value, told = ["generator", "way", "depth", "words", "threads"], "value", ["kind"]
        points = points.filter(pl.col("kind") != "bound")
    known = points.filter(pl.col("origin") == PUBLISHED).select(*place, pl.col(value).alias("published"), *told)
    measured = points.filter(pl.col("origin") == HERE)
    return (
        known.join(measured.select(*place, "branch", pl.col(value).alias("measured"), *interval), on=place)
        .drop_nulls(["published", "measured"])
        .sort([*place, "branch"])
    )


def agreement(met: pl.DataFrame, figure: str) -> dict[str, int]:
    """How many published numbers are the same here, how many are not, and of how many that cannot be told.

    The same: inside the interval, and that is narrow enough to exclude much else (`MOST_WIDE`). In: rows of `beside`.
    """
    width = pl.col("high") - pl.col("low")
    narrow = width <= (MOST_POINTS if figure == experiments.OVERHEAD_BY_WORDS else MOST_WIDE * pl.col("measured").abs())
    inside = pl.col("published").is_between(pl.col("low"), pl.col("high"))
    told = met.select(
        pl.when(~inside).then(pl.lit(OTHER)).when(narrow).then(pl.lit(SAME)).otherwise(pl.lit(UNTOLD)).alias("told")
    )["told"]
    return {word: int((told == word).sum()) for word in (SAME, OTHER, UNTOLD)}


def summary(results: list[Result]) -> str:
    """How many published numbers of the packet study were met, an experiment a row, as Markdown."""
    rows = []
    for each in results:
        published = each.points.filter((pl.col("origin") == PUBLISHED) & (pl.col("kind") != "bound"))
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


def _published(experiment: Experiment) -> pl.DataFrame:
    """What was published for an experiment, in the form of its figure."""
    if experiment.figure in services.FIGURES:
        return services.points(None, experiment)
    if experiment.figure in wall_times.AXES:
        return wall_times.published(experiment.name, experiment.figure)
    return experiments.published(experiment.name)


def _not_measured(experiment: Experiment) -> str:
    """What stands in the place of measurements while there are none, with the remedy."""
    return (
        f"Not measured here yet: no sweep of {experiment.name} is committed, so below is only what was published. "
        f"`cargo runner sweep --experiment {experiment.name}` measures it."
    )


def _sentences(analysis: Analysis, experiment: Experiment) -> list[str]:
    """Which sweep, how many trials, on which host; and what its points cannot be set against."""
    good, failed = analysis.times.height, analysis.failures.height
    found = [f"Sweep {analysis.sweep.path.name}: {count(good, 'good trial')}, {failed} failed, on {host(analysis)}."]
    most = max(analysis.times["threads"], default=0)
    if experiment.name in PACKETS and analysis.cpus is not None and most > analysis.cpus:
        found.append(
            f"Points with more than {count(analysis.cpus, 'thread')} have more threads than CPUs: they show how the "
            "ways behave when threads crowd, and cannot be set against those of the study's 14 cores."
        )
    lacking = services.lacking(analysis.points, experiment.figure)
    if lacking:
        found.append(
            f"Not measured yet, for the sweep is older: {'; '.join(lacking)}. "
            f"`cargo runner sweep --experiment {experiment.name}` measures that."
        )
    return found
