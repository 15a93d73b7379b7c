"""Writes generated results on signs over a box of simulated machines, and on what published figures leave of it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import listed
from sweep_analysis.report.statement import Statement
from sweep_analysis.say import tables
from sweep_analysis.say.boxes import (
    box_sentence,
    box_table,
    left_sentence,
    left_table,
    rest_sentence,
)
from sweep_analysis.stats import published, ruled_out
from sweep_analysis.stats.analysis import analyse
from sweep_analysis.stats.boxes import box_signs


def _box(asked: Statement) -> str:
    """Write a row per workload, thread count and branch, with the share of machines on which the branch is faster."""
    rows = _rows(asked, str(asked.sweep.baseline))
    return asked.table(box_table(rows), "signs over the box")


def _box_signs(asked: Statement) -> str:
    """Write a sentence per branch on the signs that hold over the box, and the signs that do not, without sizes.

    Words: the branches; `against=NAME` for another baseline; `stated` counts the configurations without a sign instead
    of naming them; `brief` omits the sweep's name and host.
    """
    against = next((word for word in asked.words if word.startswith("against=")), "")
    baseline = against.removeprefix("against=") or str(asked.sweep.baseline)
    rows = _rows(asked, baseline)
    branches = [word for word in asked.words if word not in ("brief", "stated", against)]
    known = set(rows["branch"])
    if not branches or not set(branches) <= known:
        raise asked.refused(
            f"no box of {listed(sorted(set(branches) - known)) or 'no branch'}",
            f"name some of {', '.join(sorted(known))}",
        )
    is_named = "stated" not in asked.words
    told = [
        box_sentence(rows, branch, baseline, is_undecided_named=is_named) for branch in branches
    ]
    end = "" if "brief" in asked.words else f" {asked.source()}"
    return ". ".join(told) + end + "."


def _rows(asked: Statement, baseline: str) -> pl.DataFrame:
    """The rows of `frames.BOX` against `baseline`, of all sweeps that the comment names."""
    for analysis in asked.sweeps:
        if not analysis.sweep.points:
            raise asked.refused(
                f"{analysis.sweep.path.name} is not over a box of machines",
                "name a sweep of `--box`",
            )
    return pl.concat([analyse(analysis.sweep, baseline).box for analysis in asked.sweeps])


def _ruled_out(asked: Statement) -> str:
    """Write how many points of the box the published figures leave, and how they predict the other half of the figures.

    The comment names first the sweep over the box on the machine of the figures. Then it may name sweeps over
    the box, whose signs are written again, over the points that are left. The word `brief` leaves out all tables.
    """
    told = published.read()
    ruling, *others = asked.sweeps
    rows = ruled_out.against(told, ruling)
    points = ruled_out.left(rows, told)
    for other in others:
        ruled_out.check_same_points(ruling.sweep, other.sweep)
    cause = ruled_out.cause(rows, told, ruling.sweep)
    sentence = left_sentence(rows, points, ruled_out.rule_of(told), cause)
    signs = pl.DataFrame()
    if points and others:
        signs = pl.concat(
            [box_signs(it.sweep, it.times, it.sweep.baseline, points) for it in others]
        )
        sentence += f". {rest_sentence(signs, pl.concat([it.box for it in others]))}"
    if "brief" in asked.words:
        return f"{sentence} {asked.source()}."
    parts = [f"{sentence}.", tables.markdown(left_table(rows, points))]
    if not signs.is_empty():
        parts.append(asked.table(box_table(signs), "signs over the points that are left"))
    return "\n\n".join(part.rstrip() for part in parts)


BOXES: dict[str, Callable[[Statement], str]] = {
    "box": _box,
    "box-signs": _box_signs,
    "ruled-out": _ruled_out,
}
