"""Tests on two sweeps of equal branches: noise, and changes that the second sweep does not confirm."""

from __future__ import annotations

import polars as pl

import synthetic
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.noise import second_look


def analysed(effect: float, **truth: float) -> Analysis:
    made = synthetic.Truth(
        branches=["master", "odd", "even"],
        workloads={"tsp": 0.1},
        threads=[1, 2],
        trials=7,
        effects={("odd", "tsp"): effect},
        seed=8,
        **truth,  # type: ignore[arg-type]
    )
    return analyse(synthetic.swept(made))


def test_a_change_that_a_second_sweep_does_not_confirm_is_shown_with_its_result() -> None:
    first, second = analysed(1.2), analysed(1.0)
    looked = second_look(first, second)
    row = looked.row(by_predicate=pl.col("branch") == "odd", named=True)
    assert row["first"].startswith("+2")
    assert row["result of the second"] == "inconclusive"
    assert (
        "odd"
        in second_look(first, first).filter(pl.col("result of the second") == "slower")["branch"]
    )
