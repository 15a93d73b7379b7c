"""The packet study: without a sweep what is missing is said, with one its numbers stand beside the published."""

from __future__ import annotations

import polars as pl
import pytest

from sweep_analysis import experiments, packets
from sweep_analysis.labels import HERE


@pytest.mark.parametrize("name", packets.EXPERIMENTS)
def test_an_experiment_without_a_sweep_says_so_and_shows_what_was_published(name: str) -> None:
    found = packets.result(packets.experiment_named(name), None)
    assert found.sentences[0].startswith(f"Not measured here yet: no sweep of {name} is committed")
    assert f"cargo runner sweep --experiment {name}" in found.sentences[0]
    assert found.charts()
    assert found.table() == "No published number has a measured one beside it."


def test_published_numbers_meet_what_was_measured_in_the_same_place() -> None:
    experiment = packets.experiment_named("packets-speedup-uniform")
    known = experiments.published(experiment.name)
    place = known.filter(pl.col("kind") == "printed").head(2)
    measured = place.with_columns(
        pl.lit(HERE).alias("origin"),
        pl.lit("master").alias("branch"),
        pl.lit("measured").alias("kind"),
        (pl.col("value") * pl.Series([1.0, 2.0])).alias("value"),
    ).with_columns((pl.col("value") * 0.9).alias("low"), (pl.col("value") * 1.1).alias("high"))
    found = packets.Result(experiment, pl.concat([known, measured.cast(experiments.POINTS)]), 2, [])
    assert experiments.beside(found.points).height == 2
    assert packets.summary([found]).splitlines()[2] == f"| {experiment.name} | 13 | 2 | 1 |"
