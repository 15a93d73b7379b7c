"""Each figure and page of a simulated sweep names the simulated machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.__main__ import main
from sweep_analysis.draw import svg
from sweep_analysis.draw.figure import Figure
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.figures import figures
from sweep_analysis.report.page import render_page
from sweep_analysis.say.cautions import cautions, voids
from sweep_analysis.say.recommendation import recommendation
from sweep_analysis.stats.analysis import Analysis, analyse

LABEL = "simulated: synthetic-64"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    waits = [
        {
            "at": "rayon-fork/src/a.rs:1:1",
            "written_at": "src/b.rs:2:2",
            "transfers": 30,
            "waited_ns": 3000,
        }
    ]
    truth = synthetic.Truth(
        branches=["packed", "split-counters"],
        workloads={"tsp": 0.1, "quicksort": 0.3},
        threads=[1, 2, 4, 8, 64],
        cpus=64,
        trials=5,
        cpu_share=0.3,
        drift=0.5,
        machine="synthetic-64",
        spent={"work": 0.4, "jobs": 0.1, "search": 0.1, "lines": 0.2, "system": 0.1, "asleep": 0.1},
        waits={"packed": waits, "split-counters": waits, "packed-again": waits},
    )
    return synthetic.write_sweep(
        tmp_path_factory.mktemp("simulated") / "2026-01-01-synthetic-64", truth
    )


@pytest.fixture(scope="module")
def analysis(folder: Path) -> Analysis:
    return analyse(read_sweep(folder))


@pytest.fixture(scope="module")
def drawn(analysis: Analysis) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(analysis)}


def test_every_chart_says_what_it_is_of(drawn: dict[str, Figure]) -> None:
    for figure in drawn.values():
        for chart in figure.charts().values() if figure.missing is None else ():
            assert LABEL in svg.draw(chart), figure.name


def test_where_the_time_went_and_which_lines_waited_are_shown(drawn: dict[str, Figure]) -> None:
    picture = svg.draw(drawn["spent"].charts()["spent"])
    assert all(
        word in picture for word in ("push and pop", "waiting for lines", "asleep", "64 threads")
    )
    (table,) = drawn["line-waits"].numbers.values()
    assert set(table["source line"]) == {"a.rs:1:1"}
    assert set(table["threads"]) == {64}
    assert "packed-again" not in table["branch"]


def test_no_text_speaks_of_more_threads_than_cpus(drawn: dict[str, Figure]) -> None:
    assert "shaded" not in drawn["speedup"].about


def test_the_page_speaks_of_seeds_and_of_no_builds(
    analysis: Analysis, drawn: dict[str, Figure]
) -> None:
    page = render_page(analysis, [*drawn.values()])
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert not re.search(r"\blayouts?\b|\bbuilds?\b|link order", text)
    assert "seeds" in text
    assert page.count(LABEL) > len(drawn)


def test_what_a_host_does_is_no_caution_of_a_simulated_sweep(analysis: Analysis) -> None:
    assert voids(analysis.sweep) == []
    (told,) = cautions(analysis)
    assert "machines/synthetic-64.toml" in told
    assert "no difference under 10 % is significant" in told


def test_the_evidence_speaks_of_no_builds(analysis: Analysis) -> None:
    assert "build" not in " ".join(recommendation(analysis.decisions).evidence)


def test_the_results_of_decisions_begin_with_their_label(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(folder)]) == 0
    _table, decisions = capsys.readouterr().out.split(f"\n{LABEL}.\n")
    assert decisions
