"""Names of panels and numbers in words."""

from __future__ import annotations

import polars as pl
import pytest

from sweep_analysis.read.labels import capital, percent, ranges, with_panel
from sweep_analysis.read.schema import FREE, PANEL, PINNED


def panels(*rows: tuple[str, ...], placements: tuple[str, ...] = (FREE,)) -> list[str]:
    """Names of panels that differ as the rows say, and once more for each placement."""
    each = [(*row, placement) for placement in placements for row in rows]
    return with_panel(pl.DataFrame(each, schema=PANEL, orient="row"))["panel"].to_list()


def test_a_panel_is_named_by_workload_and_size() -> None:
    assert panels(("tsp", "small", "cities=9 seed=1", "", "dynamic")) == ["tsp · small"]


def test_only_parameters_that_differ_are_named() -> None:
    found = panels(
        ("packets", "small", "depth=8 strategy=pool", "", "dynamic"),
        ("packets", "small", "depth=8 strategy=mutex", "", "dynamic"),
    )
    assert found == ["packets · small, strategy=pool", "packets · small, strategy=mutex"]


def test_modes_are_named_where_there_are_several() -> None:
    found = panels(("tsp", "small", "", "", "fixed"), ("tsp", "small", "", "", "dynamic"))
    assert found == ["tsp · small, fixed frequency", "tsp · small, dynamic frequency"]


def test_placements_are_named_where_there_are_several() -> None:
    found = panels(("tsp", "small", "cities=9", "", "dynamic"), placements=(FREE, PINNED))
    assert found == ["tsp · small, free", "tsp · small, pinned"]


def test_an_instance_is_named_by_its_file() -> None:
    assert panels(("tsp", "small", "", "cities/berlin52.tsp", "dynamic")) == [
        "tsp · small, berlin52.tsp"
    ]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.95, "−5.0 %"), (1.1, "+10.0 %"), (1.0, "±0.0 %"), (0.9999, "±0.0 %"), (1.0001, "±0.0 %")],
)
def test_a_ratio_reads_as_a_change(ratio: float, text: str) -> None:
    assert percent(ratio).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([4], "4"), ([1, 2, 4, 8], "1, 2, 4, 8"), ([3, 1, 2, 8, 2], "1–3, 8")],
)
def test_runs_of_numbers_read_as_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sweep of TSP", "Sweep of TSP"),
        ("CPU time", "CPU time"),
        ("`master` hung", "`master` hung"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_large_letter_and_names_stay(text: str, told: str) -> None:
    assert capital(text) == told
