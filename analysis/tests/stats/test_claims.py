"""Hypotheses on synthetic sweeps of known truth: held, falsified, inconclusive, or not tested."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import CLAIM_DETAILS, CLAIMS
from sweep_analysis.read.load import CHECKOUT, Sweep
from sweep_analysis.stats.claims import (
    FALSIFIED,
    HELD,
    OPEN,
    UNTESTED,
    Checked,
    check_claims,
    thread_range,
)
from sweep_analysis.stats.speedup import trial_times

THREE = ["master", "packed", "split-counters"]


def sweep_with(truth: synthetic.Truth, claims: dict[str, list[dict[str, Any]]]) -> Sweep:
    sweep = synthetic.swept(truth)
    known = sweep.manifest["branches"]
    branches = [branch | {"claims": claims.get(branch["name"], [])} for branch in known]
    return synthetic.with_manifest(sweep, branches=branches)


def checked(
    truth: synthetic.Truth,
    claims: list[dict[str, Any]],
    branch: str = "packed",
    change: dict[str, pl.Expr] | None = None,
) -> Checked:
    sweep = sweep_with(truth, {branch: claims})
    return check_claims(sweep, trial_times(sweep).with_columns(**(change or {})))


def results_of(
    truth: synthetic.Truth, claims: list[dict[str, Any]], branch: str = "packed"
) -> list[str]:
    frame = checked(truth, claims, branch).claims
    assert frame.schema == CLAIMS
    return frame["verdict"].to_list()


def expecting(*words: str, **more: str) -> list[dict[str, Any]]:
    return [{"expect": word, **more} for word in words]


ALL = ("faster", "slower", "equal", "no-faster", "no-slower")


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (0.93, [HELD, FALSIFIED, FALSIFIED, FALSIFIED, HELD]),
        (1.07, [FALSIFIED, HELD, FALSIFIED, HELD, FALSIFIED]),
        (1.0, [OPEN, OPEN, HELD, HELD, HELD]),
    ],
)
def test_each_expectation_gets_the_result_that_the_truth_implies(
    effect: float, expected: list[str]
) -> None:
    truth = synthetic.Truth(
        branches=THREE,
        effects={("packed", name): effect for name in ("quicksort", "tsp", "packets")},
        trials=7,
    )
    assert results_of(truth, expecting(*ALL)) == expected


def test_a_claim_is_about_its_own_workloads_and_threads() -> None:
    truth = synthetic.Truth(branches=THREE, effects={("packed", "tsp"): 0.9}, trials=7)
    claims: list[dict[str, Any]] = [
        {"expect": "faster", "workloads": ["tsp"], "threads": "2..=cpus"},
        {"expect": "equal", "workloads": ["quicksort", "packets"]},
    ]
    frame = checked(truth, claims).claims
    assert frame["verdict"].to_list() == [HELD, HELD]
    assert frame["cells"].to_list() == [
        2,
        4,
    ]  # 2 and 4 of the thread counts 1, 2, 4, 8, on four CPUs
    assert frame["time_ratio"][0] == pytest.approx(0.9, rel=0.02)


def test_another_branch_can_be_claimed_against() -> None:
    truth = synthetic.Truth(
        branches=THREE, effects={("packed", "tsp"): 0.9}, workloads={"tsp": 0.1}, trials=7
    )
    claims = expecting("slower", against="packed") + expecting("equal")
    assert results_of(truth, claims, "split-counters") == [HELD, HELD]


def test_what_the_sweep_cannot_test_is_not_tested_with_a_reason() -> None:
    truth = synthetic.Truth(
        branches=THREE, fails=lambda branch, *_: "crash" if branch == "split-counters" else None
    )
    claims: list[dict[str, Any]] = [
        {"expect": "faster", "threads": "16..=cpus"},
        {"expect": "faster", "threads": "16.."},
        {"expect": "faster", "workloads": ["sum"]},
        {"expect": "faster", "against": "split-counters"},
    ]
    frame = checked(truth, claims).claims
    assert set(frame["verdict"]) == {UNTESTED}
    assert frame["reason"].to_list() == [
        "`16..=cpus` is empty on this host, whose CPUs are 4",
        "no thread count in `16..` was measured",
        "none of its workloads is in this sweep",
        "`split-counters` has no good trial in this sweep",
    ]


def test_without_an_aa_control_or_enough_pairs_nothing_is_tested() -> None:
    lonely = synthetic.Truth(branches=THREE, workloads={"tsp": 0.1}, twin=False)
    assert results_of(lonely, expecting("equal")) == [UNTESTED]
    short = synthetic.Truth(branches=THREE, workloads={"tsp": 0.1}, threads=[2], trials=3)
    assert results_of(short, expecting("equal")) == [UNTESTED]


def test_many_false_claims_are_rarely_held() -> None:
    """Eight directional hypotheses per sweep, all false.

    Holm's correction limits sweeps with any held hypothesis to 5 %.
    """
    names = ["master", *(f"b{number}" for number in range(4))]
    alarmed = 0
    for seed in range(12):
        truth = synthetic.Truth(
            branches=names, workloads={"tsp": 0.1}, threads=[2, 4], iterations=1, trial_noise=0.03, sequential=False,
            seed=seed,
        )  # fmt: skip
        sweep = sweep_with(truth, {name: expecting("faster", "slower") for name in names[1:]})
        alarmed += HELD in check_claims(sweep, trial_times(sweep)).claims["verdict"]
    assert alarmed <= 3  # 12 draws at 0.05 exceed three once in four hundred times


@pytest.mark.parametrize("spelling", ["quantity", "figure"])
def test_a_claim_in_cpu_time_is_tested_in_cpu_time(spelling: str) -> None:
    truth = synthetic.Truth(branches=THREE, workloads={"tsp": 0.1}, trials=7)
    burns = pl.when(pl.col("branch") == "packed").then(1.2).otherwise(1.0)
    change = {"cpu_ns_per_unit": pl.col("cpu_ns_per_unit") * burns}
    found = checked(truth, expecting("slower", **{spelling: "cpu"}), change=change)
    assert found.claims["verdict"].to_list() == [HELD]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            {"expect": "quick"},
            r"manifest\.json: branch `packed`, `claims\[0\]`: field `expect` is `\"quick\"`: .*; see the first lines",
        ),
        ({"expect": "faster", "threads": "many"}, r"field `threads`: `many` is not a range"),
        ({"against": "master"}, r"claims\[0\]`: .*required field `expect`"),
    ],
)
def test_a_claim_in_a_foreign_form_is_refused(claim: dict[str, Any], message: str) -> None:
    sweep = sweep_with(synthetic.Truth(branches=THREE, trials=1), {"packed": [claim]})
    with pytest.raises(InputError, match=message):
        check_claims(sweep, trial_times(sweep))


def test_ranges_of_threads_are_read_as_the_runner_writes_them() -> None:
    has = {"cpus": 4, "cores": 2}
    ranges = {
        text: thread_range(text, has, "") for text in ("8", "cpus", "8..", "..=cores", "2..=cpus")
    }
    assert ranges == {
        "8": (8, 8),
        "cpus": (4, 4),
        "8..": (8, 1 << 30),
        "..=cores": (1, 2),
        "2..=cpus": (2, 4),
    }
    with pytest.raises(InputError, match="a hypothesis names the host's `cpus`, which is unknown"):
        thread_range("cpus", {"cpus": None, "cores": None}, "host.json")


def test_ranges_of_threads_are_accepted_and_refused_as_the_runner_does_it() -> None:
    # The runner is tested with the same file.
    file = CHECKOUT / "runner" / "src" / "config" / "claim_threads.json"
    texts = json.loads(file.read_text(encoding="utf-8"))
    has = {"cpus": 64, "cores": 32}
    for text in texts["read"]:
        first, last = thread_range(text, has, "")
        assert 1 <= first <= last, text
    for text in texts["refused"]:
        with pytest.raises(InputError, match="is not a range of threads"):
            thread_range(text, has, "")


def test_behind_a_claim_every_workload_has_a_result_of_its_own() -> None:
    truth = synthetic.Truth(
        branches=THREE, effects={("packed", "tsp"): 0.9, ("packed", "packets"): 1.1}, trials=9
    )
    found = checked(truth, expecting("faster", "no-slower"))
    details, claim = found.details, found.claims.row(1, named=True)
    assert claim["verdict"] == FALSIFIED
    told = r"of each workload and thread count \d+ held, \d+ falsified, .*; not ruled out: \+1\d\.\d.% time on packets"
    assert re.match(told, claim["reason"])
    assert details.schema == CLAIM_DETAILS
    pooled = details.filter(pl.col("at_threads").is_null())
    rows = {(row["claim"], row["workload"]): row["verdict"] for row in pooled.rows(named=True)}
    assert rows == {
        (1, "tsp"): HELD,
        (1, "packets"): FALSIFIED,
        (1, "quicksort"): OPEN,
        (2, "tsp"): HELD,
        (2, "packets"): FALSIFIED,
        (2, "quicksort"): HELD,
    }
    assert set(pooled["cells"]) == {2}
    assert details.filter(claim=2).height == 3 * (1 + 4)  # a mean, and four thread counts
    assert details.filter(claim=1).height == 3


def test_a_claim_of_no_loss_covers_latency_as_well() -> None:
    truth = synthetic.Truth(branches=THREE, workloads={"tsp": 0.1}, trials=9)
    longer = pl.when(pl.col("branch") == "packed").then(1.2).otherwise(1.0)
    waits = {"p50_ns": pl.col("ns_per_unit") * longer}
    for change, verdict in (({}, HELD), (waits, FALSIFIED)):
        found = checked(truth, expecting("no-slower"), change=change)
        assert found.claims["verdict"].to_list() == [verdict]


def bimodal(*threads: int) -> synthetic.Truth:
    """A simulated sweep in which `packed` takes five times as long with three of seven seeds, at these thread counts."""
    return synthetic.Truth(
        branches=THREE,
        workloads={"tsp": 0.1},
        threads=[4, 8],
        cpus=8,
        trials=7,
        trial_noise=0.002,
        block_noise=0.0,
        state=lambda branch, _, at, seed: (
            5.0 if branch == "packed" and at in threads and seed < 3 else 1.0
        ),
        machine="synthetic-8",
    )


def test_a_bimodal_configuration_is_no_tested_part_of_a_hypothesis() -> None:
    found = checked(bimodal(8), expecting("no-slower"))
    parts = found.details.filter(quantity="time")
    told = {row["at_threads"]: row for row in parts.rows(named=True)}
    assert {at: row["verdict"] for at, row in told.items()} == {None: HELD, 4: HELD, 8: UNTESTED}
    assert told[8]["reason"] == "it is bimodal"
    assert told[8]["p_holm"] is None
    assert found.claims["verdict"].to_list() == [OPEN]


def test_a_hypothesis_on_bimodal_configurations_alone_is_not_tested() -> None:
    for expectation in ("faster", "no-slower"):
        (claim,) = checked(bimodal(4, 8), expecting(expectation)).claims.rows(named=True)
        assert (claim["verdict"], claim["reason"]) == (UNTESTED, "every configuration is bimodal")
