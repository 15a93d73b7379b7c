"""Statements that set many cells side by side.

Times by threads, and what parts and proposals change.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.labels import (
    QUANTITY_NAMES,
    capital,
    count,
    listed,
    percent,
    with_panel,
    without_size,
)
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.read.schema import PARALLEL, POOL_CELL, WORDS
from sweep_analysis.report.asked import Asked
from sweep_analysis.say.averages import gained_and_lost, pooled_threads
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.claims import CELL_MARGIN, MARGIN
from sweep_analysis.stats.compare import FASTER, SLOWER, UNCLEAR, UNJUDGED
from sweep_analysis.stats.latency import KINDS, trial_waits
from sweep_analysis.stats.states import of_cells

LEAST_TOLD = 0.005
"""Change below which no document tells a difference. A program that a clock paces varies so little that the judge can
tell a thousandth from noise, which is of no use to anybody."""


MOST_TOLD = 6
"""Rows of gains and losses that a reader takes in at a glance."""


def named(words: list[str]) -> tuple[list[str], list[str]]:
    """The branches that words name, and the workloads that they leave out."""
    return [word for word in words if not word.startswith("-")], [
        word[1:] for word in words if word.startswith("-")
    ]


SHORT_US = 100
"""Where every wait in a table is shorter than this, it shows tenths."""


def _by_threads(asked: Asked) -> str:
    """Medians in µs: a row for each workload and branch, a column for each number of threads.

    Of two states, both; so of builds of a measured sweep.

    Words: `time`, `cpu`, or KIND/QUANTILE of a wait; the branches; `-WORKLOAD` or
    `-WORKLOAD,PARAMETERS` leaves it out; `goal:WORKLOAD,PARAMETERS:THREADS=US,…` is what the last
    branch should reach. Sweeps of one machine share the table.
    """
    what, *rest = asked.words
    goals = _goals(rest)
    branches, left_out = named([word for word in rest if not _GOAL.fullmatch(word)])
    trials = without_size(
        with_panel(pl.concat([_trials(analysis, what) for analysis in asked.sweeps]))
    ).filter(pl.col("branch").is_in(branches), ~pl.any_horizontal(_NAMES.is_in(left_out)))
    if trials.is_empty():
        raise asked.refused(
            "nothing to show", "name `time`, `cpu` or KIND/QUANTILE, and branches of the sweep"
        )
    medians = trials.group_by(_ROW).agg(us=pl.col("us").median())
    digits = int(
        what not in QUANTITY_NAMES and medians.select(pl.col("us").max()).item() < SHORT_US
    )
    rows = pl.concat([medians, goals]).with_columns(
        pl.col("us").round(digits).cast(pl.Float64 if digits else pl.Int64)
    )
    in_states, modes = _with_states(rows, trials, digits, measured=not asked.sweep.sweep.machine)
    wide = (
        in_states.with_columns(pl.col("branch").cast(pl.Enum([*branches, "goal"])))
        .sort(_ROW)
        .pivot("threads", index=["panel", "branch"], values="us", maintain_order=True)
    )
    threads = [str(number) for number in sorted(trials["threads"].unique())]
    shown = wide.select(
        pl.col("panel").alias("workload"), pl.col("branch").cast(pl.String), *threads
    )
    kind, _, quantile = what.partition("/")
    name = QUANTITY_NAMES.get(what) or f"wait {KINDS.get(kind, kind)}, {quantile},"
    table = asked.table(shown, f"{name} by threads of {' and '.join(branches)}")
    return f"{capital(name)} in µs by threads, medians{modes} {asked.source()}:{_missed(goals, medians, branches[-1])}\n\n{table}"


_GOAL = re.compile(r"goal:(?P<panel>[^:]+):(?P<values>\d+=[\d.]+(,\d+=[\d.]+)*)")
_ROW = ["panel", "branch", "threads"]
_NAMES = pl.col("workload", "panel").str.replace_all(" ", "")


def _goals(words: list[str]) -> pl.DataFrame:
    """What a branch should reach: rows as of a branch `goal`."""
    found = [goal for goal in map(_GOAL.fullmatch, words) if goal]
    each = [
        (goal["panel"], *value.split("=")) for goal in found for value in goal["values"].split(",")
    ]
    rows = [
        (panel.replace(",", ", "), "goal", int(threads), float(us)) for panel, threads, us in each
    ]
    return pl.DataFrame(
        rows,
        {"panel": pl.String, "branch": pl.String, "threads": pl.Int64, "us": pl.Float64},
        orient="row",
    )


def _missed(goals: pl.DataFrame, medians: pl.DataFrame, branch: str) -> str:
    """Where a branch takes longer than it should, as a sentence."""
    if goals.is_empty():
        return ""
    aims = goals.select("panel", "threads", aim="us")
    above = (
        medians.filter(branch=branch)
        .join(aims, on=["panel", "threads"])
        .filter(pl.col("us") > pl.col("aim"))
    )
    told = [
        f"{rows['panel'][0]} with {listed([str(number) for number in rows['threads'].sort()])} threads"
        for rows in above.sort("panel").partition_by("panel", maintain_order=True)
    ]
    verdict = f"misses its goal on {'; on '.join(told)}" if told else "reaches every goal"
    return f" `{branch}` {verdict}."


def _trials(analysis: Analysis, what: str) -> pl.DataFrame:
    """Good trials of the pool's program, with `us`: what a table by threads shows."""
    if what in ("time", "cpu"):
        busy = pl.col("cpus_busy") if what == "cpu" else pl.lit(1.0)
        told = analysis.times.filter(program=PARALLEL).with_columns(
            us=pl.col("elapsed_ns") / 1e3 * busy
        )
    else:
        kind, _, quantile = what.partition("/")
        told = (
            trial_waits(analysis.sweep)
            .filter(kind=kind, quantile=quantile)
            .with_columns(us="wait_us")
            .collect()
        )
    layouts = analysis.times.select("trial", "layout")
    return (
        told.select(*POOL_CELL, "program", "trial", "us")
        .join(layouts, on="trial")
        .drop("trial")
        .with_columns(WORDS)
    )


def _with_states(
    rows: pl.DataFrame, trials: pl.DataFrame, digits: int, *, measured: bool
) -> tuple[pl.DataFrame, str]:
    """`rows` with both medians where a cell has two states, and what to say of that.

    In: trials with `us`, of which a measured sweep's are averaged by build.
    """
    by_build = trials.group_by([*_ROW, "program", "layout"], maintain_order=True)
    seen = by_build.agg(pl.col("us").median()) if measured else trials
    states = of_cells(seen.lazy(), "us", _ROW)
    ends = pl.col("low", "high").round(digits).cast(pl.Float64 if digits else pl.Int64)
    either = pl.concat_str(ends.cast(pl.String), separator=" or ")
    differ = states.filter(pl.col("low").round(digits) != pl.col("high").round(digits))
    if differ.is_empty():
        return rows, ""
    joined = rows.join(differ.select(*_ROW, either=either), on=_ROW, how="left")
    both = joined.select(*_ROW, us=pl.coalesce("either", pl.col("us").cast(pl.String)))
    return both, "; both where builds have two modes" if measured else ""


def _parts(asked: Asked) -> str:
    """What branches change against one of them: a row a branch, a column a workload.

    Bold is what the judge calls so.

    Words: `time` or `cpu`, threads or `all`, the baseline, and the branches; `-WORKLOAD` leaves out
    a workload.
    """
    quantity, threads, against, *rest = asked.words
    branches, left_out = named(rest)
    found = without_size(with_panel(asked.comparisons)).filter(
        pl.col("level") == ("workload" if threads == "all" else "cell"),
        pl.col("baseline") == against,
        pl.col("branch").is_in(branches),
        pl.col("quantity") == quantity,
        ~pl.col("workload").is_in(left_out),
    )
    if threads != "all":
        found = found.filter(threads=int(threads))
    if found.is_empty():
        raise asked.refused(
            f"nothing is compared with `{against}` there", "name branches and threads that it has"
        )
    wide = (
        found.select(
            "branch",
            "mode",
            "panel",
            pl.Series("change", [_change(row) for row in found.rows(named=True)]),
        )
        .with_columns(pl.col("branch").cast(pl.Enum(branches)))
        .sort("branch", "mode", "panel")
        .pivot("panel", index=["branch", "mode"], values="change", maintain_order=True)
        .with_columns(pl.col("branch").cast(pl.String))
    )
    if found["mode"].n_unique() == 1:
        wide = wide.drop("mode")
    width = "all threads together" if threads == "all" else f"on {count(int(threads), 'thread')}"
    width += f", at {asked.mode} frequency" if asked.mode else ""
    what = QUANTITY_NAMES[quantity]
    table = asked.table(wide, f"what each branch changes in {what} against {against}, {width}")
    return f"{capital(what)} against `{against}`, {width} {asked.source()}:\n\n{table}"


def _cells(asked: Asked) -> str:
    """What one branch changes against another, a row for each workload and number of threads, with intervals.

    Beside it stands how many CPUs the other keeps busy: where that does not grow with threads, a
    pool has little to do. Words: the other branch, and the branch.
    """
    against, branch = asked.words
    found = without_size(with_panel(asked.comparisons)).filter(
        pl.col("quantity").is_in(["time", "cpu"]), level="cell", baseline=against, branch=branch
    )
    if found.is_empty():
        raise asked.refused(
            f"`{branch}` is nowhere compared with `{against}`", "name branches that the sweep has"
        )
    times = without_size(
        with_panel(asked.sweep.times.filter(program=PARALLEL, branch=against).with_columns(WORDS))
    )
    busy = times.group_by("panel", "threads").agg(pl.col("cpus_busy").median().round(2))
    wide = (
        found.select(
            "panel",
            "threads",
            "quantity",
            change=pl.Series(map(_with_interval, found.rows(named=True))),
        )
        .pivot("quantity", index=["panel", "threads"], values="change")
        .join(busy, on=["panel", "threads"])
        .sort("panel", "threads")
        .select(
            pl.col("panel").alias("workload"),
            "threads",
            "time",
            pl.col("cpu").alias("CPU time"),
            "cpus_busy",
        )
        .rename({"cpus_busy": f"CPUs that {against} keeps busy"})
    )
    table = asked.table(wide, f"what {branch} changes against {against}, by workload and threads")
    return f"`{branch}` against `{against}`, with 95\N{NO-BREAK SPACE}% intervals {asked.source()}:\n\n{table}"


def _change(row: dict[str, Any]) -> str:
    told = percent(row["time_ratio"])
    return told if row["verdict"] in (UNCLEAR, UNJUDGED) else f"**{told}**"


def _balance(asked: Asked) -> str:
    """Where the judge calls a branch faster, and where slower, side by side.

    And what loss is not excluded.

    Of single thread counts there is what is not said of the workload. Words: the branch, and what
    it is compared with.
    """
    branch, against = asked.words
    own = without_size(with_panel(asked.comparisons)).filter(
        pl.col("level").is_in(["workload", "cell"]), baseline=against, branch=branch
    )
    if own.is_empty():
        raise asked.refused(
            f"`{branch}` is not compared with `{against}`",
            "name a branch and a baseline that it has",
        )
    sides = {
        "gains (workload on threads)": _told(asked, own, FASTER),
        "loses": _told(asked, own, SLOWER),
    }
    gains, loses = sides.values()
    source = f"`{branch}` against `{against}` {asked.source()}"
    most = max(len(gains), len(loses))
    if not most:
        return f"{source}: told to gain nowhere, and to lose nowhere.{_excluded(own)}"
    told = f"{source}: told to gain in {_places(gains)}, to lose in {_places(loses)}"
    rest = "; the largest of each" if most > MOST_TOLD else ""
    rows = pl.DataFrame(
        {side: (cells + [""] * most)[: min(most, MOST_TOLD)] for side, cells in sides.items()}
    )
    return (
        f"{told}{rest}.{_excluded(own)}\n\n{asked.table(rows, f'where {branch} gains and loses')}"
    )


def _places(cells: list[str]) -> str:
    return count(len(cells), "place") if cells else "none"


def _told(asked: Asked, own: pl.DataFrame, verdict: str) -> list[str]:
    """What is said of one branch by workload and threads, all quantities of the two together, the largest first."""
    said, place = own.filter(verdict=verdict), ["panel", "quantity"]
    of_workload = said.filter(level="workload")
    alone = said.filter(level="cell").join(of_workload, on=place, how="anti")
    size = pl.col("time_ratio").log().abs()
    rows = pl.concat([of_workload, alone]).filter((pl.col("time_ratio") - 1).abs() >= LEAST_TOLD)
    cells: dict[str, list[str]] = {}
    for row in rows.sort(size, descending=True).rows(named=True):
        threads = str(
            row["threads"] or pooled_threads(asked.comparisons, row).partition(" thread")[0]
        )
        interval = f"{percent(row['ratio_low'])} to {percent(row['ratio_high'])}"
        told = f"{QUANTITY_NAMES[row['quantity']]} {percent(row['time_ratio'])} ({interval})"
        cells.setdefault(f"{row['panel']} on {threads}", []).append(told)
    return [f"{place}: {', '.join(told)}" for place, told in cells.items()]


def _excluded(rows: pl.DataFrame) -> str:
    """Of how many comparisons of one branch a loss is excluded, and how large one may be elsewhere.

    In: its rows of workloads and cells, with `panel`.
    """
    margin = pl.when(pl.col("level") == "cell").then(CELL_MARGIN).otherwise(MARGIN)
    is_excluded = (pl.col("ratio_high") < margin) & pl.col("band").is_not_null()
    number = rows.select(is_excluded.sum()).item()
    margins = [f"{100 * (margin - 1):.0f}\N{NO-BREAK SPACE}%" for margin in (MARGIN, CELL_MARGIN)]
    told = (
        f" A loss beyond {margins[0]} on a workload, or {margins[1]} at one thread count, is excluded in {number} of "
        f"{count(rows.height, 'comparison')}"
    )
    rest = rows.filter(~is_excluded.fill_null(value=False)).drop_nulls("ratio_high")
    largest = []
    for quantity, name in QUANTITY_NAMES.items():
        for row in (
            rest.filter(quantity=quantity)
            .sort("ratio_high", descending=True)
            .head(1)
            .rows(named=True)
        ):
            threads = f" with {count(row['threads'], 'thread')}" if row["threads"] else ""
            largest.append(f"{percent(row['ratio_high'])} {name} on {row['panel']}{threads}")
    return f"{told}{'; the largest that are not: ' if largest else ''}{'; '.join(largest)}."


def _proposals(asked: Asked) -> str:
    """What each branch with edits gains and loses against the baseline, and what loss is not excluded: a row each.

    No words. Lines are those of our text without comments, by the edits as they are now.
    """
    judgement = asked.sweep.judgement
    sources = {
        entry["name"]: entry.get("source", {}) for entry in asked.sweep.sweep.manifest["branches"]
    }
    rows = without_size(with_panel(judgement.comparisons)).filter(baseline=judgement.baseline)
    made = []
    for branch, source in sources.items():
        own = rows.filter(pl.col("level").is_in(["workload", "cell"]), branch=branch)
        if source.get("kind") != "edited" or own.is_empty():
            continue
        overall = rows.filter(level="overall", branch=branch, quantity="time").row(0, named=True)
        worst = (
            own.filter(quantity="time", level="workload")
            .sort("ratio_high", descending=True)
            .row(0, named=True)
        )
        median = gained_and_lost(judgement.comparisons, overall)[-1].rpartition(" by ")[2]
        made.append(
            {
                "proposal": f"[`{branch}`]({asked.link(CHECKOUT / source['edits'])})",
                "lines": own_lines(CHECKOUT / source["edits"]),
                "time over all workloads": f"{_with_interval(overall)}, median {median}",
                "gains": "; ".join(_told(asked, own, FASTER)[:1]) or "nowhere told",
                "loses": "; ".join(_told(asked, own, SLOWER)[:1]) or "nowhere told",
                "cannot be excluded": f"{percent(worst['ratio_high'])} time on {worst['panel']}",
            }
        )
    if not made:
        raise asked.refused("no branch has edits", "name a sweep of the experiment `upstream`")
    return f"Against `{judgement.baseline}` {asked.source()}:\n\n{asked.table(pl.DataFrame(made), 'proposals')}"


def _lines(asked: Asked) -> str:
    """How many lines of ours a proposal has, for a cell of a table.

    Words: its folder below `findings/`.
    """
    return count(own_lines(CHECKOUT / "findings" / asked.words[0] / "edits.toml"), "line")


def own_lines(edits: Path) -> int:
    """Lines of code in the text of edits."""
    changes = tomllib.loads(edits.read_text(encoding="utf-8"))["edit"]
    texts = [change.get(key, "") for change in changes for key in ("replace", "before", "after")]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def _with_interval(row: dict[str, Any]) -> str:
    return f"{_change(row)} ({percent(row['ratio_low'])} to {percent(row['ratio_high'])})"


TABLES: dict[str, Callable[[Asked], str]] = {
    "by-threads": _by_threads,
    "parts": _parts,
    "cells": _cells,
    "balance": _balance,
    "proposals": _proposals,
    "lines": _lines,
}
"""These statements, by kind."""
