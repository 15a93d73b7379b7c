"""Writes generated results on signs over a box of simulated machines."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import listed
from sweep_analysis.report.statement import Statement
from sweep_analysis.say.boxes import box_sentence, box_table
from sweep_analysis.stats.analysis import analyse


def _box(asked: Statement) -> str:
    """Write a row per workload, thread count and branch, with the share of machines on which the branch is faster."""
    rows = _rows(asked, str(asked.sweep.baseline))
    return asked.table(box_table(rows), "signs over the box")


def _box_signs(asked: Statement) -> str:
    """Write a sentence per branch on the signs that hold over the box, and the signs that do not, without sizes.

    Words: the branches; `against=NAME` for another baseline; `brief` omits the sweep's name and host.
    """
    against = next((word for word in asked.words if word.startswith("against=")), "")
    baseline = against.removeprefix("against=") or str(asked.sweep.baseline)
    rows = _rows(asked, baseline)
    branches = [word for word in asked.words if word not in ("brief", against)]
    known = set(rows["branch"])
    if not branches or not set(branches) <= known:
        raise asked.refused(
            f"no box of {listed(sorted(set(branches) - known)) or 'no branch'}",
            f"name some of {', '.join(sorted(known))}",
        )
    told = [box_sentence(rows, branch, baseline) for branch in branches]
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


BOXES: dict[str, Callable[[Statement], str]] = {"box": _box, "box-signs": _box_signs}
