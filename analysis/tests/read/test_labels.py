"""Names of panels and numbers in words."""

from __future__ import annotations

import polars as pl
import pytest

from sweep_analysis.read.labels import capital, percent, ranges, with_panel
from sweep_analysis.read.schema import FREE, PINNED

BARE = {
    "workload": "tsp",
    "size": "small",
    "parameters": "",
    "input": "",
    "mode": "dynamic",
    "placement": FREE,
}


@pytest.mark.parametrize(
    ("differing", "names"),
    [
        ([{"parameters": "cities=9 seed=1"}], ["tsp · small"]),
        (
            [{"parameters": "depth=8 strategy=pool"}, {"parameters": "depth=8 strategy=mutex"}],
            ["tsp · small, strategy=pool", "tsp · small, strategy=mutex"],
        ),
        (
            [{"mode": "fixed"}, {"mode": "dynamic"}],
            ["tsp · small, fixed frequency", "tsp · small, dynamic frequency"],
        ),
        (
            [{"placement": FREE}, {"placement": PINNED}],
            ["tsp · small, free", "tsp · small, pinned"],
        ),
        ([{"input": "cities/berlin52.tsp"}], ["tsp · small, berlin52.tsp"]),
    ],
)
def test_a_panel_is_named_by_workload_size_and_what_differs(
    differing: list[dict[str, str]], names: list[str]
) -> None:
    rows = pl.DataFrame([BARE | own for own in differing])
    assert with_panel(rows)["panel"].to_list() == names


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
