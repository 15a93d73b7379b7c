"""Tests the page in a real browser: Playwright drives the installed Chromium or Chrome.

Without a browser or Playwright the tests are skipped. `apt install chromium` installs Chromium, and
`cargo xtask test` then installs Playwright.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.figures import figures
from sweep_analysis.report.page import render_page
from sweep_analysis.stats.analysis import analyse

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium: `apt install chromium`")

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 900}
CUT = """() => [...document.querySelectorAll("p, li, dd, summary, h1, h2, h3")]
  .filter((part) => part.getBoundingClientRect().right > innerWidth + 0.5).map((part) => part.textContent)"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
COLUMN = """(at) => [...document.querySelectorAll("#map ~ details tbody")][0].querySelectorAll(`td:nth-child(${at})`)
  .values().map((cell) => cell.textContent).toArray()"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every kind of figure: three branches, two workloads with latencies, counts of events, and a measured clock."""
    names = ["master", "packed", "split-counters-no-jec-sleepers-only-cache-padded"]
    waits = {f"latency_{quantile}": 1000.0 for quantile in ("p50", "p99", "max")}
    truth = synthetic.Truth(
        branches=names,
        workloads={"quicksort": 0.2, "ticks": 0.05},
        threads=[1, 2, 8],
        effects={("packed", "ticks"): 0.8},
        counts={"packed": {"jec_rmws": 7, "jec_loads": 9, "searches": 3, "sleeps": 1}},
        modes={"dynamic": {1: 3.5, 2: 3.4, 8: 3.0}},
        waits_ns=dict.fromkeys(names, waits),
    )
    folder = synthetic.write_sweep(
        tmp_path_factory.mktemp("browser") / "2026-01-01-synthetic", truth
    )
    made = folder.parent / "index.html"
    analysis = analyse(read_sweep(folder))
    made.write_text(render_page(analysis, figures(analysis)), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as play:
        # No sandbox: the browser opens only our own page, and Chromium has no sandbox as root.
        launched = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def test_the_page_loads_nothing_says_nothing_to_the_console_and_fits_desk_and_phone(
    file: Path, browser: sync_api.Browser
) -> None:
    for size in (DESK, PHONE):
        page = browser.new_page(viewport=size)
        requests: list[str] = []
        console: list[str] = []
        page.on("request", lambda request, seen=requests: seen.append(request.url))
        page.on("console", lambda message, seen=console: seen.append(message.text))
        page.on("pageerror", lambda error, seen=console: seen.append(str(error)))
        page.goto(file.as_uri())
        assert requests == [file.as_uri()]
        assert console == []
        answer = page.locator("#summary .answer").bounding_box()
        assert size == PHONE or answer["y"] + answer["height"] < 300
        page.evaluate("() => document.querySelectorAll('details').forEach((it) => it.open = true)")
        assert page.evaluate(OVERFLOW) == 0
        assert page.evaluate(CUT) == []
        page.close()


def test_a_column_sorts_by_number(file: Path, browser: sync_api.Browser) -> None:
    page = browser.new_page(viewport=DESK)
    page.goto(file.as_uri())
    heads = page.locator("#map ~ details >> nth=0").locator("th button")
    time = heads.all_text_contents().index("change")

    def column() -> list[float]:
        told = page.evaluate(COLUMN, time + 1)
        return [float(it.replace("−", "-").strip("±+%\N{NO-BREAK SPACE} ")) for it in told]

    before = column()
    page.evaluate(
        "() => document.querySelectorAll('#map ~ details').forEach((it) => it.open = true)"
    )
    heads.nth(time).click()
    up = column()
    heads.nth(time).click()
    assert up == sorted(before)
    assert column() == sorted(before, reverse=True) != up


@pytest.mark.parametrize(
    ("scheme", "paper", "ink"),
    [
        ("light", "rgb(255, 255, 255)", "rgb(27, 31, 36)"),
        ("dark", "rgb(23, 26, 31)", "rgb(232, 234, 237)"),
    ],
)
def test_page_and_pictures_follow_the_readers_theme(
    file: Path, browser: sync_api.Browser, scheme: str, paper: str, ink: str
) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    style = "(it) => [getComputedStyle(it).backgroundColor, getComputedStyle(it).fill]"
    assert page.locator("body").evaluate(style)[0] == paper
    assert page.locator("figure svg text").first.evaluate(style)[1] == ink
