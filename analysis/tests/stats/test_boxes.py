"""Signs over boxes of machines whose truth is known: which signs are stated, and which cost parameter flips a sign."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import synthetic
from sweep_analysis.read.frames import LINE_WAIT_RATES, TIMES
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import TRIALS
from sweep_analysis.say.boxes import box_sentence, box_table, rest_sentence, waits_table
from sweep_analysis.stats.boxes import LEVEL, UNDECIDED, box_signs, longest_waits, lower_bound
from sweep_analysis.stats.compare import FASTER, SLOWER

Floats = npt.NDArray[np.float64]
Truth = Callable[[dict[str, Floats]], Floats]
"""A function from the machines' cost parameters to the true log of a branch's ratio on each machine."""

MACHINES, SEEDS = 60, 3
PRICES = ["hit-ns", "wake-ns", "fence-ns", "yield-ns", "work"]
BRANCH = "tried"


def prices_of(rng: np.random.Generator, machines: int = MACHINES) -> dict[str, Floats]:
    """Values from 1000 to 10 000, log-uniform, with one value in each part of the range."""
    part = 1.0 / machines
    return {
        key: 1000 * 10 ** ((rng.permutation(machines) + rng.random(machines)) * part)
        for key in PRICES
    }


def boxed(
    truth: Truth,
    seed: int,
    noise: float = 0.06,
    failed: frozenset[int] = frozenset(),
    control: Truth | None = None,
    baseline: str = "master",
) -> pl.DataFrame:
    """`frames.BOX` of a synthetic sweep: see `swept`."""
    return box_signs(*swept(truth, seed, noise, failed, control), baseline)


def swept(
    truth: Truth,
    seed: int,
    noise: float = 0.06,
    failed: frozenset[int] = frozenset(),
    control: Truth | None = None,
) -> tuple[Sweep, pl.DataFrame]:
    """A synthetic sweep over a box, and its times: `noise` is the standard deviation of a trial's log-time."""
    rng = np.random.default_rng(seed)
    prices = prices_of(rng)
    logs = {
        "master": np.zeros(MACHINES),
        "master-again": (control or same(0))(prices),
        BRANCH: truth(prices),
    }
    rows = [
        {
            "trial": f"{name} {machine} {replicate}",
            "branch": name,
            "program": "parallel",
            "workload": "packets",
            "size": "tiny",
            "parameters": f"box={machine + 1} words=100",
            "input": None,
            "mode": "dynamic",
            "placement": "free",
            "threads": 64,
            "outcome": "timeout"
            if (name, replicate) == (BRANCH, 0) and machine in failed
            else "ok",
            "ns_per_unit": float(np.exp(5 + of_machine[machine] + rng.normal(0, noise))),
        }
        for name, of_machine in logs.items()
        for machine in range(MACHINES)
        for replicate in range(SEEDS)
    ]
    frame = pl.DataFrame(rows)
    points = [
        {"topology": "8x8", "cpus": 64, "prices": {key: prices[key][it] for key in PRICES}}
        for it in range(MACHINES)
    ]
    manifest = {"asked": {"machine": {"name": "box", "points": points}}}
    times = synthetic.with_schema(
        frame.filter(outcome="ok").with_columns(pl.col("input").fill_null("")), TIMES
    )
    trials = synthetic.with_schema(frame, TRIALS).lazy()
    sweep = Sweep(Path("box"), manifest, {}, trials, pl.LazyFrame(), ["master", BRANCH], "master")
    return sweep, times


def same(log: float) -> Truth:
    return lambda prices: log + 0 * prices["work"]


def turning(factor: int) -> Truth:
    return lambda prices: factor * np.log(prices["wake-ns"] / 4000)


def verdict(truth: Truth, seed: int, noise: float = 0.06) -> str:
    return str(boxed(truth, seed, noise)["verdict"].item())


def test_the_bound_is_that_of_the_exact_binomial() -> None:
    assert lower_bound(59, 59) == pytest.approx(0.05 ** (1 / 59))
    assert lower_bound(59, 59) >= 0.95 > lower_bound(58, 58)
    assert lower_bound(30, 30) == pytest.approx(0.905, abs=5e-4)
    assert lower_bound(0, 60) == 0


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
def test_the_bound_lies_above_the_true_share_no_more_often_than_it_says(share: float) -> None:
    rng = np.random.default_rng(1)
    agreeing = rng.binomial(MACHINES, share, 4000)
    above = np.mean([lower_bound(int(it), MACHINES) > share for it in agreeing])
    assert above <= LEVEL + 0.01


def test_equal_branches_are_never_claimed() -> None:
    claimed = [verdict(same(0), seed) for seed in range(40)]
    assert claimed == [UNDECIDED] * 40


def test_a_large_sign_that_holds_on_the_whole_box_is_claimed_in_its_direction() -> None:
    for gain, sign in ((-0.5, FASTER), (0.5, SLOWER)):
        found = [verdict(same(gain), seed) for seed in range(10)]
        assert found == [sign] * 10


def test_a_sign_on_four_fifths_of_the_box_is_not_claimed_however_large_its_median() -> None:
    def truth(prices: dict[str, Floats]) -> Floats:
        return np.where(prices["wake-ns"] > 1000 * 10**0.8, 0.6, -0.9)

    assert [verdict(truth, seed) for seed in range(10)] == [UNDECIDED] * 10


def test_a_sign_everywhere_that_is_smaller_than_the_error_of_the_costs_is_not_claimed() -> None:
    found = boxed(same(-0.05), 1, noise=0.001)
    assert found["faster"].item() == MACHINES
    assert found["verdict"].item() == UNDECIDED


def test_a_median_inside_the_range_of_the_control_is_not_claimed() -> None:
    def control(prices: dict[str, Floats]) -> Floats:
        return np.where(prices["work"] > 3000, 0.4, -0.4)

    found = boxed(same(-0.3), 3, noise=0.01, control=control)
    assert found["faster"].item() == MACHINES
    assert found["control_low"].item() < found["ratio"].item() < 0.8
    assert found["verdict"].item() == UNDECIDED


def test_machines_that_failed_count_against_the_sign() -> None:
    whole = boxed(same(-0.5), 1)
    some = boxed(same(-0.5), 1, failed=frozenset(range(6)))
    assert [whole[name].item() for name in ("faster", "failed", "verdict")] == [60, 0, FASTER]
    assert [some[name].item() for name in ("machines", "faster", "failed")] == [60, 54, 6]
    assert some["verdict"].item() == UNDECIDED


def test_the_cost_with_which_a_sign_flips_is_named_with_its_value_and_its_side() -> None:
    for factor, side in ((1, "above"), (-1, "below")):
        found = [boxed(turning(factor), seed).row(0, named=True) for seed in range(10)]
        assert {row["price"] for row in found} == {"wake-ns"}
        assert all(row["flips_at"] == pytest.approx(4000, rel=0.15) for row in found)
        told = box_table(pl.DataFrame(found, schema_overrides={"rho": pl.Float64}))["result"][0]
        assert told.startswith(f"undecided; slower where wake is {side} ")
        assert told.endswith(" µs")


@pytest.mark.parametrize(("value", "told"), [(420.0, "420 ns"), (123_456.0, "120 µs")])
def test_a_value_is_given_in_its_unit_with_two_digits(value: float, told: str) -> None:
    row = boxed(turning(1), 1).with_columns(flips_at=pl.lit(value))
    assert box_table(row)["result"].item().endswith(f" {told}")


def test_no_value_is_given_that_does_not_separate_the_signs() -> None:
    def truth(prices: dict[str, Floats]) -> Floats:
        order = np.argsort(np.argsort(prices["wake-ns"]))
        return np.where(np.isin(order, [12, 25, 40]), -0.5, np.log(prices["wake-ns"] / 500))

    row = boxed(truth, 1)
    assert [row[name].item() for name in ("faster", "price", "flips_at")] == [3, "wake-ns", None]
    assert box_table(row)["result"].item() == UNDECIDED


def test_chance_names_no_cost_parameter() -> None:
    named = [boxed(same(0), seed)["price"].item() for seed in range(40)]
    assert named == [None] * 40


def test_a_sentence_has_the_share_and_no_size() -> None:
    found = boxed(same(-0.5), 1)
    assert box_sentence(found, BRANCH, "master") == (
        "Over the box, `tried` against `master` takes less time on `packets` with 64 threads "
        "(60 of 60 machines, at least 95 % of the box)"
    )


def test_configurations_without_a_sign_can_be_counted_instead_of_named() -> None:
    found = boxed(same(-0.5), 1)
    without = [
        boxed(same(0), 1).with_columns(threads=pl.lit(it, found["threads"].dtype)) for it in (1, 2)
    ]
    told = box_sentence(pl.concat([found, *without]), BRANCH, "master", is_undecided_named=False)
    assert told.endswith("at least 95 % of the box); is undecided on 2 other configurations")
    told = box_sentence(without[0], BRANCH, "master", is_undecided_named=False)
    assert told == "Over the box, `tried` against `master` is undecided on 1 configuration"


def test_the_longest_wait_of_each_machine_is_counted() -> None:
    places = {
        "workload": "sum",
        "size": "tiny",
        "input": "",
        "mode": "dynamic",
        "placement": "free",
    }
    waits = [("box=1 n=2", "a:1", 0.6), ("box=1 n=2", "b:2", 0.4), ("box=2 n=2", "a:1", 0.9)]
    waits += [("box=3 n=2", "b:2", 0.7), ("box=3 n=2", "a:1", 0.3)]
    rows = [
        places
        | {"parameters": words, "threads": 64, "branch": "master", "at": at, "share": share}
        | {"written_at": "w:3"}
        for words, at, share in waits
    ]
    found = longest_waits(pl.DataFrame(rows, schema_overrides=LINE_WAIT_RATES))
    assert found.select("at", "on", "machines").rows() == [("a:1", 2, 3), ("b:2", 1, 3)]
    assert waits_table(found)["on"].to_list() == ["2 of 3", "1 of 3"]


def test_another_baseline_is_compared_with_and_the_control_stays_that_of_the_sweep() -> None:
    own, other = (boxed(same(-0.5), 1, baseline=name) for name in ("master", BRANCH))
    assert other["branch"].to_list() == ["master"]
    assert other["ratio"].item() == pytest.approx(1 / own["ratio"].item(), rel=0.01)
    assert other["verdict"].item() == SLOWER
    columns = ["control", "control_low", "control_high"]
    assert other.select(columns).row(0) == own.select(columns).row(0)


def test_only_the_given_points_count_and_no_point_makes_no_row() -> None:
    def truth(prices: dict[str, Floats]) -> Floats:
        return np.where(np.arange(prices["work"].size) < 30, -0.5, 0.5)

    every, some, none = (
        box_signs(*swept(truth, 1), "master", points)
        for points in (None, list(range(1, 31)), list[int]())
    )
    assert [every[name].item() for name in ("machines", "faster", "verdict")] == [60, 30, UNDECIDED]
    assert [some[name].item() for name in ("machines", "faster", "verdict")] == [30, 30, FASTER]
    assert some["control"].item() == 30
    assert none.is_empty()


def test_the_signs_over_some_points_are_told_beside_those_over_the_whole_box() -> None:
    def truth(prices: dict[str, Floats]) -> Floats:
        return np.where(np.arange(prices["work"].size) < 32, -0.5, 0.5)

    whole, rest = (
        box_signs(*swept(truth, 1), "master", points) for points in (None, list(range(1, 33)))
    )
    assert rest_sentence(rest, whole) == (
        "1 of 1 sign holds over the rest: `tried` takes less time on `packets` with 64 threads (32 of 32). "
        "Over the whole box 0 of 1 do"
    )
    assert rest_sentence(whole, whole).startswith("0 of 1 sign hold over the rest. ")


def test_a_sweep_over_no_box_has_no_row() -> None:
    sweep = Sweep(Path("one"), {"asked": {}}, {}, pl.LazyFrame(), pl.LazyFrame(), [], "master")
    assert box_signs(sweep, pl.DataFrame(schema=TIMES), "master").is_empty()
