"""The four experiments of the 2021 packet study: measured here beside published, or what is missing."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

import altair as alt
import polars as pl

from sweep_analysis import experiments, notebooks, tables
from sweep_analysis.experiment_plots import experiment_figures
from sweep_analysis.experiments import Experiment
from sweep_analysis.facts import host
from sweep_analysis.findings import Analysis, analyse
from sweep_analysis.labels import PUBLISHED, count
from sweep_analysis.load import Sweep
from sweep_analysis.palette import LIGHT

EXPERIMENTS = (
    "packets-idle-lock-overhead",
    "packets-speedup-uniform",
    "packets-speedup-exponential",
    "packets-awesome",
)
"""The study's experiments 1 to 4, as `experiments.toml` names them."""


@dataclass(frozen=True)
class Result:
    """One experiment.

    Attributes:
        experiment: as `experiments.toml` has it.
        points: rows of `experiments.POINTS`; only published ones if there is no sweep.
        cpus: CPUs of the host that measured; None if none did.
        sentences: what was measured where, or what is missing.
    """

    experiment: Experiment
    points: pl.DataFrame
    cpus: int | None
    sentences: list[str]

    def charts(self) -> list[alt.VConcatChart]:
        """One for each kind of sources and depth of queues, measured above published."""
        return list(experiment_figures(self.points, self.experiment, self.cpus, LIGHT).values())

    def table(self) -> str:
        """Published numbers beside what was measured in the same place, as Markdown."""
        met = experiments.beside(self.points)
        return (
            tables.markdown(tables.rounded(met)) if met.height else "No published number has a measured one beside it."
        )


def result_of(name: str) -> Result:
    """An experiment by the newest committed sweep of it, or by what was published alone."""
    return result(experiment_named(name), notebooks.newest_of(name))


def result(experiment: Experiment, sweep: Sweep | None) -> Result:
    """An experiment by `sweep`, or by what was published alone."""
    if sweep is None:
        return Result(experiment, experiments.published(experiment.name), None, [not_measured(experiment)])
    analysis = analyse(sweep)
    points = experiments.points(analysis.times, analysis.speedups, experiment)
    return Result(experiment, points, analysis.cpus, _sentences(analysis))


def not_measured(experiment: Experiment) -> str:
    """What stands in the place of measurements while there are none, with the remedy."""
    return (
        f"Not measured here yet: no sweep of {experiment.name} is committed, so below is only what was published. "
        f"`cargo runner sweep --experiment {experiment.name}` measures it."
    )


def experiment_named(name: str) -> Experiment:
    """The experiment of `experiments.toml` with that name.

    Raises:
        KeyError: there is none.
    """
    listed = tomllib.loads((notebooks.ROOT / "experiments.toml").read_text(encoding="utf-8"))["experiment"]
    row = {entry["name"]: entry for entry in listed}[name]
    ignores = frozenset(row.get("sequential-ignores", []))
    return Experiment(name, row["shows"], row["source"], row["figure"], ignores)


def summary(results: list[Result]) -> str:
    """How many published numbers were met, an experiment a row, as Markdown."""
    rows = []
    for each in results:
        published = each.points.filter((pl.col("origin") == PUBLISHED) & (pl.col("kind") != "bound"))
        met = experiments.beside(each.points)
        inside = met.filter(pl.col("published").is_between(pl.col("low"), pl.col("high")))
        rows.append(
            {
                "experiment": each.experiment.name,
                "published numbers": published.height,
                "measured in the same place": met.height,
                "published inside the interval": inside.height,
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def measured_where(analysis: Analysis) -> str:
    """Which sweep, how many trials, on which host."""
    good, failed = analysis.times.height, analysis.failures.height
    return f"Sweep {analysis.sweep.path.name}: {count(good, 'good trial')}, {failed} failed, on {host(analysis)}."


def _sentences(analysis: Analysis) -> list[str]:
    found = [measured_where(analysis)]
    most = max(analysis.times["threads"], default=0)
    if analysis.cpus is not None and most > analysis.cpus:
        found.append(
            f"Points with more than {count(analysis.cpus, 'thread')} have more threads than CPUs: they show how the "
            "ways behave when threads crowd, and cannot be set against those of the study's 14 cores."
        )
    return found
