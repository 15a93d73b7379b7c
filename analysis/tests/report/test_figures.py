"""Every figure with data is drawn; other tests cover the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.draw import svg
from sweep_analysis.draw.figure import LISTED, Figure
from sweep_analysis.draw.palette import LIGHT
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report import figures
from sweep_analysis.say.cautions import cautions
from sweep_analysis.stats.analysis import FRAMES, Analysis, analyse
from sweep_analysis.stats.compare import in_quantity
from sweep_analysis.stats.speedup import speedups


@pytest.fixture(scope="module")
def ordinary(ordinary_sweep: Path) -> Analysis:
    return analyse(read_sweep(ordinary_sweep))


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    truth = synthetic.Truth(
        branches=["master", "packed"],
        workloads={"ticks": 0.1},
        threads=[1, 2, 4, 8, 16],
        cpus=16,
        modes={"dynamic": {1: 3.5, 2: 3.4, 4: 3.3, 8: 3.2, 16: 3.0}},
        waits_ns={
            "packed": {"latency_p50": 1000.0, "latency_max": 9000.0},
            "master": {"latency_p50": 0.0},
        },
    )
    folder = synthetic.write_sweep(tmp_path_factory.mktemp("rich") / "sweep", truth)
    return {figure.name: figure for figure in figures.figures(analyse(read_sweep(folder)))}


@dataclass
class Recording:
    """An analysis that records the names of the frames that a figure uses."""

    analysis: Analysis
    asked: set[str] = field(default_factory=set)

    def __getattr__(self, attribute: str) -> object:
        frame = "compared" if attribute.endswith("comparisons") else attribute
        self.asked |= {name for name, compute in FRAMES.items() if compute.__name__ == frame}
        return getattr(self.analysis, attribute)


@pytest.mark.parametrize("name", LISTED)
def test_a_figure_needs_the_frames_that_it_declares_and_no_others(
    ordinary: Analysis, name: str
) -> None:
    recording = Recording(ordinary)
    figure = LISTED[name](recording, figures.chart_style(ordinary, LIGHT))  # type: ignore[arg-type]
    if figure.missing is None:
        figure.charts()
    assert recording.asked <= set(figure.needs)
    assert figure.missing is not None or recording.asked == set(figure.needs)


@pytest.mark.parametrize("name", ["gains", "latency", "frequency", "drift", "speedup"])
def test_a_figure_with_data_is_drawn(rich: dict[str, Figure], name: str) -> None:
    assert rich[name].missing is None
    for chart in rich[name].charts().values():
        assert svg.draw(chart).startswith("<svg")


def test_programs_that_wait_by_design_do_not_make_a_host_busy() -> None:
    waits = {"master": {"latency_p50": 1000.0}, "packed": {"latency_p50": 1000.0}}
    for told, is_busy in ((waits, False), ({}, True)):
        truth = synthetic.Truth(
            branches=["master", "packed"],
            workloads={"ticks": 0.1},
            threads=[1, 2],
            cpu_share=0.3,
            waits_ns=told,
        )
        found = cautions(analyse(synthetic.swept(truth)))
        assert any("busy with other work" in text for text in found) == is_busy


def test_in_cycles_a_falling_clock_bends_no_curve() -> None:
    modes = {"fixed": {1: 2.0, 8: 2.0}, "dynamic": {1: 3.6, 8: 2.4}}
    truth = synthetic.Truth(
        branches=["master"],
        workloads={"tsp": 0.05},
        threads=[1, 8],
        cpus=8,
        modes=modes,
        block_noise=0,
    )
    times = analyse(synthetic.swept(truth)).times.lazy()

    def ratio(frame: object) -> float:
        found = speedups(frame, "master").filter(definition="own", branch="master", threads=8)  # type: ignore[arg-type]
        values = dict(found.select("mode", "speedup").rows())
        return float(values["dynamic"] / values["fixed"])

    assert ratio(times) == pytest.approx(2.4 / 3.6, rel=0.03)
    assert ratio(in_quantity(times, "cycles")) == pytest.approx(1, rel=0.03)


def test_a_hollow_point_has_one_meaning(rich: dict[str, Figure]) -> None:
    told = [
        sentence
        for figure in rich.values()
        for sentence in figure.about.split(". ")
        if "hollow" in sentence
    ]
    assert told
    assert all("a hollow one is inconclusive against the baseline" in sentence for sentence in told)
