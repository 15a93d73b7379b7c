"""A comparison in words: a word says the direction, so the size has no sign."""

from __future__ import annotations

from typing import Any

import pytest

from sweep_analysis.say.comparison import in_words


def row(ratio: float, quantity: str = "cpu") -> dict[str, Any]:
    return {
        "branch": "good",
        "quantity": quantity,
        "time_ratio": ratio,
        "ratio_low": ratio - 0.01,
        "ratio_high": ratio + 0.01,
    }


@pytest.mark.parametrize(
    ("ratio", "quantity", "words"),
    [
        (0.922, "cpu", "good takes 7.8 % less CPU time than master on tsp "),
        (1.05, "time", "good takes 5.0 % more time than master on tsp "),
        (1.05, "p50", "good has 5.0 % higher median latency than master on tsp "),
        (0.5, "p99", "good has 50.0 % lower p99 latency than master on tsp "),
        (1.0001, "time", "good takes the same time as master on tsp "),
    ],
)
def test_a_clause_says_less_or_more_and_no_sign(ratio: float, quantity: str, words: str) -> None:
    told = in_words(row(ratio, quantity), "master", "on tsp", which="95 % interval ").replace(
        "\N{NO-BREAK SPACE}", " "
    )
    before, interval, after = told.partition("(95 % interval ")
    assert (before, interval) == (words, "(95 % interval ")
    assert after.endswith(" %)")


def test_a_change_without_the_other_branch_has_its_sign_its_interval_and_its_notes() -> None:
    told = in_words(row(0.5), place="on tsp", notes=["", "one sweep"])
    assert told.replace("\N{NO-BREAK SPACE}", " ") == (
        "−50.0 % CPU time on tsp (−51.0 % to −49.0 %; one sweep)"
    )


def test_a_change_of_one_build_has_no_interval() -> None:
    alone = row(0.5) | {"ratio_low": None, "ratio_high": None}
    assert in_words(alone).endswith("CPU time")
    assert in_words(alone, "master").endswith(" than master")
