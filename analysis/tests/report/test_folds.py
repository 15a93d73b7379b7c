"""Long tables of documents are folded."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report.asked import Asked
from sweep_analysis.report.folds import LONGEST
from sweep_analysis.report.statements import asked_by, made

NINE_ROWS = "placements 2026-11-22T155739Z 2"
"""A statement of nine rows."""


def table(rows: int, *, is_open: bool = False) -> str:
    frame = pl.DataFrame({"row": [str(row) for row in range(rows)]})
    return Asked("page.md", CHECKOUT, [], [], is_open).table(frame, "numbers in their order")


def statement(folder: Path, words: str) -> str:
    file = folder / "page.md"
    file.write_text(f"<!-- analysis: {words} -->\n<!-- /analysis -->\n", encoding="utf-8")
    return made(file)[file]


def test_a_long_table_is_folded_and_says_what_it_holds() -> None:
    told = table(LONGEST + 1)
    assert told.startswith(
        "<details><summary>Table: 9 rows, numbers in their order</summary>\n\n| row |\n"
    )
    assert told.endswith("| 8 |\n\n</details>\n"), "without a blank line the table swallows the tag"


def test_a_short_table_and_one_that_is_the_answer_stay_open() -> None:
    for text in (table(LONGEST), table(LONGEST + 1, is_open=True)):
        assert text.startswith("| row |\n")
        assert text.endswith(" |\n")


def test_the_word_open_keeps_the_table_of_a_statement_open(tmp_path: Path) -> None:
    assert "<summary>Table: 9 rows, what pinning changes on 2 threads</summary>" in statement(
        tmp_path, NINE_ROWS
    )
    assert "<details>" not in statement(tmp_path, f"{NINE_ROWS} open")


def test_the_word_open_is_none_of_the_words_that_kinds_read() -> None:
    kind, asked = asked_by(f"{NINE_ROWS} open fixed", "page.md", CHECKOUT)
    assert (kind, asked.words, asked.is_open, asked.mode) == ("placements", ["2"], True, "fixed")
