"""The page of all findings in a real browser; skipped where none is installed."""

from __future__ import annotations

import pytest

import browser
from sweep_analysis.report.findings_page import write_findings
from sweep_analysis.report.folds import folded

pytestmark = pytest.mark.skipif(browser.chromium() is None, reason="no chromium is installed")

PROBE = """(phone, desk) => {
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const folds = [phone, desk].map((frame) => {
    const fold = frame.document.querySelector("details > .scroll").parentElement;
    const seen = () => fold.querySelector("table").checkVisibility();
    const before = seen();
    fold.querySelector("summary").click();
    return [before, seen()];
  });
  const stays = [phone, desk].map((frame) => frame.getComputedStyle(frame.document.querySelector("nav")).position);
  for (const fold of all(phone.document, "details")) fold.open = true;
  const overflow = [phone, desk].map((frame) => frame.document.documentElement).map(
    (root) => root.scrollWidth - root.clientWidth);
  const cut = all(phone.document, "p, li, summary, h1, h2, h3, h4").filter(
    (part) => part.getBoundingClientRect().right > phone.innerWidth + 0.5).map((part) => part.outerHTML.slice(0, 80));
  const requests = [phone, desk].flatMap((frame) =>
    frame.performance.getEntriesByType("resource").map((entry) => entry.name));
  return { folds, stays, overflow, cut, requests };
}"""


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> browser.Visit:
    folder = tmp_path_factory.mktemp("browser")
    table = f"| workload | {'a very long name of a column | ' * 9}\n| {'--- | ' * 10}\n| tsp | {'7 | ' * 9}\n"
    summary = "Table: many rows, where split-counters-no-jec-sleepers-only-cache-padded is faster than packed"
    statements = [f"<!-- analysis: parts -->\n{text}<!-- /analysis -->\n" for text in (table, folded(table, summary))]
    document = folder / "FINDINGS.md"
    document.write_text("# Title\n\n## Long enough to be a question?\n\n" + "\n".join(statements), encoding="utf-8")
    return browser.visit(write_findings(folder / "index.html", document), PROBE)


def test_the_console_stays_silent(visit: browser.Visit) -> None:
    assert "failed" not in visit.found, visit.found
    assert visit.console == []


def test_nothing_is_requested(visit: browser.Visit) -> None:
    assert visit.found["requests"] == []


def test_nothing_scrolls_sideways_on_a_phone_or_a_desk(visit: browser.Visit) -> None:
    assert visit.found["overflow"] == [0, 0]
    assert visit.found["cut"] == []


def test_contents_stay_beside_the_text_where_there_is_room(visit: browser.Visit) -> None:
    assert visit.found["stays"] == ["static", "sticky"]


def test_a_fold_of_the_document_opens_when_it_is_touched(visit: browser.Visit) -> None:
    assert visit.found["folds"] == [[False, True], [False, True]]
