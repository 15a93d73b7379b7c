"""The page of all findings in a real browser; skipped where none is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

import browser
import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report import findings_page
from sweep_analysis.report.folds import folded
from sweep_analysis.stats.analysis import analyse

pytestmark = pytest.mark.skipif(browser.chromium() is None, reason="no chromium is installed")

PROBE = """(phone, desk) => {
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const page = desk.document, figure = page.querySelector("figure.live");
  const charted = all(page, "details.charted").map((fold) => fold.open);
  const folds = [phone, desk].map((frame) => {
    const fold = frame.document.querySelector("details:not(.charted) > .scroll").parentElement;
    const seen = () => fold.querySelector("table").checkVisibility();
    const before = seen();
    fold.querySelector("summary").click();
    return [before, seen()];
  });
  const contents = [phone, desk].map((frame) => frame.document.querySelector("nav details").open);
  const stays = [false, true].map((scripted) => {
    phone.document.body.classList.toggle("scripted", scripted);
    return phone.getComputedStyle(phone.document.querySelector("nav")).position;
  });
  for (const fold of all(phone.document, "details")) fold.open = true;
  const overflow = [phone, desk].map((frame) => frame.document.documentElement).map(
    (root) => root.scrollWidth - root.clientWidth);
  const cut = all(phone.document, "p, li, summary, h1, h2, h3, h4, select, label, .live svg, .bar").filter(
    (part) => part.getBoundingClientRect().right > phone.innerWidth + 0.5).map((part) => part.outerHTML.slice(0, 80));
  const requests = [phone, desk].flatMap((frame) =>
    frame.performance.getEntriesByType("resource").map((entry) => entry.name));

  const told = () => figure.querySelector(".told").textContent;
  const names = () => figure.querySelectorAll("polyline").length;
  const picture = () => figure.querySelector(".plot svg"), start = told();
  const box = picture().getBoundingClientRect();
  picture().dispatchEvent(new desk.PointerEvent("pointerdown", { clientX: box.left + 60, clientY: box.top + 50 }));
  const first = told();
  picture().dispatchEvent(new desk.KeyboardEvent("keydown", { key: "ArrowRight" }));
  const next = told();
  const choose = (name, value) => {
    const label = all(figure, ".choosers label").find((it) => it.textContent.startsWith(name));
    const select = label.querySelector("select");
    select.value = value;
    select.dispatchEvent(new desk.Event("change"));
  };
  choose("workload", "tsp");
  const workload = [told(), figure.querySelector("h4").textContent];
  const focused = page.activeElement.name;
  choose("machine", "1");
  const machine = figure.querySelector("h4").textContent;
  const lines = [names()];
  figure.querySelectorAll(".key input")[1].click();
  lines.push(names());
  figure.querySelector(".bar").click();
  return { charted, folds, contents, focused, stays, overflow, cut, requests, start, first, next, workload, machine,
    lines, shares: figure.querySelector(".below").textContent };
}"""
SWEEPS = {"2026-01-01T000000Z": "made-up-64", "2026-01-02T000000Z": "made-up-32"}


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> browser.Visit:
    folder = tmp_path_factory.mktemp("browser")
    sweeps, branches = {}, ["packed", "split-counters-no-jec-sleepers-only-cache-padded"]
    for name, machine in SWEEPS.items():
        truth = made_up.Truth(
            branches=branches,
            workloads={"tsp": 0.1, "idle": 0.9},
            threads=[1, 4, 64],
            cpus=64,
            machine=machine,
            spent={"work": 0.5, "asleep": 0.5},
        )
        sweeps[name] = analyse(read_sweep(made_up.write_sweep(folder / f"{name}-made-up", truth)))
    table = f"| workload | {'a very long name of a column | ' * 9}\n| {'--- | ' * 10}\n| tsp | {'7 | ' * 9}\n"
    statements = [f"<!-- analysis: by-threads {name} time packed -->\n{table}<!-- /analysis -->\n" for name in sweeps]
    summary = f"Table: many rows, where {branches[1]} is faster than {branches[0]}"
    statements.append(f"<!-- analysis: judged -->\n{folded(table, summary)}<!-- /analysis -->\n")
    document = folder / "FINDINGS.md"
    document.write_text("# Title\n\n## Long enough to be a question?\n\n" + "\n".join(statements), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings_page, "analysis_of", sweeps.__getitem__)
        page = findings_page.write_findings(folder / "index.html", document)
    return browser.visit(Path(page), PROBE)


def test_the_console_stays_silent(visit: browser.Visit) -> None:
    assert "failed" not in visit.found, visit.found
    assert visit.console == []


def test_nothing_is_requested(visit: browser.Visit) -> None:
    assert visit.found["requests"] == []


def test_nothing_scrolls_sideways_on_a_phone_or_a_desk(visit: browser.Visit) -> None:
    assert visit.found["overflow"] == [0, 0]
    assert visit.found["cut"] == []


def test_contents_are_closed_on_a_phone_and_open_on_a_desk(visit: browser.Visit) -> None:
    assert visit.found["contents"] == [False, True]


def test_contents_stay_on_a_phone_only_if_a_script_can_fold_them(visit: browser.Visit) -> None:
    assert visit.found["stays"] == ["static", "sticky"]


def test_tables_that_a_chart_shows_are_folded(visit: browser.Visit) -> None:
    assert visit.found["charted"] == [False, False]


def test_a_fold_of_the_document_opens_when_it_is_touched(visit: browser.Visit) -> None:
    assert visit.found["folds"] == [[False, True], [False, True]]


def test_a_touch_and_a_key_tell_the_times_of_other_threads(visit: browser.Visit) -> None:
    assert visit.found["start"].startswith("64 threads: packed ")
    assert visit.found["first"].startswith("1 thread: packed ")
    assert visit.found["next"].startswith("4 threads: packed ")


def test_another_workload_is_drawn_when_it_is_chosen(visit: browser.Visit) -> None:
    told, heading = visit.found["workload"]
    assert told != visit.found["next"]
    assert heading == "Where the time of all cores went: tsp, simulated: made-up-64, 64 cores"


def test_the_keyboard_stays_where_it_chose(visit: browser.Visit) -> None:
    assert visit.found["focused"] == "workload"


def test_another_machine_is_drawn_when_it_is_chosen(visit: browser.Visit) -> None:
    assert visit.found["machine"] == "Where the time of all cores went: tsp, simulated: made-up-32, 64 cores"


def test_a_branch_is_drawn_when_it_is_ticked(visit: browser.Visit) -> None:
    assert visit.found["lines"] == [1, 2]


def test_a_bar_tells_its_shares(visit: browser.Visit) -> None:
    assert visit.found["shares"] == "packed on 1 thread: work 50.0 %, asleep 50.0 %"
