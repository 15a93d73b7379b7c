"""Tables that people read stay readable."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sweep_analysis.say import tables


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
