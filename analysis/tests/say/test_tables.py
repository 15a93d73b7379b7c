"""Tables that people read stay readable."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

from sweep_analysis.say import output, tables


def test_a_long_table_is_cut_for_people_and_whole_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 2)
    frame = pl.DataFrame({"n": [1, 2, 3]})
    for suffix in tables.SUFFIXES:
        tables.write(frame, tmp_path / f"n.{suffix}")
    assert (
        tmp_path / "n.md"
    ).read_text() == "| n |\n| ---: |\n| 1 |\n| 2 |\n\n1 more row in the CSV file.\n"
    assert pl.read_csv(tmp_path / "n.csv").equals(frame)


CELLS = pl.DataFrame(
    {
        "level": ["cell", "cell"],
        "workload": ["install · small, pool=busy", "tsp · small"],
        "threads": [2, 16],
        "time": ["+5.9 %", "−0.8 %"],
    }
)


def test_a_table_is_no_wider_than_its_terminal_and_loses_nothing() -> None:
    assert tables.fitted(CELLS, 80).splitlines() == [
        "level: cell",
        "",
        "workload                    threads  time",
        "install · small, pool=busy        2  +5.9 %",
        "tsp · small                      16  −0.8 %",
    ]
    assert tables.fitted(CELLS, 40).splitlines()[2:] == [
        "workload                 threads  time",
        "install · small,               2  +5.9 %",
        "pool=busy",
        "tsp · small                   16  −0.8 %",
    ]
    assert tables.fitted(CELLS, 30).splitlines()[2:] == [
        "workload  install · small, pool=busy",
        "threads   2",
        "time      +5.9 %",
        "",
        "workload  tsp · small",
        "threads   16",
        "time      −0.8 %",
    ]
    wide = CELLS.with_columns(reason=pl.lit("a long reason " * 9), more=pl.col("threads") * 1e300)
    for width in (40, 60, 80):
        lines = tables.fitted(wide, width).splitlines()
        assert max(map(len, lines)) <= width


def test_a_terminal_gets_a_fitted_table_and_a_file_gets_markdown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert output.table(CELLS, io.StringIO()) == tables.markdown(CELLS)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    assert output.table(CELLS, terminal) == tables.fitted(CELLS, 40)
    assert output.paragraph("word " * 20, terminal).count("\n") == 2
    assert "\n" not in output.paragraph("word " * 20, io.StringIO())
