"""The figures of the packet study, from synthetic trials with a known answer."""

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
from sweep_analysis.report.figures import figures
from sweep_analysis.report.page import render_page
from sweep_analysis.services import packets
from sweep_analysis.services.packet_plots import WAYS, packet_figures
from sweep_analysis.services.packets import answers, points, published
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.speedup import speedups, trial_times

IGNORED = ["depth", "lock", "strategy"]


def experiment(figure: str) -> Experiment:
    return Experiment("packets-speedup-uniform", "made up", "made up", figure, frozenset(IGNORED))


def made_up(folder: Path, cells: list[dict[str, Any]]) -> Sweep:
    """A sweep with a trial for each of `cells`.

    A cell has fields that replace synthetic ones of the record, and `ns` for its time.
    """
    write_sweep(folder, Truth(branches=["master"], twin=False))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["asked"]["experiment"] = {
        "name": "packets-speedup-uniform",
        "shows": "made up",
        "source": "made up",
        "figure": packets.SPEEDUP_BY_WORDS,
        "sequential_ignores": IGNORED,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    first = json.loads((folder / "trials.jsonl").read_text().splitlines()[0])
    lines = []
    for number, cell in enumerate(cells):
        iteration = {
            "elapsed_ns": cell.get("ns", 1000),
            "user_ns": 1,
            "system_ns": 0,
            "work_units": 10,
        }
        record = first | {
            "trial": str(number),
            "cell": str(number),
            "block": number,
            "branch": "master",
        }
        record |= {"workload": "packets", "iterations": [iteration], "work_unit": "packets"}
        lines.append(
            json.dumps(record | {name: value for name, value in cell.items() if name != "ns"})
        )
    (folder / "trials.jsonl").write_text("".join(line + "\n" for line in lines))
    return read_sweep(folder)


def parameters(strategy: str, words: int, lock: str = "mutex", depth: int = 32) -> dict[str, str]:
    return {
        "strategy": strategy,
        "lock": lock,
        "words": str(words),
        "depth": str(depth),
        "generator": "uniform",
    }


def sequential(words: int, ns: int) -> dict[str, Any]:
    return {
        "program": "sequential",
        "threads": 1,
        "parameters": parameters("lock-free", words),
        "ns": ns,
    }


def pool(strategy: str, words: int, ns: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    place = {name: more.pop(name) for name in ("lock", "depth") if name in more}
    cell = {
        "program": "parallel",
        "threads": 3,
        "parameters": parameters(strategy, words, **place),
        "ns": ns,
    }
    return cell | more


def drawn(sweep: Sweep, figure: str) -> pl.DataFrame:
    times = trial_times(sweep).collect()
    known = speedups(times.lazy(), "master", frozenset(IGNORED))
    return points(times, known, experiment(figure))


def test_the_sequential_program_with_the_same_words_is_the_reference_of_every_way(
    tmp_path: Path,
) -> None:
    cells = [
        sequential(1000, 8000),
        sequential(2000, 16000),
        pool("lock-free", 1000, 4000),
        pool("home-queue", 1000, 8000, lock="mcs"),
        pool("lock-free", 2000, 4000, depth=8),
    ]
    here = drawn(made_up(tmp_path / "sweep", cells), packets.SPEEDUP_BY_WORDS).filter(
        pl.col("origin") == HERE
    )
    found = {
        (row["way"], row["words"], row["depth"]): row["value"] for row in here.rows(named=True)
    }
    assert found == pytest.approx(
        {
            ("lock-free", 1000, 32): 2.0,
            ("home-queue, mcs", 1000, 32): 1.0,
            ("lock-free", 2000, 8): 4.0,
        }
    )


def test_overhead_is_the_share_of_throughput_that_a_lock_takes(tmp_path: Path) -> None:
    cells = [
        pool("lock-free", 25, 900),
        pool("home-queue", 25, 1000),
        pool("lock-free", 50, 2000),
        pool("home-queue", 50, 1600, lock="tas"),
        pool("home-queue", 100, 1600),  # without its reference
    ]
    frame = drawn(made_up(tmp_path / "sweep", cells), packets.OVERHEAD_BY_WORDS)
    here = frame.filter(pl.col("origin") == HERE)
    found = {(row["way"], row["words"]): row["value"] for row in here.rows(named=True)}
    assert found == pytest.approx({("home-queue, mutex", 25): 10.0, ("home-queue, tas", 50): -25.0})


def test_answers_are_compared_with_the_sequential_program_of_the_same_instance(
    tmp_path: Path,
) -> None:
    cells = [
        sequential(1000, 1) | {"answer": "five"},
        sequential(2000, 1) | {"answer": "six"},
        pool("pool", 1000, 1, answer="five"),
        pool("pool", 2000, 1, answer="five"),
        pool("awesome", 2000, 1, answer="six", lock="tas"),
        pool("awesome", 3000, 1, answer="six", lock="tas"),  # nothing to compare with
    ]
    frame = answers(made_up(tmp_path / "sweep", cells), experiment(packets.ANSWERS))
    found = {row["parameters"]: (row["agreeing"], row["trials"]) for row in frame.rows(named=True)}
    assert found == {
        "lock=mutex strategy=pool words=1000": (1, 1),
        "lock=mutex strategy=pool words=2000": (0, 1),
        "lock=tas strategy=awesome words=2000": (1, 1),
        "lock=tas strategy=awesome words=3000": (0, 1),
    }


def test_published_figures_are_known_for_the_experiments_of_the_study() -> None:
    uniform = published("packets-speedup-uniform")
    printed = uniform.filter((pl.col("words") == 8000) & (pl.col("threads") == 14))
    assert printed["value"].to_list() == [12.50104]
    assert published("packets-awesome")["way"].n_unique() == 2
    assert published("packets-idle-lock-overhead").height > 0
    assert published("packets-correctness").is_empty()
    assert set(uniform["origin"]) == {PUBLISHED}


def test_every_published_way_has_a_colour() -> None:
    names = [
        "packets-speedup-uniform",
        "packets-speedup-exponential",
        "packets-awesome",
        "packets-idle-lock-overhead",
    ]
    frame = pl.concat([published(name) for name in names]).filter(pl.col("kind") != "bound")
    assert set(frame["way"]) <= set(WAYS)


def test_measured_and_published_stand_in_one_figure_for_each_depth(tmp_path: Path) -> None:
    cells = [
        sequential(8000, 8000),
        pool("lock-free", 8000, 4000),
        pool("lock-free", 8000, 4000, depth=8),
    ]
    frame = drawn(made_up(tmp_path / "sweep", cells), packets.SPEEDUP_BY_WORDS)
    figures = packet_figures(frame, experiment(packets.SPEEDUP_BY_WORDS), 2, LIGHT)
    assert list(figures) == ["uniform-depth-8", "uniform-depth-32"]
    for figure in figures.values():
        text = figure.to_json()
        assert "measured here" in text
        assert "published" in text


def test_the_page_does_not_repeat_the_title_of_an_experiments_chart_as_a_slug(
    tmp_path: Path,
) -> None:
    cells = [sequential(8000, 8000), pool("lock-free", 8000, 4000)]
    analysis = analyse(made_up(tmp_path / "sweep", cells))
    page = render_page(analysis, figures(analysis))
    assert "uniform sources, queues of 32: measured here" in page
    assert "<figcaption>uniform-depth-32" not in page
