"""Writes the signs over a box of machines as a table and in sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import count, listed, percent, source_lines, with_panel
from sweep_analysis.stats.boxes import SHARE, UNDECIDED, lower_bound
from sweep_analysis.stats.compare import FASTER, SLOWER
from sweep_analysis.stats.published import RuleOut
from sweep_analysis.stats.ruled_out import FIRST, SECOND

_LESS = {FASTER: "less", SLOWER: "more"}
_US, _MS = 1e3, 1e6

_CLOSE = 2
"""A point that so few figures could move across the limit of the rule is close to this limit."""


def box_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Select the columns of `frames.BOX` that a reader needs; ratios become changes in per cent."""
    named = with_panel(rows)
    bound = pl.max_horizontal("faster_bound", "slower_bound") * 100
    return named.select(
        pl.col("panel").alias("workload"),
        "threads",
        "branch",
        pl.format("{} of {}", "faster", "machines").alias("faster on"),
        pl.format("{} %", bound.floor().cast(pl.Int64)).alias("share that agrees, at least"),
        _change("ratio").alias("median"),
        _change("ratio_low").alias("5 %"),
        _change("ratio_high").alias("95 %"),
        pl.format(
            "{} to {}, {} of {} faster",
            _change("control_low"),
            _change("control_high"),
            "control_faster",
            "control",
        ).alias("A/A control"),
        pl.struct("verdict", "price", "rho", "flips_at")
        .map_elements(_result, return_dtype=pl.String)
        .alias("result"),
    )


def box_sentence(
    rows: pl.DataFrame, branch: str, baseline: str, *, is_undecided_named: bool = True
) -> str:
    """A sentence on the signs of a branch that hold over the box and the signs that do not hold, without sizes.

    In: rows of `frames.BOX`; `is_undecided_named`, whether each configuration without a sign is named, or all are counted.
    """
    own = with_panel(rows).filter(branch=branch).sort("threads", "workload")
    groups = {
        f"takes {less} time on": [_holds(row) for row in own.filter(verdict=sign).rows(named=True)]
        for sign, less in _LESS.items()
    }
    undecided = [_open(row) for row in own.filter(verdict=UNDECIDED).rows(named=True)]
    if undecided and not is_undecided_named:
        other = "" if len(undecided) == own.height else "other "
        undecided = [count(len(undecided), f"{other}configuration")]
    groups["is undecided on"] = undecided
    told = [f"{what} {listed(cells)}" for what, cells in groups.items() if cells]
    return f"Over the box, `{branch}` against `{baseline}` {'; '.join(told)}"


def waits_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Select the columns of `frames.BOX_WAITS` that a reader needs, with the machines as a share."""
    return with_panel(rows).select(
        pl.col("panel").alias("workload"),
        "threads",
        "branch",
        *source_lines("the line that waits longest"),
        pl.format("{} of {}", "on", "machines").alias("on"),
    )


def left_sentence(
    rows: pl.DataFrame, points: list[int], rule: RuleOut, cause: dict[str, Any]
) -> str:
    """Sentences on the points that are left, and on their accuracy in the second half; the last has no full stop.

    In: rows of `ruled_out.against`; `points`, those that are left; the result of `ruled_out.cause`.
    """
    every = rows["point"].n_unique()
    ruling = rows.filter(half=FIRST)
    first = ruling.height // every
    near = ruling.group_by("point").agg(pl.col("agrees").sum())["agrees"].to_list()
    told = (
        f"The first half of the published figures leaves {len(points)} of {count(every, 'point')} of the box: a point "
        f"is ruled out if more than {rule.share:.0%} of the {first} figures are off by more than a factor of {rule.factor:g}"
    )
    most = rule.share * first
    beyond = [first - it for it in near]
    close = sum(it + _CLOSE > most if it <= most else it - _CLOSE <= most for it in beyond)
    spread = (
        f"Per point, {min(near)} to {max(near)} of the {first} figures are within this factor; {count(close, 'point')} "
        f"would change sides if {_CLOSE} figures did"
    )
    said = [told, spread]
    where = _where(cause)
    if where:
        said.append(f"Most points ruled out are those where {where}")
    checks = rows.filter(half=SECOND)
    is_left = pl.col("point").is_in(points)
    groups = {
        "on the points that are left": checks.filter(is_left),
        "on those ruled out": checks.filter(~is_left),
        "on all points": checks,
    }
    within = [f"{_near(part)} {where}" for where, part in groups.items() if part.height]
    said.append(f"Of the second half, within this factor are {listed(within)}")
    left = len(points)
    enough = [it for it in range(1, left + 1) if lower_bound(it, left) >= SHARE]
    if not points:
        said.append(
            "The rest is empty: no costs in these ranges agree with the figures, so they falsify the simulator"
        )
    elif enough:
        said.append(f"Over the rest a sign needs {enough[0]} of {left} points")
    else:
        bound = int(100 * lower_bound(left, left))
        said.append(
            f"{count(left, 'point')} can show at most {bound} % of the rest of the box, "
            f"less than the {SHARE:.0%} that a sign needs, so no sign can be stated over the rest"
        )
    return ". ".join(said)


def rest_sentence(rest: pl.DataFrame, whole: pl.DataFrame) -> str:
    """A sentence on the signs that hold over the points that are left, without sizes.

    In: rows of `frames.BOX` over these points, and over the whole box.
    """
    holds, before = (rows.filter(pl.col("verdict") != UNDECIDED) for rows in (rest, whole))
    told = [
        f"`{row['branch']}` takes {_LESS[row['verdict']]} time on {_cell(row)} ({row[row['verdict']]} of {row['machines']})"
        for row in with_panel(holds).rows(named=True)
    ]
    which = f": {listed(told)}" if told else ""
    return (
        f"{holds.height} of {count(rest.height, 'sign')} {'holds' if holds.height == 1 else 'hold'} over the rest{which}. "
        f"Over the whole box {before.height} of {whole.height} {'does' if before.height == 1 else 'do'}"
    )


def left_table(rows: pl.DataFrame, points: list[int]) -> pl.DataFrame:
    """Make a row per series: how many figures, over the points, are within the rule's factor.

    In: as `left_sentence`.
    """
    is_left = pl.col("point").is_in(points)
    columns = {
        "first half, all points": pl.col("half") == FIRST,
        "first half, points that are left": (pl.col("half") == FIRST) & is_left,
        "second half, all points": pl.col("half") == SECOND,
        "second half, points that are left": (pl.col("half") == SECOND) & is_left,
    }
    parts = [
        (str(part["series"][0]), part) for part in rows.partition_by("series", maintain_order=True)
    ]
    return pl.DataFrame(
        [
            {"series": name}
            | {column: _near(part.filter(which)) for column, which in columns.items()}
            | {
                "median of simulated over published, all points": _ratio(part),
                "points that are left": _ratio(part.filter(is_left)),
            }
            for name, part in [*parts, ("all", rows)]
        ]
    )


def _near(rows: pl.DataFrame) -> str:
    near = int(rows["agrees"].sum())
    return f"{near} of {rows.height} ({near / rows.height:.0%})" if rows.height else "none"


def _ratio(rows: pl.DataFrame) -> str:
    return f"{rows.select(pl.col('ratio').median()).item():.2f}" if rows.height else "none"


def _cell(row: dict[str, Any]) -> str:
    return f"`{row['workload']}` with {count(row['threads'], 'thread')}"


def _holds(row: dict[str, Any]) -> str:
    agreeing = row[row["verdict"]]
    bound = int(100 * row[f"{row['verdict']}_bound"])
    return f"{_cell(row)} ({agreeing} of {count(row['machines'], 'machine')}, at least {bound} % of the box)"


def _open(row: dict[str, Any]) -> str:
    flips = _flips(row)
    told = f"faster on {row['faster']} of {row['machines']}"
    return f"{_cell(row)} ({told}{f'; {flips}' if flips else ''})"


def _result(row: dict[str, Any]) -> str:
    flips = _flips(row)
    return str(row["verdict"]) + (f"; {flips}" if flips and row["verdict"] == UNDECIDED else "")


def _flips(row: dict[str, Any]) -> str:
    """The cost parameter and the values at which the branch is slower; empty if no sign flips."""
    where = _where(row)
    return f"slower where {where}" if where else ""


def _where(row: dict[str, Any]) -> str:
    """The cost parameter and its values at which the sign is positive; empty if no value flips the sign."""
    if row.get("flips_at") is None:
        return ""
    side = "above" if row["rho"] > 0 else "below"
    return f"{row['price'].removesuffix('-ns')} is {side} {_value(row)}"


def _value(row: dict[str, Any]) -> str:
    """The value of the cost parameter at which the sign flips, with two digits and its unit."""
    value, unit = row["flips_at"], ""
    if row["price"].endswith("-ns"):
        size, unit = next(
            (it for it in ((_MS, " ms"), (_US, " µs")) if value >= it[0]), (1.0, " ns")
        )
        value /= size
    return f"{float(f'{value:.2g}'):g}{unit}"


def _change(ratio: str) -> pl.Expr:
    return pl.col(ratio).map_elements(percent, return_dtype=pl.String)
