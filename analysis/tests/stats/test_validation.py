"""Predicted beside measured times, on synthetic sweeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import synthetic
from sweep_analysis.__main__ import main
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import Sweep
from sweep_analysis.report.statement import Statement
from sweep_analysis.report.statement_kinds import KINDS
from sweep_analysis.say.validation import difference_sentence, validation_sentences
from sweep_analysis.stats.analysis import Analysis, analyse
from sweep_analysis.stats.differences import differences
from sweep_analysis.stats.validation import validation

BRANCHES = ["packed", "split-counters"]


def sweep(
    machine: str | None,
    *,
    created_at: str,
    threads: tuple[int, ...] = (1, 2),
    placements: tuple[str, ...] = ("free",),
) -> Sweep:
    """A sweep without noise.

    The simulated machine has one error: `tsp` with one branch takes 1.5 times too long.
    """
    truth = synthetic.Truth(
        branches=BRANCHES,
        workloads={"tsp": 0.1, "quicksort": 0.2},
        threads=list(threads),
        cpus=2,
        effects={("split-counters", "tsp"): 1.5, ("packed", "tsp"): 1.1} if machine else {},
        **synthetic.QUIET,
        machine=machine,
        pinned=None if placements == ("free",) else {},
    )
    made = synthetic.with_manifest(synthetic.swept(truth), created_at=created_at)
    return replace(made, trials=made.trials.filter(pl.col("placement").is_in(placements)))


def pair(**of_measured: object) -> tuple[Sweep, Sweep]:
    return (
        sweep("here", created_at="2026-11-22T01:00:00Z"),
        sweep(None, **{"created_at": "2026-11-22T02:00:00Z", **of_measured}),  # type: ignore[arg-type]
    )


def test_ratios_are_those_that_are_true_and_the_miss_is_named() -> None:
    simulated, measured = pair()
    found = validation(simulated, measured)
    rows = {(row["workload"], row["branch"], row["threads"]): row for row in found.cells.to_dicts()}
    assert len(rows) == 2 * 2 * 2  # neither the A/A control nor the sequential program
    assert rows["quicksort", "packed", 2]["ratio"] == pytest.approx(1.0)
    assert rows["tsp", "packed", 2]["ratio"] == pytest.approx(1.1)
    assert rows["tsp", "packed", 2]["is_near"]
    assert rows["tsp", "split-counters", 1]["ratio"] == pytest.approx(1.5)
    assert rows["tsp", "split-counters", 2]["measured_scaling"] == pytest.approx(0.55)
    assert set(found.missed["workload"]) == {"tsp"}
    assert found.share == pytest.approx(6 / 8)
    assert found.mean_ratio == pytest.approx((1.1**2 * 1.5**2) ** (1 / 8))
    said = validation_sentences(found, simulated, measured)
    assert any("tsp" in line and "1.50 with `split-counters`" in line for line in said)
    assert "6 of 8 configurations within 20% (75%)" in said[-1]
    assert said[-1].startswith("**Validation of times failed**: ")
    assert "; the threshold is 80%. " in said[-1]
    assert not any("quicksort" in line for line in said)


def test_the_validation_of_times_passes_with_few_misses() -> None:
    simulated, measured = pair()
    found = validation(simulated, measured)
    fewer = replace(
        found, cells=found.cells.filter(~(pl.col("ratio") > 1.4) | (pl.col("threads") == 1))
    )
    said = validation_sentences(fewer, simulated, measured)
    assert said[-1].startswith(
        "**Validation of times passed**: 6 of 7 configurations within 20% (86%)"
    )


def test_a_simulation_that_began_after_the_measurement_is_no_prediction() -> None:
    simulated, measured = pair(created_at="2026-11-22T00:30:00Z")
    found = validation(simulated, measured)
    assert not found.is_prediction
    assert any("no prediction" in line for line in validation_sentences(found, simulated, measured))


def test_a_prediction_matches_a_measurement_with_pinned_workers_but_not_one_of_two_placements() -> (
    None
):
    simulated, measured = pair(placements=("pinned",))
    found = validation(simulated, measured)
    assert (found.cells.height, found.unmatched) == (8, 0)
    changes = differences(analyse(simulated), analyse(measured))
    assert changes.height == 4
    with pytest.raises(InputError, match="free and pinned workers"):
        validation(*pair(placements=("free", "pinned")))


def test_configurations_of_one_sweep_alone_are_counted_and_left_out() -> None:
    simulated, measured = pair(threads=(1, 2, 4))
    found = validation(simulated, measured)
    assert (found.cells.height, found.unmatched) == (8, 4)


def test_sweeps_in_the_wrong_order_or_without_a_common_configuration_are_refused() -> None:
    simulated, measured = pair(threads=(8,))
    with pytest.raises(InputError, match="it was measured"):
        validation(measured, simulated)
    with pytest.raises(InputError, match="simulated: here"):
        validation(simulated, simulated)
    with pytest.raises(InputError, match="shares no configuration"):
        validation(simulated, measured)


def test_the_command_prints_a_table_and_writes_the_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated, measured = pair()
    folders = [str(simulated.path), str(measured.path)]
    output = tmp_path / "drawn"
    assert main(["validate", *folders, "--format", "md", "--output", str(output)]) == 0
    told = capsys.readouterr().out
    assert "| simulated ms | measured ms |" in told
    assert "6 of 8 configurations" in told.rstrip().splitlines()[-1]
    assert (output / "validation.csv").is_file()
    drawn = (output / "validation.svg").read_text()
    assert "simulated time in ms (here)" in drawn
    assert main(["validate", *folders[::-1]]) == 2


def with_effects(effects: dict[tuple[str, str], float], machine: str | None) -> Analysis:
    truth = synthetic.Truth(
        branches=BRANCHES,
        workloads={"tsp": 0.1, "quicksort": 0.2},
        threads=[1, 2],
        cpus=2,
        effects=effects,
        machine=machine,
    )
    return analyse(synthetic.swept(truth))


def test_a_simulation_with_a_branch_on_the_wrong_side_fails_however_near_its_times(
    tmp_path: Path,
) -> None:
    measured = with_effects({("split-counters", "tsp"): 0.9}, None)
    wrong = with_effects({("split-counters", "tsp"): 1.05}, "here")
    right = with_effects({("split-counters", "tsp"): 0.92}, "here")
    rows = differences(wrong, measured)
    of_tsp = rows.filter(workload="tsp")
    assert of_tsp["is_certain"].all()
    assert not of_tsp["is_right"].any()
    assert not of_tsp["is_near"].any()
    assert rows.filter(workload="quicksort")["is_near"].all()
    assert "Validation of gains and losses failed" in difference_sentence(rows, "packed")
    believed = differences(right, measured)
    assert believed.filter(workload="tsp")["is_right"].all()
    asked = Statement("FINDINGS.md", tmp_path, [wrong, measured], [])
    text, _ = KINDS["validated"](asked)
    assert "| wrong |" in text


def test_differences_need_one_baseline() -> None:
    measured = with_effects({}, None)
    other = Analysis(measured.sweep, "split-counters")
    with pytest.raises(InputError, match="its baseline is `split-counters`"):
        differences(measured, other)
