"""Wall times by one parameter, from synthetic trials with a known answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from made_up import Truth, write_sweep
from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.read.experiment import Experiment
from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.read.load import Sweep, read_sweep
from sweep_analysis.services import wall_times
from sweep_analysis.services.wall_time_plots import WAYS, wall_time_figures
from sweep_analysis.stats.speedup import trial_times

LOCKS = Experiment("locks-mutex-spin", "made up", "made up", "wall-by-section", frozenset())
SIZES = Experiment("async-io-size", "made up", "made up", "wall-by-bytes", frozenset())


def made_up(folder: Path, cells: list[tuple[dict[str, str], list[int]]]) -> Sweep:
    """A sweep with these parameters, and these wall times in ms, one for each trial.

    CPU time is half of it.
    """
    write_sweep(folder, Truth(branches=["master"], twin=False))
    first = json.loads((folder / "trials.jsonl").read_text().splitlines()[0])
    lines = []
    for number, (parameters, times) in enumerate(cells):
        for block, ms in enumerate(times):
            ns = ms * 1_000_000
            iteration = {"elapsed_ns": ns, "user_ns": ns // 2, "system_ns": 0, "work_units": 200}
            record: dict[str, Any] = first | {
                "trial": f"{number}-{block}",
                "cell": str(number),
                "block": block,
                "branch": "master",
                "program": "parallel",
                "threads": 1,
                "workload": "made-up",
                "parameters": parameters,
                "iterations": [iteration],
            }
            lines.append(json.dumps(record))
    (folder / "trials.jsonl").write_text("".join(line + "\n" for line in lines))
    return read_sweep(folder)


def section(
    lock: str, steps: int, contenders: int = 2, on: str = "user-threads", cpus: str = "1"
) -> dict[str, str]:
    return {
        "on": on,
        "cpus": cpus,
        "contenders": str(contenders),
        "lock": lock,
        "section-steps": str(steps),
    }


def drawn(sweep: Sweep, experiment: Experiment) -> pl.DataFrame:
    times = trial_times(sweep).collect()
    return wall_times.points(times, experiment.name, experiment.figure)


def test_a_point_is_the_mean_log_wall_time_of_a_run_and_its_cpu_time(tmp_path: Path) -> None:
    sweep = made_up(
        tmp_path / "sweep", [(section("mutex", 1000), [4, 8, 6]), (section("spin", 1000), [10])]
    )
    here = drawn(sweep, LOCKS).filter(pl.col("origin") == HERE)
    found = {
        row["way"]: (row["wall_ms"], row["cpu_ms"], row["trials"]) for row in here.rows(named=True)
    }
    assert found == {
        "mutex": pytest.approx(((4 * 8 * 6) ** (1 / 3), 3.0, 3)),
        "spin": pytest.approx((10.0, 5.0, 1)),
    }
    assert here["low"].is_null().all(), "three trials are too few for an interval"


def test_charts_differ_in_what_contends_and_panels_in_how_many(tmp_path: Path) -> None:
    cells = [
        section("mutex", 10, 10),
        section("mutex", 10, 2),
        section("mutex", 10, 2, "os-threads", "1"),
        section("mutex", 10, 2, "os-threads", "0"),
        section("mutex", 10, 2, "pool"),
    ]
    here = drawn(made_up(tmp_path / "sweep", [(cell, [1]) for cell in cells]), LOCKS).filter(
        pl.col("origin") == HERE
    )
    assert set(here["place"]) == {
        "user-level threads on one OS thread",
        "OS threads, CPUs: 1",
        "OS threads, CPUs: all",
        "jobs on a pool of 1",
    }
    assert set(here["panel"]) == {"2 contenders", "10 contenders"}


def test_what_was_printed_for_a_cell_stands_in_its_panel_and_chart(tmp_path: Path) -> None:
    frame = drawn(made_up(tmp_path / "sweep", [(section("spin", 100000, 10), [1])]), LOCKS)
    same = frame.filter(
        (pl.col("panel") == "10 contenders") & (pl.col("way") == "spin") & (pl.col("x") == 100000)
    )
    assert dict(same.select("origin", "wall_ms").rows()) == pytest.approx(
        {HERE: 1.0, PUBLISHED: 1261.71}
    )
    assert same["place"].n_unique() == 1


def test_a_backend_that_was_asked_for_is_a_line_of_its_own(tmp_path: Path) -> None:
    common = {
        "operation": "write",
        "reaches": "cache",
        "tasks": "10",
        "operations": "5",
        "bytes": "512",
    }
    ways = [
        ("synchronous", "threads"),
        ("asynchronous", "auto"),
        ("asynchronous", "threads"),
        ("pool", "auto"),
    ]
    cells = [(common | {"io": io, "backend": backend}, [1]) for io, backend in ways]
    frame = drawn(made_up(tmp_path / "sweep", cells), SIZES)
    here = frame.filter(pl.col("origin") == HERE)
    assert set(here["way"]) == {"synchronous", "asynchronous", "asynchronous, threads", "pool"}
    known = frame.filter(
        (pl.col("origin") == PUBLISHED) & (pl.col("way") == "asynchronous") & (pl.col("x") == 65536)
    )
    assert known["wall_ms"].to_list() == [28.9172]
    assert set(known["panel"]) == set(here["panel"])


def test_every_table_of_the_study_is_there_in_full_and_every_way_has_a_colour() -> None:
    tables = {
        "locks-mutex-spin": ("wall-by-section", 8),
        "locks-many-contenders": ("wall-by-section", 2),
        "async-io-size": ("wall-by-bytes", 10),
        "async-io-work": ("wall-by-compute", 10),
    }
    for name, (figure, rows) in tables.items():
        frame = wall_times.published(name, figure)
        assert frame.height == rows, name
        assert set(frame["way"]) <= set(WAYS)


def test_measured_and_published_stand_in_one_figure(tmp_path: Path) -> None:
    cells = [(section("spin", 1000), [1]), (section("spin", 10, on="os-threads"), [1])]
    figures = wall_time_figures(
        drawn(made_up(tmp_path / "sweep", cells), LOCKS), LOCKS.figure, LIGHT
    )
    assert list(figures) == ["os-threads-cpus-1", "user-level-threads-on-one-os-thread"]
    texts = {name: figure.to_json() for name, figure in figures.items()}
    assert all("measured here" in text for text in texts.values())
    assert [name for name, text in texts.items() if "published" in text] == [
        "user-level-threads-on-one-os-thread"
    ]
