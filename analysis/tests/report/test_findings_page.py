"""FINDINGS as one page: it stands alone, and its charts show what the frames hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import made_up
from sweep_analysis.__main__ import main
from sweep_analysis.draw.palette import pairs
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import with_panel
from sweep_analysis.read.load import CHECKOUT, read_sweep
from sweep_analysis.report import findings_page
from sweep_analysis.report.findings_page import FINDINGS, render_findings
from sweep_analysis.report.folds import folded
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.simulated import SPENT_ON
from sweep_analysis.stats.thread_times import thread_times

Render = Callable[[str], str]
LARGEST = 1_500_000
"""Bytes that nobody waits for on a phone."""
FIRST, SECOND = "2026-01-01T000000Z", "2026-01-02T000000Z"
SHARES = {"work": 0.4, "jobs": 0.1, "search": 0.1, "lines": 0.2, "system": 0.05, "asleep": 0.15}


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the committed document, as the command line writes it."""
    folder = tmp_path_factory.mktemp("findings")
    assert main(["findings", "--output", str(folder)]) == 0
    return (folder / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    """Two simulated sweeps by the time that they were begun at."""
    truth = made_up.Truth(
        branches=["packed", "split-counters"], workloads={"tsp": 0.1, "idle": 0.9}, threads=[1, 4], cpus=64
    )
    truth.machine, truth.spent = "made-up-64", SHARES
    folder = tmp_path_factory.mktemp("sweeps")
    return {
        name: analyse(read_sweep(made_up.write_sweep(folder / f"{name}-made-up", truth))) for name in (FIRST, SECOND)
    }


@pytest.fixture
def render(tmp_path: Path, sweeps: dict[str, Analysis], monkeypatch: pytest.MonkeyPatch) -> Render:
    """Renders a document whose statements are of the made-up sweeps."""
    monkeypatch.setattr(findings_page, "analysis_of", sweeps.__getitem__)

    def rendered(text: str) -> str:
        file = tmp_path / "FINDINGS.md"
        file.write_text(text, encoding="utf-8")
        return render_findings(file)

    return rendered


TABLE = "| workload | 1 |\n| --- | ---: |\n| tsp | 7 |\n"


def by_threads(words: str, table: str = TABLE) -> str:
    return f"<!-- analysis: by-threads {words} -->\nTimes:\n\n{table}<!-- /analysis -->\n"


def charts(page: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', page)]


def test_every_link_inside_leads_to_a_heading(committed: str) -> None:
    links = set(re.findall(r'href="#([^"]+)"', committed))
    assert len(links) > 10
    assert links <= set(re.findall(r' id="([^"]+)"', committed))


def test_no_comment_is_left(committed: str) -> None:
    assert "<!--" not in committed


def test_nothing_is_asked_of_the_network_or_of_other_files(committed: str) -> None:
    assert re.findall(r'(?:\bsrc|srcset)="(?!data:)', committed) == []
    assert re.findall(r"<link|@import|url\((?!#)", committed) == []
    assert re.findall(r'href="(?!#|https?:)[^"]*"', committed) == []


def test_the_page_is_small(committed: str) -> None:
    assert len(committed.encode()) < LARGEST


def test_pictures_have_the_colours_of_both_themes(committed: str) -> None:
    pictures = re.findall(r'<svg role="img".*?</svg>', committed, re.DOTALL)
    assert pictures
    assert all("var(--c" in picture for picture in pictures)
    assert [colour for colour in pairs() for picture in pictures if colour in picture] == []
    assert all(colour in committed for pair in pairs().items() for colour in pair)


def test_a_chart_has_the_times_of_the_frame(render: Render, sweeps: dict[str, Analysis]) -> None:
    (chart,) = charts(render(f"# Title\n\n{by_threads(f'{FIRST} time packed')}{by_threads(f'{FIRST} cpu packed')}"))
    (machine,) = chart["machines"]
    frame = with_panel(thread_times(sweeps[FIRST].times.lazy()))
    for quantity, column in (("time", "time_us"), ("cpu", "cpu_us")):
        for branch in ("packed", "split-counters"):
            rows = frame.filter(workload="tsp", branch=branch).sort("threads")
            assert machine["threads"] == rows["threads"].to_list()
            assert machine["times"][quantity]["tsp"][branch] == [round(value, 1) for value in rows[column]]
    assert chart["shown"] == ["packed"]


def test_a_chart_has_the_shares_of_the_frame(render: Render, sweeps: dict[str, Analysis]) -> None:
    (chart,) = charts(render(f"# Title\n\n<!-- analysis: figure {FIRST} spent -->\n<!-- /analysis -->\n"))
    assert [name for name, _ in chart["spent"]] == list(SPENT_ON.values())
    cell = sweeps[FIRST].spent.filter(workload="tsp", branch="packed", threads=4)
    shares = dict(zip(cell["spent_on"], cell["share"], strict=True))
    drawn = chart["machines"][0]["spent"]["tsp"]["packed"][1]
    assert drawn == pytest.approx([shares.get(kind, 0.0) for kind in SPENT_ON], abs=0.0005)


def test_times_of_an_iteration_are_medians_of_trials(sweeps: dict[str, Analysis]) -> None:
    times = sweeps[FIRST].times.filter(workload="tsp", branch="packed", threads=4, program="parallel")
    row = thread_times(sweeps[FIRST].times.lazy()).filter(workload="tsp", branch="packed", threads=4).row(0, named=True)
    assert row["time_us"] == pytest.approx(times["elapsed_ns"].median() / 1e3)  # type: ignore[operator]
    assert row["cpu_us"] == pytest.approx(
        times.select(pl.col("elapsed_ns") * pl.col("cpus_busy")).median().item() / 1e3
    )


def test_statements_of_one_section_share_a_chart_with_a_machine_for_each_sweep(render: Render) -> None:
    both = by_threads(f"{FIRST} time packed") + by_threads(f"{SECOND} time packed")
    first, second = charts(render(f"## One\n\n{both}\n## Two\n\n{by_threads(f'{SECOND} time packed')}"))
    assert [machine["sweep"][: len(FIRST)] for machine in first["machines"]] == [FIRST, SECOND]
    assert [machine["sweep"][: len(FIRST)] for machine in second["machines"]] == [SECOND]


def test_a_workload_that_a_statement_leaves_out_is_not_drawn_by_it(render: Render) -> None:
    words = [f"{FIRST} time packed -idle", f"{FIRST} cpu packed"]
    (chart,) = charts(render("".join(map(by_threads, words))))
    times = chart["machines"][0]["times"]
    assert list(times["time"]) == ["tsp"]
    assert list(times["cpu"]) == ["idle", "tsp"]


def test_the_twin_is_not_drawn(render: Render) -> None:
    (chart,) = charts(render(by_threads(f"{FIRST} time packed")))
    assert list(chart["looks"]) == ["packed", "split-counters"]


def test_a_table_stays_beside_its_chart(render: Render) -> None:
    page = render(by_threads(f"{FIRST} time packed"))
    assert re.search(r'<details class="numbers charted" open>.*?<td[^>]*>7</td>', page, re.DOTALL)


def test_a_fold_of_the_document_is_one_of_the_page(render: Render) -> None:
    page = render(
        f"<!-- analysis: judged {FIRST} -->\nThese:\n\n{folded(TABLE, 'Table: many rows')}<!-- /analysis -->\n"
    )
    assert re.search(
        r'<p>These:</p>\s*<details class="numbers"><summary>Table: many rows</summary><div[^<]*<table>.*?</table></div>'
        r"\s*</details>",
        page,
        re.DOTALL,
    )


def test_a_table_that_is_folded_and_charted_has_one_fold(render: Render) -> None:
    page = render(by_threads(f"{FIRST} time packed", folded(TABLE, "Table: many rows")))
    assert page.count("<summary>Table") == 1
    assert '<details class="numbers charted" open><summary>Table: many rows</summary>' in page


def test_every_fold_of_the_committed_document_holds_a_table_or_a_picture(committed: str) -> None:
    folds = re.findall(r'<details class="numbers[^>]*>(.*?)</details>', committed, re.DOTALL)
    assert len(folds) >= len(re.findall(r"^<details>", FINDINGS.read_text(encoding="utf-8"), re.MULTILINE))
    assert [fold for fold in folds if "<table" not in fold and "<figure" not in fold] == []
    assert committed.count("<details") == committed.count("</details>")


def test_a_heading_that_stands_twice_has_two_anchors(render: Render) -> None:
    page = render("# Why?\n\n# Why?\n")
    assert re.findall(r'<h1 id="([^"]+)"', page) == ["why", "why-1"]


def test_a_link_to_a_file_becomes_the_path_of_the_file(committed: str) -> None:
    assert (CHECKOUT / "findings/README.md").is_file()
    assert '<span title="findings/README.md">Small programs</span> (<code>findings/README.md</code>)' in committed


def test_a_picture_that_is_not_there_is_refused(render: Render) -> None:
    with pytest.raises(InputError, match=r"picture `gone.svg` is no file"):
        render("![gone](gone.svg)")


def test_a_picture_from_elsewhere_is_refused(render: Render) -> None:
    with pytest.raises(InputError, match=r"picture `https://example.invalid/a.png` is no file"):
        render('<picture>\n  <img alt="a" src="https://example.invalid/a.png">\n</picture>')


def test_the_page_goes_into_a_file_if_one_is_named(tmp_path: Path) -> None:
    document = tmp_path / "FINDINGS.md"
    document.write_text("# Title\n", encoding="utf-8")
    page = findings_page.write_findings(tmp_path / "folder" / "mine.html", document)
    assert page == tmp_path / "folder" / "mine.html"
    assert "<title>Title</title>" in page.read_text(encoding="utf-8")


def test_a_document_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"FINDINGS.md: cannot be read"):
        render_findings(tmp_path / "FINDINGS.md")
