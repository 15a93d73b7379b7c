"""Counts of instrumented builds, on synthetic sweeps whose rates are known.

Times of instrumented builds never enter the timed results.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import EVENT_RATES, LINE_RATES
from sweep_analysis.read.load import Sweep
from sweep_analysis.say.cautions import cautions
from sweep_analysis.say.facts import facts
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.events import (
    event_rates,
    headline_rates,
    line_rates,
    scale,
    writes_per_push,
)

PACKED = {
    "packed_word_loads": 40,
    "packed_word_rmws": 10,
    "packed_word_cas_failures": 2,
    "steals_tried": 6,
}
SPLIT = {
    "sleeping_loads": 8,
    "sleeping_rmws": 1,
    "sleeping_cas_failures": 0,
    "inactive_loads": 30,
    "inactive_rmws": 5,
    "inactive_cas_failures": 1,
    "steals_tried": 0,
}
TRIALS = 3
NO_EVENTS = {"iterations": 1, "work_units": 1, "workers": [], "outside": {}}


def truth(**more: Any) -> synthetic.Truth:  # noqa: ANN401 - any field of `Truth`
    """The packed build, and builds with two counter words, with and without padding; master has no counts."""
    names = ["packed", "split", "split-padded"]
    fields: dict[str, Any] = {
        "branches": ["master", *names],
        "workloads": {"tsp": 0.1},
        "threads": [1, 2],
        "features": {"packed": [], "split": ["split"], "split-padded": ["split", "cache-padded"]},
        "counts": dict(zip(names, [PACKED, SPLIT, SPLIT], strict=True)),
        "counted_trials": TRIALS,
    }
    return synthetic.Truth(**(fields | more))


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return synthetic.swept(truth())


def row(frame: pl.LazyFrame, **key: object) -> dict[str, Any]:
    return (
        frame.filter(*(pl.col(name) == value for name, value in key.items()))
        .collect()
        .row(0, named=True)
    )


def rate(count: int, threads: int, replicate: int) -> float:
    """The count that `synthetic` writes for `replicate`, per unit of work.

    Each worker counts, and the external threads together count once.
    """
    return (count * threads + 1) * replicate / synthetic.COUNTED_UNITS


def test_a_rate_is_the_median_over_trials_of_all_threads_per_unit_of_work(sweep: Sweep) -> None:
    rates = event_rates(sweep)
    assert rates.collect_schema() == EVENT_RATES
    found = row(rates, branch="packed", threads=2, event="packed_word_loads")
    assert found["trials"] == TRIALS
    assert found["per_unit"] == pytest.approx(rate(40, threads=2, replicate=2))
    assert found["per_unit_low"] == pytest.approx(rate(40, threads=2, replicate=1))
    assert found["per_unit_high"] == pytest.approx(rate(40, threads=2, replicate=3))
    assert found["work_unit"] == "elements"
    assert rates.collect().height == 2 * (len(PACKED) + 2 * len(SPLIT))


def test_the_headline_adds_up_over_the_words_of_a_trial_before_it_takes_the_median(
    sweep: Sweep,
) -> None:
    rates = headline_rates(sweep)
    writes = row(rates, branch="split", threads=1, event="writes")
    assert writes["per_unit"] == pytest.approx(rate(1, 1, 2) + rate(5, 1, 2))
    assert writes["per_unit_high"] == pytest.approx(rate(1, 1, 3) + rate(5, 1, 3))
    assert row(rates, branch="packed", threads=1, event="steals_tried")[
        "per_unit"
    ] == pytest.approx(rate(6, 1, 2))
    assert set(rates.collect()["event"]) == {"writes", "loads", "steals_tried"}


def test_words_without_padding_share_a_line_and_padded_ones_do_not(sweep: Sweep) -> None:
    lines = line_rates(sweep)
    assert lines.collect_schema() == LINE_RATES
    names = {
        branch: part["line"].to_list() for (branch,), part in lines.collect().group_by("branch")
    }
    assert {branch: sorted(set(line)) for branch, line in names.items()} == {
        "packed": ["packed_word"],
        "split": ["inactive + sleeping"],
        "split-padded": ["inactive", "sleeping"],
    }
    shared = row(lines, branch="split", threads=2)
    assert shared["writes"] == pytest.approx(rate(1, 2, 2) + rate(5, 2, 2))
    assert shared["loads"] == pytest.approx(rate(8, 2, 2) + rate(30, 2, 2))
    alone = row(lines, branch="split-padded", threads=2, line="inactive")
    assert alone["writes"] == pytest.approx(rate(5, 2, 2))
    assert (alone["writes_low"], alone["writes_high"]) == pytest.approx(
        (rate(5, 2, 1), rate(5, 2, 3))
    )
    assert alone["cas_failures"] == pytest.approx(rate(1, 2, 2))


def test_counted_trials_change_no_time_no_ratio_and_no_band() -> None:
    with_counts = analyse(synthetic.swept(truth()))
    without = analyse(synthetic.swept(truth(counts={})))
    assert with_counts.events.height > without.events.height == 0
    assert with_counts.times.equals(without.times)
    assert with_counts.speedups.equals(without.speedups)
    assert with_counts.comparisons.equals(without.comparisons)
    assert with_counts.sweep.branches == without.sweep.branches
    assert cautions(with_counts) == cautions(without)
    assert facts(with_counts)["Trials"].endswith("; 18 counted, not timed")


@pytest.mark.parametrize(
    ("branch", "field", "value", "message"),
    [
        (
            "split-padded-instrumented",
            "iterations",
            [{"elapsed_ns": 1, "user_ns": 1, "system_ns": 0, "work_units": 1}],
            "has times of an instr",
        ),
        (
            "split-padded-instrumented",
            "events",
            None,
            "field `events` is missing in a trial of `split-padded-instrumented`",
        ),
        ("master", "events", NO_EVENTS, "field `events` is present in a trial of `master"),
    ],
)
def test_a_trial_with_times_and_counts_or_with_neither_is_refused(
    branch: str, field: str, value: object, message: str
) -> None:
    def change(record: dict[str, Any]) -> None:
        if record["branch"] == branch:
            record[field] = value

    with pytest.raises(InputError, match=message):
        synthetic.swept(truth(), change)


def test_a_failed_counted_trial_is_said_and_left_out() -> None:
    failing = truth(
        fails=lambda branch, *place: (
            "crash" if (branch, place[2]) == ("packed-instrumented", 1) else None
        )
    )
    analysis = analyse(synthetic.swept(failing))
    # One of three replicates failed, at two thread counts. There are three counted branches.
    assert any("2 of 18 counted trials failed (crash)" in text for text in cautions(analysis))
    assert not any("not finished" in text for text in cautions(analysis))
    assert analysis.failures.is_empty()
    found = row(event_rates(analysis.sweep), branch="packed", threads=1, event="steals_tried")
    assert found["trials"] == TRIALS - 1
    assert found["per_unit"] == pytest.approx((rate(6, 1, 1) + rate(6, 1, 3)) / 2)


def test_rates_are_shown_per_as_many_units_as_make_the_largest_one_or_more() -> None:
    for largest, factor in ((2.5, 1), (0.002, 1000), (3e-6, 10**6), (4e-9, 10**9), (0.0, 1)):
        assert scale(pl.Series([0.0, largest]))[0] == factor


def test_writes_per_push_are_those_of_the_line_that_pushes_read() -> None:
    counts = {
        "packed": PACKED | {"pushes": 5},
        "split": SPLIT | {"pushes": 5},
        "split-padded": SPLIT | {"pushes": 5},
    }
    rows = writes_per_push(synthetic.swept(truth(counts=counts, threads=[1])))
    # The worker and the external threads each count every event once.
    assert dict(rows.select("branch", "writes_per_push").rows()) == pytest.approx(
        {
            "packed": (10 + 1) / (5 + 1),
            "split": (1 + 1 + 5 + 1) / (5 + 1),
            "split-padded": (1 + 1) / (5 + 1),
        }
    )
