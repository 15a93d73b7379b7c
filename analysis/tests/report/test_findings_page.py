"""FINDINGS as one page: it stands alone, and its charts show what the frames hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sweep_analysis.__main__ import main
from sweep_analysis.draw.palette import pairs
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report import findings_page
from sweep_analysis.report.findings_page import FINDINGS, render_findings
from sweep_analysis.report.folds import folded

Render = Callable[[str], str]
LARGEST = 1_500_000
"""Bytes that nobody waits for on a phone."""


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the committed document, as the command line writes it."""
    folder = tmp_path_factory.mktemp("findings")
    assert main(["findings", "--output", str(folder)]) == 0
    return (folder / "index.html").read_text(encoding="utf-8")


@pytest.fixture
def render(tmp_path: Path) -> Render:
    """Renders a document."""

    def rendered(text: str) -> str:
        file = tmp_path / "FINDINGS.md"
        file.write_text(text, encoding="utf-8")
        return render_findings(file)

    return rendered


TABLE = "| workload | 1 |\n| --- | ---: |\n| tsp | 7 |\n"


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


def test_a_short_table_stays_open(render: Render) -> None:
    page = render(f"<!-- analysis: parts -->\nTimes:\n\n{TABLE}<!-- /analysis -->\n")
    assert "<td" in page
    assert '<details class="numbers"' not in page


def test_a_fold_of_the_document_is_one_of_the_page(render: Render) -> None:
    page = render(f"<!-- analysis: parts -->\nThese:\n\n{folded(TABLE, 'Table: many rows')}<!-- /analysis -->\n")
    assert re.search(
        r'<p>These:</p>\s*<details class="numbers"><summary>Table: many rows</summary><div[^<]*<table>.*?</table></div>'
        r"\s*</details>",
        page,
        re.DOTALL,
    )


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
