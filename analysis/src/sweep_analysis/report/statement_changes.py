"""Writes generated results on changes of branches, by the decision rule, and on detectable changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

from sweep_analysis.read.labels import count, listed, percent, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.report.statement import Statement, moment
from sweep_analysis.say.averages import gained_and_lost
from sweep_analysis.say.comparison import in_words, place_of, pooled_counts
from sweep_analysis.say.headline import result_of
from sweep_analysis.stats.calibration import CELL_MARGIN, EQUAL, MEAN_MARGIN, OFF, calibration
from sweep_analysis.stats.compare import FASTER, SLOWER, TESTED, UNCLEAR, UNTESTED
from sweep_analysis.stats.two_sweeps import Pooled, unlike


def _effect(asked: Statement) -> str:
    """Write a change as a short text, for a cell of a table.

    Words: a workload as in `_asked_of` or `all`, the baseline, the branch, and a quantity (`time`).
    A last word `brief` omits the place, for sentences that name the place themselves. A brief text
    has square brackets, because it often stands inside round brackets.
    """
    if asked.words[-1:] == ["brief"]:
        row, _ = _one(replace(asked, words=asked.words[:-1]))
        row, _, doubt = _of_days(asked, row)
        return in_words(row, notes=[doubt]).translate(str.maketrans("()", "[]"))
    row, place = _one(asked)
    parts = _parts(asked, row)
    row, days, doubt = _of_days(asked, row)
    told = in_words(row, place=place, notes=[days])
    return "; ".join([told, *([doubt] if doubt else []), *parts])


def _parts(asked: Statement, row: dict[str, Any]) -> list[str]:
    """The counts of gains and losses, and the median, of a row over all workloads, for each sweep."""
    tested = [asked.comparisons, *(it.decisions.comparisons for it in asked.sweeps[1:])]
    each = ["; ".join(gained_and_lost(comparisons, row)) for comparisons in tested]
    if len(each) == 1:
        return [told for told in each if told]
    return [f"in sweep {number}, {told}" for number, told in enumerate(each, 1) if told]


def _one(asked: Statement) -> tuple[dict[str, Any], str]:
    """Find the comparison that a comment names, and the place of the comparison as text.

    Raises:
        InputError: the words name no comparison, or several.
    """
    workload, against, branch, *rest = asked.words
    quantity = rest[0] if rest else "time"
    rows = _changed(asked, workload, against, [branch]).filter(quantity=quantity)
    if rows.height > 1:
        named = listed([f"`{_place(row)}, {row['mode']}`" for row in rows.rows(named=True)])
        raise asked.refused(
            f"`{workload}` is {count(rows.height, 'configuration')}: {named}",
            "name one: `NAME+PARAMETER=VALUE`",
        )
    if rows.is_empty():
        raise asked.refused(
            f"`{workload}` has no `{quantity}`", f"name one of {', '.join(TESTED)} that it has"
        )
    row = rows.row(0, named=True)
    return row, place_of(asked.comparisons, row | {"panel": None}, code=True)


def _of_days(asked: Statement, row: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """The row pooled over all sweeps, a text on the sweeps, and the reason if the row is not significant."""
    if len(asked.sweeps) == 1:
        return (
            row,
            "",
            result_of(row, asked.sweep.sweep) if row["verdict"] in (UNCLEAR, UNTESTED) else "",
        )
    comparisons = [it.decisions.comparisons for it in asked.sweeps]
    apart = unlike([it.sweep for it in asked.sweeps], comparisons, row)
    if apart:
        raise asked.refused(apart, "name sweeps of the same programs, threads and machine")
    sweep = asked.sweep.sweep
    pooled = Pooled(comparisons).row(row)
    if pooled is None:
        raise asked.refused(
            "a sweep does not test this comparison", "name sweeps that all test the comparison"
        )
    each = listed([_alone(ratio, said) for ratio, said in pooled["each"]])
    on = {str(it.sweep.manifest.get("created_at"))[:10] for it in asked.sweeps}
    number = count(len(asked.sweeps), "sweep")
    doubt = result_of(pooled, sweep, number) if pooled["verdict"] in (UNCLEAR, UNTESTED) else ""
    commits = {of_fork for it in asked.sweeps if (of_fork := _fork_at(it.sweep, row))}
    code = f", {len(commits)} commits of the fork" if len(commits) > 1 else ""
    return pooled, f"{number} on {count(len(on), 'day')}{code}: {each}", doubt


def _fork_at(sweep: Sweep, row: dict[str, Any]) -> str:
    """The commit of the fork that a row compares; empty if neither branch is of the fork."""
    kinds = {it["name"]: it.get("source", {}).get("kind") for it in sweep.manifest["branches"]}
    is_fork = "fork" in (kinds.get(row["branch"]), kinds.get(row["baseline"]))
    return str(sweep.manifest["checkout"]["commit"]) if is_fork else ""


def _alone(ratio: float, said: str) -> str:
    return percent(ratio) + (f" ({said} alone)" if said in (FASTER, SLOWER) else "")


def _changed(asked: Statement, workload: str, against: str, branches: list[str]) -> pl.DataFrame:
    """Find the comparisons of branches on one workload, with `panel`.

    `workload` is as in `_asked_of`, or `all` for all workloads together. If the workload's row pools only the
    named thread count, the function returns the workload's row. So a comparison has the same result with and
    without a thread count.

    Raises:
        InputError: the sweeps have no such comparisons.
    """
    name, parameters, threads = _asked_of(workload)
    told = asked.comparisons.filter(pl.col("baseline") == against, pl.col("branch").is_in(branches))
    level = "overall" if name == "all" else "workload"
    if threads:
        wide = told.filter(pl.col("level") == level)
        if name != "all":
            wide = wide.filter(workload=name)
        alone = [pooled_counts(told, row)[0] == [int(threads)] for row in wide.rows(named=True)]
        if alone and all(alone):
            threads = ""
        else:
            level = "threads" if name == "all" else "cell"
    rows = with_panel(told.filter(pl.col("level") == level)).sort("mode", maintain_order=True)
    if name != "all":
        words = pl.col("parameters").cast(pl.String).str.split(" ")
        has = [words.list.contains(it) | (pl.col("size") == it) for it in parameters]
        rows = rows.filter(pl.col("workload") == name, *has)
    if threads:
        rows = rows.filter(threads=int(threads))
    if rows.is_empty():
        raise asked.refused(
            f"no branch is compared with `{against}` there",
            "name a workload and branches of the sweep",
        )
    return rows.with_columns(pl.col("branch").cast(pl.Enum(branches))).sort(
        "branch", pl.col("quantity").cast(pl.Enum(TESTED))
    )


def _asked_of(workload: str) -> tuple[str, list[str], str]:
    """Parse a workload in a comment into name, parameters and number of threads; empty threads mean all counts.

    In: `NAME`, `NAME@THREADS`, `NAME+PARAMETER=VALUE`, or `NAME+PARAMETER=VALUE@THREADS`; a size
    may replace a parameter.
    """
    place, _, threads = workload.partition("@")
    name, *parameters = place.split("+")
    return name, parameters, threads


def _place(row: dict[str, Any]) -> str:
    threads = f", {count(row['threads'], 'thread')}" if row["threads"] else ""
    return f"{row['panel'] or 'all together'}{threads}"


def _calibration(asked: Statement) -> str:
    """Write a row per sweep: `packed` over the baseline, and the numbers of equivalent and different configurations."""
    made = []
    for analysis in asked.sweeps:
        row = {"sweep": f"`{moment(analysis)}`"}
        for quantity, name in (("time", "time"), ("cpu", "CPU time")):
            found = calibration(
                analysis.times.lazy(), str(analysis.decisions.baseline), "packed", quantity
            )
            if found is None:
                raise asked.refused(
                    "`packed` shares no configuration with the baseline", "name another sweep"
                )
            mean = found.mean.row(0, named=True)
            interval = f"{percent(mean['equal_low'])} to {percent(mean['equal_high'])}"
            row[f"{name}: mean (90 % interval), equivalent within ±{MEAN_MARGIN * 100:.0f} %"] = (
                f"{percent(mean['time_ratio'])} ({interval}), {mean['answer']}"
            )
            off = with_panel(found.cells.filter(answer=OFF))
            cells = [
                f"{it['panel']} on {it['threads']}: {percent(it['time_ratio'])}"
                for it in off.rows(named=True)
            ]
            equal, told = found.cells.filter(answer=EQUAL).height, "; ".join(cells) or "none"
            row[
                f"{name}: configurations equivalent within ±{CELL_MARGIN * 100:.0f} %, different"
            ] = f"{equal} of {found.cells.height}, {told}"
        made.append(row)
    return asked.table(pl.DataFrame(made), "whether packed is equivalent to the baseline, by sweep")


CHANGES: dict[str, Callable[[Statement], str]] = {
    "effect": _effect,
    "calibration": _calibration,
}
