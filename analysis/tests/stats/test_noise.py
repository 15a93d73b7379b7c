"""Two sweeps beside each other: noise, and changes that do not come again."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.say import answers
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.noise import noise_table, second_look


def analysed(folder: Path, effect: float, **truth: float) -> Analysis:
    made = made_up.Truth(
        branches=["master", "odd", "even"],
        workloads={"tsp": 0.1},
        threads=[1, 2],
        trials=7,
        effects={("odd", "tsp"): effect},
        seed=8,
        **truth,  # type: ignore[arg-type]
    )
    return analyse(read_sweep(made_up.write_sweep(folder, made)))


def test_a_change_that_does_not_come_again_is_shown_with_the_verdict_on_it(tmp_path: Path) -> None:
    first, second = analysed(tmp_path / "first", 1.2), analysed(tmp_path / "second", 1.0)
    looked = second_look(first, second)
    row = looked.row(by_predicate=pl.col("branch") == "odd", named=True)
    assert row["first"].startswith("+2")
    assert row["verdict of the second"] == "inconclusive"
    assert (
        "odd"
        in second_look(first, first).filter(pl.col("verdict of the second") == "slower")["branch"]
    )


def test_a_noisier_sweep_has_a_wider_band(tmp_path: Path) -> None:
    found = noise_table(
        {
            "quiet": analysed(tmp_path / "a", 1.2),
            "noisy": analysed(tmp_path / "b", 1.0, trial_noise=0.1),
        }
    )
    bands = {row["sweep"]: float(row["noise floor"].strip("±% ")) for row in found.rows(named=True)}
    assert bands["noisy"] > 3 * bands["quiet"]
    assert found.select("sweep", "branch", "claims").row(0) == ("quiet", "odd", 1)


def test_the_answer_on_noise_counts_the_changes_that_came_again(tmp_path: Path) -> None:
    first, second = analysed(tmp_path / "first", 1.2), analysed(tmp_path / "second", 1.0)
    assert answers.noise(first, second).endswith(" 0 are significant with several.")
    assert answers.noise(first, first).endswith(" 1 is significant with several.")
