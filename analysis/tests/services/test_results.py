"""Experiments of older studies.

Without a sweep what is missing is said, with one it stands beside the published.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from served import FORUM, KV, board, made_up, server
from sweep_analysis.read.experiment import experiment_named
from sweep_analysis.read.labels import HERE
from sweep_analysis.services import packets
from sweep_analysis.services.experiments import beside
from sweep_analysis.services.results import PACKETS, Result, agreement, result, result_of, summary
from sweep_analysis.services.servers import costs_by_branch, points

NAMES = [
    *PACKETS,
    "kv-queues",
    "forum-grid",
    "locks-mutex-spin",
    "locks-many-contenders",
    "async-io-size",
    "async-io-work",
]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_without_a_sweep_says_so_and_draws_what_was_published(name: str) -> None:
    found = result(experiment_named(name), None)
    assert found.sentences[0].startswith(f"Not measured here yet: no sweep of {name} is committed")
    assert f"cargo runner sweep --experiment {name}" in found.sentences[0]
    assert found.charts()
    assert found.table() == "No published number has a measured one beside it."


def test_a_printed_time_stands_beside_the_one_measured_with_the_same_queue_and_threads(
    tmp_path: Path,
) -> None:
    sweep = made_up(tmp_path / "sweep", [(server(), {"service_p50": (2e6, "ns")})])
    row = beside(points(sweep, KV), KV.figure).row(0, named=True)
    assert (row["side"], row["panel"], row["way"], row["threads"]) == (
        "server",
        "median",
        "regular, reader-writer",
        4,
    )
    known = points(None, KV).filter(
        (pl.col("side") == "server")
        & (pl.col("panel") == "median")
        & (pl.col("way") == "regular, reader-writer")
        & (pl.col("threads") == 4)
    )
    assert (row["published"], row["measured"]) == (known["value_ms"].item(), 2.0)


def test_of_a_board_only_differences_from_the_reference_are_set_side_by_side(
    tmp_path: Path,
) -> None:
    sweep = made_up(tmp_path / "sweep", [board("pool", 2, 150.0), board("threads", 2, 100.0)])
    met = beside(points(sweep, FORUM), FORUM.figure)
    assert met["measured"].to_list() == pytest.approx([50.0] * met.height)
    assert met.height


def test_costs_of_a_service_are_medians_over_trials_in_microseconds(tmp_path: Path) -> None:
    trials = [(server(), {"server_cpu_per_request": (ns, "ns/request")}) for ns in (1e3, 5e3, 3e3)]
    row = costs_by_branch(made_up(tmp_path / "sweep", trials)).row(0, named=True)
    assert (row["quantity"], row["trials"]) == ("server CPU per request", 3)
    assert (row["median"], row["least"], row["most"]) == (3.0, 1.0, 5.0)


def test_published_numbers_meet_what_was_measured_in_the_same_place() -> None:
    experiment = experiment_named("packets-speedup-uniform")
    known = packets.published(experiment.name)
    place = known.filter(pl.col("kind") == "printed").head(2)
    measured = place.with_columns(
        pl.lit(HERE).alias("origin"),
        pl.lit("master").alias("branch"),
        pl.lit("measured").alias("kind"),
        (pl.col("value") * pl.Series([1.0, 2.0])).alias("value"),
    ).with_columns((pl.col("value") * 0.95).alias("low"), (pl.col("value") * 1.05).alias("high"))
    found = Result(experiment, pl.concat([known, measured.cast(packets.POINTS)]), 2, [])
    assert beside(found.points, experiment.figure).height == 2
    assert summary([found]).splitlines()[2] == f"| {experiment.name} | 13 | 2 | 1 | 1 | 0 |"


def test_a_number_inside_an_interval_that_holds_anything_is_no_agreement() -> None:
    measured = {"measured": 8.92, "low": -126.8, "high": 23.8}
    met = pl.DataFrame([{"published": -7.9} | measured, {"published": 24.0} | measured])
    told = agreement(met, packets.OVERHEAD_BY_WORDS)
    assert told == {"the same": 0, "another number": 1, "cannot tell": 1}
    narrow = pl.DataFrame([{"published": 2.0, "measured": 1.0, "low": -1.0, "high": 3.0}])
    assert agreement(narrow, packets.OVERHEAD_BY_WORDS)["the same"] == 1


def test_times_at_a_single_value_are_bars_and_no_curve_of_one_point() -> None:
    charts = result(experiment_named("locks-many-contenders"), None).charts()
    assert [layer["mark"]["type"] for layer in charts[0].to_dict()["vconcat"][0]["layer"]] == [
        "bar",
        "rule",
    ]


def test_each_lock_has_a_panel_with_what_was_measured_and_what_was_published() -> None:
    """Intervals of several locks in one panel stand on each other.

    Two published points fill no panel of their own.
    """
    (first, *_) = result_of("packets-idle-lock-overhead").charts()
    rows = first.to_dict()["vconcat"]
    assert len(rows) == 1
    heads = [panel["title"]["text"] for panel in rows[0]["hconcat"]]
    assert heads == [
        f"home-queue, {lock}, one worker" for lock in ("tas", "mutex", "mcs", "anderson")
    ]
