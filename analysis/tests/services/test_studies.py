"""Tests the experiments of older studies on synthetic trials with a known answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.read.load import Sweep, read_sweep
from sweep_analysis.read.request import experiment_named
from sweep_analysis.read.written import Experiment
from sweep_analysis.services.plot import charts
from sweep_analysis.services.points import orders, points, published
from sweep_analysis.services.results import STUDIES, costs, overview, result
from sweep_analysis.stats.analysis import analyse
from synthetic import Truth, write_sweep

IGNORED = ["depth", "lock", "strategy"]
OWN, REFERENCE = "own (here: the pool)", "reference (here: a thread for each client)"


def synthetic(
    folder: Path, trials: list[dict[str, Any]], figure: str, name: str = "synthetic"
) -> Sweep:
    """A sweep of an experiment, with a trial for each of `trials`.

    A trial has fields that replace those of a synthetic record, and `ns` for its time.
    """
    write_sweep(folder, Truth(branches=["master"], twin=False))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["asked"]["experiment"] = {
        "name": name,
        "shows": "synthetic",
        "source": "synthetic",
        "figure": figure,
        "sequential_ignores": IGNORED,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    first = json.loads((folder / "trials.jsonl").read_text().splitlines()[0])
    lines = []
    for number, fields in enumerate(trials):
        trial = dict(fields)
        iteration = {"elapsed_ns": trial.pop("ns", 1000), "user_ns": 1, "system_ns": 0}
        metrics = {
            metric: {"value": value, "unit": "synthetic"}
            for metric, value in trial.pop("metrics", {}).items()
        }
        record = first | {"trial": str(number), "cell": str(number), "block": number}
        record |= {"branch": "master", "iterations": [iteration | {"work_units": 10}]}
        lines.append(json.dumps(record | {"metrics": metrics} | trial))
    (folder / "trials.jsonl").write_text("".join(line + "\n" for line in lines))
    return read_sweep(folder)


def measured(sweep: Sweep) -> pl.DataFrame:
    analysis = analyse(sweep)
    assert analysis.experiment is not None
    return points(analysis, analysis.experiment).filter(origin=HERE)


def packets(strategy: str, words: int, ns: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    parameters = {"strategy": strategy, "words": str(words), "generator": "uniform"}
    parameters |= {
        name: more.pop(name, default) for name, default in (("lock", "mutex"), ("depth", "32"))
    }
    cell = {"workload": "packets", "program": "parallel", "threads": 3, "ns": ns}
    return cell | {"parameters": parameters} | more


def sequential(words: int, ns: int) -> dict[str, Any]:
    return packets("lock-free", words, ns, program="sequential", threads=1)


def server(metrics: dict[str, float], **more: str) -> dict[str, Any]:
    plain = {"handlers": "threads", "queue": "regular", "empty": "wait", "store": "global"}
    return {
        "program": "parallel",
        "threads": 4,
        "parameters": plain | more,
        "metrics": metrics,
    }


def test_the_sequential_program_with_the_same_words_is_the_reference_of_every_way(
    tmp_path: Path,
) -> None:
    trials = [
        sequential(1000, 8000),
        sequential(2000, 16000),
        packets("lock-free", 1000, 4000),
        packets("home-queue", 1000, 8000, lock="mcs"),
        packets("lock-free", 2000, 4000, depth="8"),
    ]
    rows = measured(synthetic(tmp_path / "sweep", trials, "speedup-by-words"))
    found = {
        (row["way"], row["panel"], row["place"][-2:]): row["value"] for row in rows.rows(named=True)
    }
    assert found == pytest.approx(
        {
            ("lock-free", "W = 1000", "32"): 2.0,
            ("home-queue, mcs", "W = 1000", "32"): 1.0,
            ("lock-free", "W = 2000", " 8"): 4.0,
        }
    )
    assert set(rows["x"]) == {"3"}


def test_overhead_is_the_share_of_throughput_that_a_lock_takes(tmp_path: Path) -> None:
    trials = [
        packets("lock-free", 25, 900),
        packets("home-queue", 25, 1000),
        packets("lock-free", 50, 2000),
        packets("home-queue", 50, 1600, lock="tas"),
        packets("home-queue", 100, 1600),  # has no reference at 100 words
    ]
    rows = measured(synthetic(tmp_path / "sweep", trials, "overhead-by-words"))
    found = {(row["way"], row["x"]): row["value"] for row in rows.rows(named=True)}
    assert found == pytest.approx(
        {("home-queue, mutex", "25"): 10.0, ("home-queue, tas", "50"): -25.0}
    )


def test_wall_times_are_named_by_where_threads_run_and_how_they_transfer(tmp_path: Path) -> None:
    lock = {"contenders": "2", "lock": "spin", "section-steps": "100", "cpus": "0"}
    trials = [
        {"program": "parallel", "ns": 2_000_000, "parameters": lock | {"on": "os-threads"}},
        {"program": "parallel", "ns": 3_000_000, "parameters": lock | {"on": "user-threads"}},
    ]
    columns = ["place", "panel", "way", "x", "value"]
    rows = measured(synthetic(tmp_path / "locks", trials, "wall-by-section")).select(columns).rows()
    panel = ("2 contenders", "spin", "100")
    assert rows == [
        ("OS threads, CPUs: all", *panel, pytest.approx(2.0)),
        ("user-level threads on one OS thread", *panel, pytest.approx(3.0)),
    ]
    file = {
        "operation": "read",
        "reaches": "disk",
        "tasks": "10",
        "operations": "5",
        "bytes": "512",
    }
    transfer = file | {"io": "asynchronous", "backend": "threads"}
    trials = [{"program": "parallel", "parameters": transfer}]
    (row,) = (
        measured(synthetic(tmp_path / "io", trials, "wall-by-bytes")).select(columns[:4]).rows()
    )
    assert row == (
        "reads from the disk",
        "10 tasks, 5 transfers each",
        "asynchronous, threads",
        "512",
    )


def test_a_time_of_a_server_is_the_mean_of_trials_with_the_interval_of_student(
    tmp_path: Path,
) -> None:
    trials = [server({"service_mean": ns}) for ns in (1e6, 2e6, 3e6)]
    trials.append(server({"session_min": 5e6}, queue="lock-free", empty="sleep-250ms"))
    rows = measured(synthetic(tmp_path / "sweep", trials, "service-by-threads"))
    # 4.303 is the two-sided 95 % quantile with two degrees of freedom; the deviation is 1 ms.
    half = 4.303 / 3**0.5
    row = rows.row(by_predicate=pl.col("trials") == 3, named=True)
    assert (row["way"], row["panel"], row["x"]) == ("regular, global", "mean", "4")
    assert (row["value"], row["low"], row["high"]) == pytest.approx(
        (2, 2 - half, 2 + half), rel=1e-3
    )
    napping = rows.filter(way="lock-free sleeping 250 ms, global").select(
        "panel", "x", "value", "low"
    )
    assert napping.rows() == [("min", "4", 5.0, None)]


def test_two_ways_agree_with_a_study_where_the_same_one_is_quicker_and_intervals_are_apart() -> (
    None
):
    def rows(origin: str, mutex: float, spin: float, half: float | None) -> list[dict[str, Any]]:
        place = {"origin": origin, "place": "a", "panel": "b", "x": "10"}
        return [
            place
            | {
                "way": way,
                "value": value,
                "low": half and value - half,
                "high": half and value + half,
            }
            for way, value in (("mutex", mutex), ("spin", spin))
        ]

    known = rows(PUBLISHED, 1.0, 2.0, None)
    for here, expected in (
        (rows(HERE, 5.0, 6.0, 0.1), (1, 0, 0)),
        (rows(HERE, 5.0, 4.0, 0.1), (0, 1, 0)),
        (rows(HERE, 5.0, 6.0, 1.0), (0, 0, 1)),
    ):
        assert orders(pl.DataFrame(known + here)) == expected


def test_every_table_of_the_studies_is_there() -> None:
    found = {name: published(name).height for name in STUDIES}
    assert found == {
        "packets-idle-lock-overhead": 5,
        "packets-speedup-uniform": 14,
        "packets-speedup-exponential": 8,
        "packets-awesome": 21,
        "kv-queues": 120,
        "forum-grid": 120,
        "locks-mutex-spin": 8,
        "locks-many-contenders": 2,
        "locks-beyond-quantum": 0,
        "async-io-size": 10,
        "async-io-work": 10,
    }
    uniform = published("packets-speedup-uniform")
    assert uniform.filter(panel="W = 8000", x="14")["value"].to_list() == [12.50104]
    board = published("forum-grid").group_by("place", "panel", "way").len()
    assert set(board["way"]) == {OWN, REFERENCE}
    assert board["len"].to_list() == [10] * 12


def test_costs_are_medians_over_trials_by_the_parameters_that_vary(tmp_path: Path) -> None:
    trials = [
        server({"server_cpu_per_request": ns, "latency_p50": 2e3}, load=load)
        for load in ("open", "closed")
        for ns in (1e3, 5e3, 3e3)
    ]
    rows = costs(synthetic(tmp_path / "sweep", trials, "speedup-by-branch"))
    columns = ["parameters", "server CPU, ns", "median latency, ns"]
    assert rows.select(columns).rows() == [
        (f"load={load}", 3000.0, 2000.0) for load in ("closed", "open")
    ]


def test_a_sweep_that_is_no_experiment_of_a_study_has_no_points() -> None:
    plain = Experiment("services", "synthetic", "synthetic", "speedup-by-branch", frozenset())
    assert points(None, plain).is_empty()


@pytest.mark.parametrize("name", sorted(set(STUDIES) - {"locks-beyond-quantum"}))
def test_an_experiment_without_a_sweep_says_so_and_draws_what_was_published(name: str) -> None:
    found = result(experiment_named(name), None)
    assert found.summary.startswith(f"Not measured yet: no sweep of {name} is committed")
    assert f"cargo runner sweep --experiment {name}" in found.summary
    assert found.charts()
    assert found.table() == "No published number has a measured counterpart."
    assert "| not measured yet |" in overview([found])


def test_a_chart_has_a_row_for_each_origin_and_a_column_for_each_panel_in_order() -> None:
    known = published("packets-speedup-uniform").filter(place="uniform sources, queues of 32")
    here = known.with_columns(pl.lit(HERE).alias("origin"), pl.lit("measured").alias("kind"))
    drawn = charts(pl.concat([here, known]), "speedup-by-words")
    rows = drawn["uniform sources, queues of 32"].to_dict()["vconcat"]
    columns = [row["facet"]["column"] for row in rows]
    assert [column["title"] for column in columns] == [HERE, PUBLISHED]
    assert columns[0]["sort"] == ["W = 1000", "W = 2000", "W = 4000", "W = 8000"]
