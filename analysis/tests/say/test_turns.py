"""The table of alternating benchmark runs, from runs with known effects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.turns import Run, read_turns, times_of
from sweep_analysis.say.columns import Look
from sweep_analysis.say.turns import turns_table


def runs(effects: dict[str, float], turns: int = 7) -> pl.DataFrame:
    """Runs of the builds `before` and `after`; `effects` has the factor of `after` in each benchmark."""
    noise = np.random.default_rng(1)
    return times_of(
        Run(name, build, turn, float((effect if build == "after" else 1) * noise.normal(1, 0.01)))
        for name, effect in effects.items()
        for turn in range(turns)
        for build in ("before", "after", "before-again")
    )


def rows(times: pl.DataFrame) -> dict[str, list[str]]:
    lines = turns_table(times, Look(is_markdown=True)).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    return {first: rest for first, *rest in cells}


def test_each_benchmark_has_its_interval_and_an_inconclusive_one_what_would_be_found() -> None:
    found = rows(runs({"same": 1.0, "half": 0.5}))
    before, after, change, interval, floor, result = found["half"]
    milliseconds = [float(it) for it in before.split(" / ")]
    assert milliseconds == sorted(milliseconds)
    assert milliseconds[1] == pytest.approx(1000, rel=0.02)
    assert after.count(" / ") == 2
    assert change.startswith(("−49.", "−50."))
    low, high = interval.split(" to ")
    assert low.startswith("−5")
    assert high.startswith(("−49", "−48"))
    assert floor.startswith("±")
    assert result == "significant"
    assert found["same"][-1].startswith("inconclusive; detectable: ")


def test_benchmarks_keep_their_order_and_few_orders_are_not_tested() -> None:
    found = rows(runs({"z": 1.0, "a": 0.5}, turns=3))
    assert list(found) == ["z", "a"]
    assert found["a"][3:] == ["unknown", "unknown", "not tested: 3 rounds are fewer than 4"]


def test_a_line_that_is_no_run_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    file.write_text('{"benchmark": "a", "build": "before", "turn": 0}\n', encoding="utf-8")
    with pytest.raises(InputError, match="seconds"):
        read_turns(file)
