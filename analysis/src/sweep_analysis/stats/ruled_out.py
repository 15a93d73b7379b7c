"""Rules out points of a box by published figures of one machine, and checks the rest on other figures.

A sweep over the box with `--machine` puts the cost parameters of each point on the machine's topology and
clock. The rule is the table `[rule-out]` of `published.toml`, where each figure of the machine is in one of
two halves. A figure *contradicts* a point if simulated over published is beyond the rule's factor, either way.
A point is ruled out if more than the rule's share of the first half contradicts it. The second half then
shows whether the points that are left predict better than all points.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import Sweep
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.boxes import flip, with_points
from sweep_analysis.stats.published import (
    BRANCH,
    FILE,
    NANOSECONDS,
    Figure,
    Published,
    RuleOut,
    Series,
    cell,
)

FIRST, SECOND = 1, 2
"""The halves: figures that rule points out, and figures that check the rest."""

_OF_WORKLOADS = "work"
"""The cost parameter of a point that is not of its machine, but of the workloads."""


def against(published: Published, analysis: Analysis) -> pl.DataFrame:
    """Compare each point of the box with each figure of the rule's machine.

    Out: a row per figure and point: `series`, `told`, `half`, `point`, `ratio` (the median over seeds of
         simulated over published), `agrees` (whether the ratio is within the rule's factor).

    Raises:
        InputError: there is no rule; a figure has no half, or is no wall time; the sweep is not over a box on
            the rule's machine, or lacks a figure on some point.
    """
    rule = rule_of(published)
    sweep = analysis.sweep
    if {it["topology"] for it in sweep.points} != {rule.machine}:
        raise InputError(
            sweep.path.name,
            f"its machines are not points of a box on `{rule.machine}`",
            f"name a sweep of `--box --machine {rule.machine}`",
        )
    every = [it for it in published.series if it.machine == rule.machine and not it.not_scored]
    rows = [
        _row(analysis, series, figure, rule.factor) for series in every for figure in series.figures
    ]
    halves = {half for row in rows for half in row["half"].unique()}
    if halves != {FIRST, SECOND}:
        raise InputError(
            str(FILE),
            f"the figures of `{rule.machine}` are not in two halves",
            "write `half = 1` or `half = 2` into each of them",
        )
    return pl.concat(rows)


def left(rows: pl.DataFrame, published: Published) -> list[int]:
    """The points that the first half does not rule out. In: rows of `against`."""
    contradicted = (~pl.col("agrees")).mean()
    of_first = rows.filter(half=FIRST).group_by("point").agg(contradicted.alias("share"))
    return sorted(of_first.filter(pl.col("share") <= rule_of(published).share)["point"])


def cause(rows: pl.DataFrame, published: Published, sweep: Sweep) -> dict[str, Any]:
    """Find the cost parameter that best separates the points ruled out from those left, as `boxes.flip` does.

    In: rows of `against`, and the sweep of these rows. Out: as of `flip`.
    """
    share = (~pl.col("agrees")).mean() - rule_of(published).share
    beyond = rows.filter(half=FIRST).group_by("point").agg(beyond=share).sort("point")
    return flip(sweep, beyond["point"].to_list(), beyond["beyond"].to_numpy())


def check_same_points(ruling: Sweep, other: Sweep) -> None:
    """Refuse a sweep over a box whose points have other cost parameters than those of the ruling sweep.

    Raises:
        InputError: a point differs, or one sweep has more points.
    """
    own, others = ([_costs(it) for it in sweep.points] for sweep in (ruling, other))
    if len(own) == len(others) and own == others:
        return
    differing = next(
        (at for at, (one, two) in enumerate(zip(own, others, strict=False), 1) if one != two),
        min(len(own), len(others)) + 1,
    )
    raise InputError(
        other.path.name,
        f"point {differing} is not that of {ruling.path.name}",
        "sweep both with one `machines/box.toml` and one number of machines",
    )


def rule_of(published: Published) -> RuleOut:
    """The rule of the file, which must have one."""
    if published.rule_out is None:
        raise InputError(str(FILE), "there is no table [rule-out]", "write machine, factor, share")
    return published.rule_out


def _costs(point: dict[str, dict[str, float]]) -> dict[str, float]:
    return {key: value for key, value in point["prices"].items() if key != _OF_WORKLOADS}


def _row(analysis: Analysis, series: Series, figure: Figure, factor: float) -> pl.DataFrame:
    """The rows of `against` of one figure, one per point."""
    where = f"`{series.name}`, {figure.told}"
    if figure.half is None:
        raise InputError(str(FILE), f"{where}: no half", "write `half = 1` or `half = 2`")
    if series.quantity != "wall":
        remedy = "only a wall time can rule out points; write not-scored into the series"
        raise InputError(str(FILE), f"{where}: quantity {series.quantity}", remedy)
    # A unit of such a figure is the workload's own unit of work, so that the number of units may differ from `per`.
    value = pl.col("ns_per_unit").median() / NANOSECONDS[series.unit] - series.less
    own = with_points(cell(analysis.times, figure, BRANCH).lazy())
    found = own.group_by("point").agg(ratio=value / figure.published).sort("point").collect()
    points = range(1, len(analysis.sweep.points) + 1)
    missing = sorted(set(points) - set(found["point"]))
    if missing:
        raise InputError(
            analysis.sweep.path.name,
            f"{where}: no good trial of point {', '.join(map(str, missing))}",
            "finish the sweep with `--resume`; a point whose trials fail needs a longer `--timeout`",
        )
    return found.select(
        pl.lit(series.name).alias("series"),
        pl.lit(figure.told).alias("told"),
        pl.lit(figure.half).alias("half"),
        "point",
        "ratio",
        agrees=pl.col("ratio").is_between(1 / factor, factor),
    )
