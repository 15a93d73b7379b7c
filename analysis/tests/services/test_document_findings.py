"""Sentences on the documents' experiments, from points with a known answer."""

from __future__ import annotations

import polars as pl
import pytest

from sweep_analysis.read.labels import HERE, PUBLISHED
from sweep_analysis.services.document_findings import agreement, found, span
from sweep_analysis.services.servers import FORUM_POINTS, SERVICE_POINTS
from sweep_analysis.services.wall_times import WALL_POINTS

PANEL = "2 contenders"


def section(origin: str, way: str, steps: int, ms: float, half: float = 0.1) -> dict[str, object]:
    """A cell of a lock, with the interval `ms` ± `half`."""
    place = {"place": "threads", "panel": PANEL, "way": way, "x": steps, "branch": "master"}
    interval = (
        {"low": ms - half, "high": ms + half} if origin == HERE else {"low": None, "high": None}
    )
    return {"origin": origin, "wall_ms": ms, "cpu_ms": None, "trials": 5, **place, **interval}


def walls(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=WALL_POINTS)


def test_two_locks_agree_with_the_document_where_the_same_one_is_quicker() -> None:
    points = walls(
        section(PUBLISHED, "mutex", 10, 1.0),
        section(PUBLISHED, "spin", 10, 2.0),
        section(HERE, "mutex", 10, 5.0),
        section(HERE, "spin", 10, 6.0),
    )
    assert agreement(points, "wall-by-section") == (1, 0, 0)
    other = points.with_columns(
        pl.when(way="spin", origin=HERE)
        .then(pl.col("wall_ms", "low", "high") - 2)
        .otherwise(pl.col("wall_ms", "low", "high"))
    )
    assert agreement(other, "wall-by-section") == (0, 1, 0)


def test_two_boards_are_compared_under_the_harness_that_they_share() -> None:
    def rate(origin: str, way: str, value: float) -> dict[str, object]:
        ends = {"low": value - 1, "high": value + 1} if origin == HERE else {}
        place = {"origin": origin, "kind": "post", "posters": 1, "readers": 1, "way": way}
        return place | {"requests_per_second": value} | ends

    rows = [
        rate(PUBLISHED, "own, own harness", 12.0),
        rate(PUBLISHED, "own, reference harness", 9.0),
        rate(PUBLISHED, "reference, reference harness", 10.0),
        rate(HERE, "pool", 50.0),
        rate(HERE, "threads", 40.0),
        rate(HERE, "pool, long lines", 50.0),
        rate(HERE, "threads, long lines", 40.0),
    ]
    # The same order under the own harness, the other one under the second.
    assert agreement(pl.DataFrame(rows, schema=FORUM_POINTS), "forum-grid") == (1, 1, 0)


def test_how_the_napping_queue_begins_is_told_with_the_most_handlers() -> None:
    def part(threads: int, request: int, ms: float) -> dict[str, object]:
        place = {
            "origin": HERE,
            "side": "order",
            "panel": f"{threads} handlers",
            "threads": threads,
        }
        return place | {
            "way": "lock-free sleeping 250 ms, global",
            "request": request,
            "value_ms": ms,
        }

    rows = [part(1, 100, 251.0), part(32, 100, 249.0), part(32, 200, 31.0), part(32, 300, 7.5)]
    sentence = found("kv-queues", pl.DataFrame(rows, schema=SERVICE_POINTS))[-1]
    assert (
        "32 handlers: the longest of the first 100 takes 249 ms, of the last ones 7.50 ms"
        in sentence
    )


def test_no_order_is_told_where_intervals_overlap() -> None:
    points = walls(
        section(PUBLISHED, "mutex", 10, 1.0),
        section(PUBLISHED, "spin", 10, 2.0),
        section(HERE, "mutex", 10, 5.0, half=1.0),
        section(HERE, "spin", 10, 6.0, half=1.0),
    )
    assert agreement(points, "wall-by-section") == (0, 0, 1)


@pytest.mark.parametrize(
    ("spin", "said"),
    [
        ((1.0, 1.0, 1.0), "loses nowhere"),
        ((1.0, 9.0, 9.0), "from 100 steps on"),
        ((9.0, 1.0, 9.0), "from 1000 steps on"),
    ],
)
def test_a_lock_loses_from_the_length_on_after_which_it_never_catches_up(
    spin: tuple[float, float, float], said: str
) -> None:
    rows = [section(HERE, "mutex", steps, 1.0) for steps in (10, 100, 1000)]
    rows += [
        section(HERE, "spin", steps, ms) for steps, ms in zip((10, 100, 1000), spin, strict=True)
    ]
    (sentence,) = found("locks-beyond-quantum", walls(*rows))
    assert said in sentence


def test_an_asynchronous_transfer_costs_the_difference_shared_by_all_transfers() -> None:
    panel = {"place": "writes to the cache", "panel": "10 tasks, 5 transfers each"}
    rows = [
        section(HERE, way, 512, ms) | panel
        for way, ms in (("asynchronous", 9.5), ("synchronous", 8.5), ("pool", 8.0))
    ]
    sentences = found("async-io-size", walls(*rows))
    assert sentences[-1].endswith("writes to the cache +20.0 µs.")
    assert "1.12 here" in sentences[0]


def test_nothing_is_said_about_what_was_not_measured() -> None:
    assert found("locks-mutex-spin", walls(section(PUBLISHED, "mutex", 10, 1.0))) == []


def test_a_span_has_three_digits_and_its_sign() -> None:
    assert span([0.38412, 0.36177], "ms") == "0.362 to 0.384 ms"
    assert span([1.0, -12.345], "%", signed=True) == "−12.3 to +1.00 %"
    assert span([100000, 10]) == "10 to 100000"
    assert span([2.0, 2.0], "times") == "2.00 times"
