"""The page in a real browser.

Where none is installed these tests are skipped: `apt install chromium` brings one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import browser
import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report import page as report_page
from sweep_analysis.report.figures import figures
from sweep_analysis.stats.analysis import analyse

pytestmark = pytest.mark.skipif(browser.chromium() is None, reason="no chromium is installed")

PROBE = """(phone, desk) => {
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const page = desk.document;
  const requests = [phone, desk].flatMap((frame) =>
    frame.performance.getEntriesByType("resource").map((entry) => entry.name));

  for (const fold of all(phone.document, "details")) fold.open = true;
  const overflow = [phone, desk].map((frame) => frame.document.documentElement).map(
    (root) => root.scrollWidth - root.clientWidth);
  const cut = all(phone.document, "p, li, dd, summary, h1, h2, h3").filter(
    (part) => part.getBoundingClientRect().right > phone.innerWidth + 0.5).map((part) => part.textContent.slice(0, 60));
  const answer = page.querySelector("#summary .answer").getBoundingClientRect().bottom;

  const table = page.querySelector("#map ~ details table"), heads = all(table, "th button");
  const time = heads.findIndex((button) => button.textContent === "time");
  const column = () => all(table, "tbody tr").map((row) => row.cells[time].textContent);
  const sorted = [column()];
  for (let press = 0; press < 2; press += 1) { heads[time].click(); sorted.push(column()); }

  const folds = all(page, "#cost ~ * details[name=cost]");
  const seen = () => folds.map((fold) => fold.querySelector("svg").checkVisibility());
  const start = seen();
  folds[2].querySelector("summary").click();
  const chosen = seen();
  const placed = [folds[2].querySelector("figure"), folds[1]].map((part) => part.getBoundingClientRect().top);

  const halves = [...page.querySelector(".beside").children].map((part) => part.getBoundingClientRect());

  return {
    halves: [halves[0].right, halves[1].left],
    requests, overflow, cut, answer,
    sorted, start, chosen, placed,
    names: folds.map((fold) => fold.querySelector("summary").textContent),
    paper: desk.getComputedStyle(page.body).backgroundColor,
    picture: desk.getComputedStyle(page.querySelector("figure svg text")).fill,
  };
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every kind of figure.

    Three branches, two workloads that wait, counted, with a measured clock.
    """
    names = ["master", "packed", "split-counters-no-jec-sleepers-only-cache-padded"]
    truth = made_up.Truth(
        branches=names,
        workloads={"quicksort": 0.2, "ticks": 0.05},
        threads=[1, 2, 8],
        effects={("packed", "ticks"): 0.8},
        counts={"packed": {"jec_rmws": 7, "jec_loads": 9, "searches": 3, "sleeps": 1}},
        modes={"dynamic": {1: 3.5, 2: 3.4, 8: 3.0}},
        waits_ns={
            name: {f"latency_{quantile}": 1000.0 for quantile in ("p50", "p99", "max")}
            for name in names
        },
    )
    folder = made_up.write_sweep(
        tmp_path_factory.mktemp("browser") / "2026-01-01-madeup-0000000", truth
    )
    file = folder.parent / "index.html"
    analysis = analyse(read_sweep(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "MANY_PICTURES", 2)
        file.write_text(report_page.render_page(analysis, figures(analysis)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def light(page: Path) -> browser.Visit:
    return browser.visit(page, PROBE)


def test_the_console_stays_silent(light: browser.Visit) -> None:
    assert "failed" not in light.found, light.found
    assert light.console == []


def test_nothing_is_requested(light: browser.Visit) -> None:
    assert light.found["requests"] == []


def test_nothing_scrolls_sideways_on_a_phone_or_a_desk(light: browser.Visit) -> None:
    assert light.found["overflow"] == [0, 0]
    assert light.found["cut"] == []


def test_the_answer_stands_in_the_first_screen(light: browser.Visit) -> None:
    assert light.found["answer"] < 300


def test_words_stand_beside_a_narrow_picture_on_a_desk(light: browser.Visit) -> None:
    words, picture = light.found["halves"]
    assert words <= picture


def test_a_column_sorts_by_number_up_and_down(light: browser.Visit) -> None:
    before, up, down = (
        [
            float(text.replace("−", "-").replace("±", "").rstrip("%\N{NO-BREAK SPACE}"))
            for text in column
        ]
        for column in light.found["sorted"]
    )
    assert up == sorted(before)
    assert down == sorted(before, reverse=True)
    assert up != down


def test_of_many_pictures_the_first_is_open_and_choosing_another_closes_it(
    light: browser.Visit,
) -> None:
    assert light.found["names"] == ["quicksort · small", "ticks · small", "all workloads together"]
    assert light.found["start"] == [True, False, False]
    assert light.found["chosen"] == [False, False, True]


def test_the_chosen_picture_stands_below_all_names(light: browser.Visit) -> None:
    picture, name = light.found["placed"]
    assert picture > name


def test_pictures_follow_the_dark_theme(page: Path, light: browser.Visit) -> None:
    dark: dict[str, Any] = browser.visit(page, PROBE, dark=True).found
    assert light.found["paper"] == "rgb(255, 255, 255)"
    assert dark["paper"] == "rgb(23, 26, 31)"
    assert light.found["picture"] == "rgb(27, 31, 36)"
    assert dark["picture"] == "rgb(232, 234, 237)"


def test_a_bad_page_would_be_found_out(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<div style="width: 600px">wide</div><img src="http://example.invalid/a.png"><script>gone()</script>'
    )
    probe = """(phone) => ({
      overflow: phone.document.documentElement.scrollWidth - phone.innerWidth,
      requests: phone.performance.getEntriesByType("resource").map((entry) => entry.name),
    })"""
    found = browser.visit(bad, probe)
    assert found.found["overflow"] > 0
    assert found.found["requests"] == ["http://example.invalid/a.png"]
    assert any("gone is not defined" in line for line in found.console)
