"""Points of a box that published figures rule out: a planted machine stays, machines of other costs leave."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import polars as pl
import pytest

from sweep_analysis.read.errors import InputError
from sweep_analysis.say.boxes import left_sentence, left_table
from sweep_analysis.stats import published, ruled_out
from sweep_analysis.stats.analysis import Analysis

MACHINE, POINTS, SEEDS = "known-64", 60, 3
PLANTED = 7
"""The point whose costs the published figures have."""

WIDTHS = (2, 4, 8, 16, 32, 64)
RULE = published.RuleOut(MACHINE, 2.0, 0.5)


def costs() -> list[dict[str, float]]:
    """A cost of waking from 0.35 to 35 and one of a hit from 0.1 to 10, both log-uniform; the planted point is central."""
    rng = np.random.default_rng(1)
    places = [rng.permutation(POINTS) / (POINTS - 1) for _ in range(2)]
    drawn = [
        {"hit-ns": 0.1 * 100**hit, "wake-ns": 0.35 * 100**wake}
        for hit, wake in zip(*places, strict=True)
    ]
    drawn[PLANTED - 1] = {"hit-ns": 1.0, "wake-ns": 3.5}
    return drawn


def region_ns(price: dict[str, float], width: int, series: str) -> float:
    """The true time of a region: hits grow with its width; only an external thread wakes a worker."""
    return 1000 * (price["hit-ns"] * width + (10 * price["wake-ns"] if series == "outside" else 0))


def told(truth: dict[str, float], **more: Any) -> published.Published:  # noqa: ANN401
    """Published figures of a machine with the costs `truth`: widths alternate between the halves."""
    how: dict[str, Any] = dict.fromkeys(
        ("source", "program", "machine_told", "governor_told", "clock"), "known"
    )
    series = [
        published.Series(
            name=name,
            machine=MACHINE,
            experiment="regions",
            quantity="wall",
            per=50,
            unit="µs",
            less=0.0,
            figures=[
                published.Figure(
                    f"{width} jobs",
                    64,
                    f"jobs={width} from={name}",
                    region_ns(truth, width, name) / 1000,
                    half=1 if (at + offset) % 2 == 0 else 2,
                )
                for at, width in enumerate(WIDTHS)
            ],
            **how,
        )
        for offset, name in enumerate(("inside", "outside"))
    ]
    fields: dict[str, Any] = {"series": series, "rule_out": RULE} | more
    return published.Published(published.Threshold(1.5, 0.75), sign=[], **fields)


def swept(points: list[dict[str, float]], noise: float = 0.1, topology: str = MACHINE) -> Analysis:
    """A synthetic sweep over the points, with `SEEDS` trials of each figure on each of them."""
    rng = np.random.default_rng(2)
    times = pl.DataFrame(
        [
            {
                "program": "parallel",
                "branch": "master",
                "threads": 64,
                "parameters": f"box={point} from={series} jobs={width}",
                "ns_per_unit": region_ns(price, width, series) * np.exp(rng.normal(0, noise)),
            }
            for point, price in enumerate(points, 1)
            for series in ("inside", "outside")
            for width in WIDTHS
            for _ in range(SEEDS)
        ]
    )
    machines = [{"topology": topology, "cpus": 64, "prices": price} for price in points]
    sweep = SimpleNamespace(path=Path("box"), points=machines)
    return cast("Analysis", SimpleNamespace(times=times, sweep=sweep))


def distance(price: dict[str, float], truth: dict[str, float]) -> float:
    """The factor of the cost that differs most."""
    return max(max(price[key] / truth[key], truth[key] / price[key]) for key in truth)


def test_the_planted_costs_stay_and_costs_that_are_all_too_high_or_too_low_leave() -> None:
    points = costs()
    truth = points[PLANTED - 1]
    figures = told(truth)
    left = ruled_out.left(ruled_out.against(figures, swept(points)), figures)
    assert PLANTED in left
    assert all(number in left for number, it in enumerate(points, 1) if distance(it, truth) < 1.6)
    for factor in (1 / 3, 3):
        wrong = {
            number
            for number, it in enumerate(points, 1)
            if all(
                np.log(it[key] / truth[key]) * np.sign(np.log(factor)) > np.log(3) for key in truth
            )
        }
        assert len(wrong) > 2
        assert not wrong & set(left)


def test_what_is_left_agrees_better_with_the_half_that_ruled_nothing_out() -> None:
    points = costs()
    figures = told(points[PLANTED - 1])
    rows = ruled_out.against(figures, swept(points))
    left = ruled_out.left(rows, figures)
    checks = rows.filter(half=ruled_out.SECOND)
    own = checks.filter(pl.col("point").is_in(left))["agrees"].mean()
    assert 0 < len(left) < POINTS / 2
    assert cast("float", own) > cast("float", checks["agrees"].mean()) + 0.2
    # The other half of the figures has no part in the choice.
    spoilt = rows.with_columns(agrees=pl.col("agrees") & (pl.col("half") == ruled_out.FIRST))
    assert ruled_out.left(spoilt, figures) == left


def test_a_machine_outside_the_box_empties_it_and_the_sentence_says_so() -> None:
    points = costs()
    figures = told({"hit-ns": 200.0, "wake-ns": 700.0})
    rows = ruled_out.against(figures, swept(points))
    left = ruled_out.left(rows, figures)
    assert left == []
    said = left_sentence(rows, left, RULE, {})
    assert "leaves 0 of 60 points of the box" in said
    assert said.endswith("so they falsify the simulator")
    assert left_table(rows, left)["second half, points that are left"].to_list() == ["none"] * 3


def test_the_cost_that_rules_points_out_is_named_with_its_value() -> None:
    points = costs()
    analysis = swept(points)
    figures = told(points[0] | {"hit-ns": 0.1, "wake-ns": 0.35})
    rows = ruled_out.against(figures, analysis)
    left = ruled_out.left(rows, figures)
    found = ruled_out.cause(rows, figures, analysis.sweep)
    assert found["price"] == "hit-ns"
    assert 0.1 < found["flips_at"] < 1
    said = left_sentence(rows, left, RULE, found)
    assert "Most points ruled out are those where hit is above 0." in said


def test_a_point_is_close_to_the_limit_if_two_figures_could_move_it() -> None:
    agreeing = {1: 5, 2: 4, 3: 6, 4: 10, 5: 0}
    rows = pl.DataFrame(
        [
            {"point": point, "half": half, "agrees": at < number, "series": "one", "ratio": 1.0}
            for point, number in agreeing.items()
            for half in (1, 2)
            for at in range(10)
        ]
    )
    said = left_sentence(rows, [1, 3, 4], RULE, {})
    assert "0 to 10 of the 10 figures are within this factor; 3 points would change sides" in said


def test_half_of_the_figures_off_is_not_more_than_half() -> None:
    figures = told({"hit-ns": 1.0, "wake-ns": 1.0})
    rows = pl.DataFrame(
        {
            "point": [1] * 4 + [2] * 4,
            "half": 1,
            "agrees": [True] * 2 + [False] * 2 + [True] + [False] * 3,
        }
    )
    assert ruled_out.left(rows, figures) == [1]


def test_few_points_that_are_left_cannot_show_a_sign_and_enough_can() -> None:
    points = costs()
    figures = told(points[PLANTED - 1])
    rows = ruled_out.against(figures, swept(points))
    few, enough = (left_sentence(rows, list(range(1, count + 1)), RULE, {}) for count in (28, 29))
    assert few.endswith(
        "28 points can show at most 89 % of the rest of the box, less than the 90% that a sign needs, "
        "so no sign can be stated over the rest"
    )
    assert enough.endswith("Over the rest a sign needs 29 of 29 points")


def test_bad_input_is_refused_with_its_place_and_a_remedy() -> None:
    points = costs()[:3]
    good = told(points[0])
    analysis = swept(points)
    series = good.series[0]
    figure = series.figures[1]

    def changed(**fields: Any) -> published.Published:  # noqa: ANN401
        figures = [series.figures[0], msgspec.structs.replace(figure, **fields)]
        return told(points[0], series=[msgspec.structs.replace(series, figures=figures)])

    two = [msgspec.structs.replace(it, half=2) for it in series.figures]
    short = pl.col("parameters").str.starts_with("box=2 from=inside jobs=8").not_()
    lacking = cast(
        "Analysis", SimpleNamespace(times=analysis.times.filter(short), sweep=analysis.sweep)
    )
    cpus = msgspec.structs.replace(series, quantity="cpus")
    one_half = told(points[0], series=[msgspec.structs.replace(series, figures=two)])
    for file, of, said in (
        (told(points[0], rule_out=None), analysis, "no table .rule-out.*write machine, factor"),
        (changed(half=None), analysis, "`inside`, 4 jobs: no half; write `half = 1`"),
        (one_half, analysis, "are not in two halves"),
        (told(points[0], series=[cpus]), analysis, "`inside`, 2 jobs: quantity cpus; only a wall"),
        (good, swept(points, topology="8x8"), "--box --machine known-64"),
        (good, lacking, "`inside`, 8 jobs: no good trial of point 2; finish the sweep"),
    ):
        with pytest.raises(InputError, match=said):
            ruled_out.against(file, of)
    for factor, share in ((1.0, 0.5), (2.0, 1.0)):
        with pytest.raises(ValueError, match="write a factor above 1, a share below 1"):
            published.RuleOut(MACHINE, factor, share)


def test_points_with_other_costs_are_refused_and_the_cost_of_work_may_differ() -> None:
    ruling = swept(costs()).sweep

    def other(at: int, **prices: float) -> Any:  # noqa: ANN401
        points = [{**it, "prices": dict(it["prices"])} for it in ruling.points]
        points[at]["prices"] |= prices
        return SimpleNamespace(path=Path("other"), points=points)

    ruled_out.check_same_points(ruling, other(0, work=0.5))
    for of, said in (
        (other(4, **{"hit-ns": 77.0}), "point 5 is not that of box"),
        (SimpleNamespace(path=Path("other"), points=ruling.points[:9]), "point 10 is not"),
    ):
        with pytest.raises(InputError, match=said):
            ruled_out.check_same_points(ruling, cast("Any", of))
