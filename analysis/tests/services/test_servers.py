"""The figures of the services, from synthetic trials with a known answer."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from served import FORUM, KV, board, made_up, server
from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.read.experiment import Experiment
from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.read.load import Sweep
from sweep_analysis.services.experiments import beside
from sweep_analysis.services.server_plots import WAYS, service_figures
from sweep_analysis.services.servers import (
    FORUM_GRID,
    SERVICE_BY_THREADS,
    lacking,
    points,
    published,
)


def measured(sweep: Sweep, experiment: Experiment) -> pl.DataFrame:
    return points(sweep, experiment).filter(pl.col("origin") == HERE)


def test_a_point_is_the_mean_of_trials_with_the_interval_of_student(tmp_path: Path) -> None:
    trials = [(server(), {"service_mean": (ns, "ns")}) for ns in (1e6, 2e6, 3e6)]
    row = measured(made_up(tmp_path / "sweep", trials), KV).row(0, named=True)
    assert (row["side"], row["panel"], row["way"], row["trials"]) == (
        "server",
        "mean",
        "regular, reader-writer",
        3,
    )
    # 4.303 is the two-sided 95 % quantile with two degrees of freedom; the deviation is 1 ms.
    half = 4.303 / 3**0.5
    assert (row["value_ms"], row["low_ms"], row["high_ms"]) == pytest.approx(
        (2.0, 2 - half, 2 + half), rel=1e-3
    )


def test_a_single_trial_has_no_interval(tmp_path: Path) -> None:
    row = measured(made_up(tmp_path / "sweep", [(server(), {"session_min": (5e6, "ns")})]), KV).row(
        0, named=True
    )
    assert (row["side"], row["panel"], row["value_ms"], row["low_ms"]) == (
        "client",
        "min",
        5.0,
        None,
    )


def test_queues_naps_and_the_pool_are_told_apart(tmp_path: Path) -> None:
    parameters = [
        server(),
        server("lock-free"),
        server("lock-free", "sleep-250ms"),
        server("regular", "sleep-250ms"),
        server("lock-free", "sleep-250ms", "pool"),
    ]
    trials = [
        (it, {"service_post_p50": (1e6 * n, "ns")}) for n, it in enumerate(parameters, start=1)
    ]
    frame = measured(made_up(tmp_path / "sweep", trials), KV)
    found = {row["way"]: row["value_ms"] for row in frame.rows(named=True)}
    assert found == {
        "regular, reader-writer": 2.5,  # a nap means nothing to the regular queue
        "lock-free, reader-writer": 2.0,
        "lock-free sleeping 250 ms, reader-writer": 3.0,
        "pool, reader-writer": 5.0,
    }
    assert set(frame["side"]) == {"methods"}
    assert set(frame["panel"]) == {"POST"}


def test_the_longest_times_by_order_of_requests_stand_at_the_last_request_of_their_part(
    tmp_path: Path,
) -> None:
    parameters = server("lock-free", "sleep-250ms", store="global") | {
        "sessions": "20",
        "requests": "100",
        "parts": "4",
    }
    metrics = {
        f"service_part_0{part}_{end}": (1e6 * part, "ns")
        for part in (1, 2, 3, 4)
        for end in ("max", "mean")
    }
    sweep = made_up(tmp_path / "sweep", [(parameters, metrics)])
    frame = measured(sweep, KV)
    assert frame.select("side", "panel", "way").unique().rows() == [
        ("order", "4 handlers", "lock-free sleeping 250 ms, global")
    ]
    assert frame.select("request", "value_ms").rows() == [
        (500, 1.0),
        (1000, 2.0),
        (1500, 3.0),
        (2000, 4.0),
    ]
    assert "order" in service_figures(points(sweep, KV), SERVICE_BY_THREADS, LIGHT)


def test_what_an_older_sweep_lacks_is_named_and_what_a_newer_one_has_is_not(tmp_path: Path) -> None:
    old = points(made_up(tmp_path / "old", [(server(), {"service_mean": (1e6, "ns")})]), KV)
    assert lacking(old, SERVICE_BY_THREADS) == [
        "the lock-free queue with the global lock",
        "service times by order of requests",
    ]
    parameters = server("lock-free", store="global") | {
        "sessions": "1",
        "requests": "1",
        "parts": "1",
    }
    new = points(
        made_up(tmp_path / "new", [(parameters, {"service_part_01_max": (1e6, "ns")})]), KV
    )
    assert lacking(new, SERVICE_BY_THREADS) == []
    short = points(made_up(tmp_path / "short", [board("pool", 1, 1.0)]), FORUM)
    assert lacking(short, FORUM_GRID) == ["the second harness"]
    assert lacking(points(None, FORUM), FORUM_GRID) == [], (
        "that nothing was measured is said elsewhere"
    )


def test_a_board_is_compared_with_the_reference_in_the_same_place(tmp_path: Path) -> None:
    trials = [
        board("threads", 1, 100.0),
        board("pool", 1, 110.0),
        board("threads", 2, 50.0),
        board("pool", 2, 40.0),
    ]
    frame = measured(made_up(tmp_path / "sweep", trials), FORUM)
    found = {
        (row["way"], row["posters"]): row["difference_percent"] for row in frame.rows(named=True)
    }
    assert found == pytest.approx(
        {("threads", 1): None, ("pool", 1): 10.0, ("threads", 2): None, ("pool", 2): -20.0},
        nan_ok=True,
    )


def test_each_harness_has_a_reference_of_its_own(tmp_path: Path) -> None:
    trials = [
        board("threads", 1, 100.0),
        board("pool", 1, 110.0, "short-lines"),
        board("threads", 1, 50.0, "long-lines"),
        board("pool", 1, 45.0, "long-lines"),
    ]
    sweep = made_up(tmp_path / "sweep", trials)
    found = {
        row["way"]: row["difference_percent"] for row in measured(sweep, FORUM).rows(named=True)
    }
    assert found["pool"] == pytest.approx(10.0)
    assert found["pool, long lines"] == pytest.approx(-10.0)
    met = beside(points(sweep, FORUM), FORUM_GRID).select("harness", "published", "measured")
    assert met.rows() == [
        ("own", pytest.approx(1.00, abs=0.005), pytest.approx(10.0)),
        ("second", pytest.approx(-4.47, abs=0.005), pytest.approx(-10.0)),
    ]


def test_the_study_of_the_board_prints_the_differences_that_follow_from_its_averages(
    tmp_path: Path,
) -> None:
    frame = points(made_up(tmp_path / "sweep", [board("pool", 1, 1.0)]), FORUM).filter(
        pl.col("origin") == PUBLISHED
    )
    place = (pl.col("kind") == "post") & (pl.col("posters") == 1) & (pl.col("readers") == 1)
    found = {row["way"]: row["difference_percent"] for row in frame.filter(place).rows(named=True)}
    assert found["own, own harness"] == pytest.approx(1.00, abs=0.005)
    assert found["own, reference harness"] == pytest.approx(-4.47, abs=0.005)
    assert found["reference, reference harness"] is None


def test_every_table_of_the_studies_is_there_and_every_way_has_a_colour() -> None:
    kv, forum = published(KV), published(FORUM)
    assert kv.group_by("side", "way").len().sort("side", "way")["len"].to_list() == [24] * 5
    assert forum.group_by("kind", "way").len()["len"].to_list() == [10] * 9
    assert set(kv["way"]) | set(forum["way"]) <= set(WAYS)


def test_measured_and_published_stand_in_one_figure(tmp_path: Path) -> None:
    metrics = dict.fromkeys(("service_mean", "session_mean", "service_get_p50"), (1000000.0, "ns"))
    frame = points(made_up(tmp_path / "kv", [(server(), metrics)]), KV)
    figures = service_figures(frame, SERVICE_BY_THREADS, LIGHT)
    assert list(figures) == ["server", "client", "methods"]
    assert all((HERE in figure.to_json()) for figure in figures.values())
    assert PUBLISHED in figures["server"].to_json()
    forum = points(
        made_up(tmp_path / "forum", [board("pool", 1, 1.0), board("threads", 1, 1.0)]), FORUM
    )
    assert set(service_figures(forum, FORUM_GRID, LIGHT)) == {"requests", "difference"}
