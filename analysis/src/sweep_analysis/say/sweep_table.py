"""The table of a sweep: each configuration's median, its ratio to the baseline, and the significant results.

`sweep`, `compare` and `show` print it.
"""

from __future__ import annotations

import textwrap
from functools import cached_property
from itertools import groupby
from typing import Any

import polars as pl

from sweep_analysis.read.load import Sweep
from sweep_analysis.read.request import Request, experiment_of, request_of
from sweep_analysis.read.schema import SEQUENTIAL
from sweep_analysis.say.cautions import voids
from sweep_analysis.say.changes import changes
from sweep_analysis.say.columns import Column, Look, table
from sweep_analysis.say.conditions import conditions
from sweep_analysis.say.headline import headline, headline_lines
from sweep_analysis.say.recommendation import recommendation
from sweep_analysis.say.user_program import is_of_user, program_lines
from sweep_analysis.stats.agreements import agreements
from sweep_analysis.stats.compare import LEAST_SIMULATED, UNTESTED
from sweep_analysis.stats.decisions import Decisions, decisions_of
from sweep_analysis.stats.medians import medians
from sweep_analysis.stats.speedup import trial_times

Row = dict[str, Any]

MOST_NAMED = 2
"""Maximum number of branches whose shares are on one line. More branches share one total if all are right, else
have a line each."""

WIDTH = 80
"""Width in characters of the lines that explain a table."""


class SweepTable:
    """The rows of a sweep's table, and the text around them."""

    def __init__(self, sweep: Sweep) -> None:
        """Compute the rows of `sweep`; decisions are computed on demand."""
        self.sweep = sweep
        self.asked: Request = request_of(sweep)
        if self.asked.is_about_answers:
            self.rows = agreements(sweep, self.asked)
        else:
            self._times = trial_times(sweep).collect()
            self.rows = medians(sweep, self.asked, self._times)

    @property
    def is_of_one_branch(self) -> bool:
        """Whether only one branch ran, so that there is no comparison."""
        return len(self.asked.names) == 1

    def decisions(self) -> list[str]:
        """The results and the limits of the sweep, a sentence or two each; empty without a comparison."""
        if self.asked.is_about_answers or len(self.asked.branches) == 1:
            return []
        return program_lines(self._decided, self._times) + _decisions(self.sweep, self._decided)

    @cached_property
    def _decided(self) -> Decisions:
        return decisions_of(self.sweep, self._times)

    def text(self, look: Look) -> str:
        """The table, the conditions, the decisions."""
        rows = self.rows.to_dicts()
        if self.asked.is_about_answers:
            return _shares(rows)
        body = _alone(rows, look) if self.is_of_one_branch else self._compared(rows, look)
        foot = conditions(self.sweep)
        body += f"\n```text\n{foot}```\n" if look.is_markdown else f"\n{foot}"
        told = [
            textwrap.fill(line, look.columns or WIDTH, break_on_hyphens=False)
            for line in self.decisions()
        ]
        return body + ("\n" + "\n".join(told) + "\n" if told else "")

    def _compared(self, rows: list[Row], look: Look) -> str:
        """A heading for each workload, mode and placement; below it a table for each thread count."""
        width = max((len(row["branch"]) for row in rows), default=0)
        machine = f"simulated {self.sweep.machine}: " if self.sweep.machine else ""
        text = ""
        for _, place in groupby(
            rows, lambda it: (it["workload"], it["parameters"], _condition(it))
        ):
            here = list(place)
            named = [f"{machine}{here[0]['workload']}", f"size {here[0]['size']}"]
            named += [here[0]["parameters"]] if here[0]["parameters"] else []
            # A program of the user has one size, and nobody places its workers.
            named = named[:1] if is_of_user(self.sweep) else [*named, _condition(here[0])]
            text += look.heading(", ".join(named), 2)
            for (program, threads), group in groupby(
                here, lambda it: (it["program"], it["threads"])
            ):
                these = list(group)
                if program == SEQUENTIAL:
                    text += f"\nsequential program: {_time(these[0]['median_ns']) or 'failed'}\n\n"
                    continue
                crowd = ", more than CPUs" if these[0]["oversubscribed"] else ""
                text += look.heading(f"{threads} thread{'s' * (threads != 1)}{crowd}", 3)
                text += _of_branches(these, width, look) + "\n"
        return text + self._legend() + self._changes(look)

    def _changes(self, look: Look) -> str:
        """Improvements and regressions, unless the experiment tests no branch, or there is one program.

        They count and average configurations, and one program has hardly any.
        """
        experiment = experiment_of(self.sweep)
        has_own_figure = experiment is not None and experiment.has_own_figure
        if len(self.asked.branches) == 1 or has_own_figure or is_of_user(self.sweep):
            return ""
        told = changes(self._decided, look)
        return f"\n{told.rstrip()}\n" if told else ""

    def _legend(self) -> str:
        baseline, twin = self.asked.names[:2]
        is_control = twin == self.sweep.twin
        again = (
            f" {twin} is the A/A control, {baseline} run twice: its ratios are noise."
            if is_control
            else ""
        )
        text = (
            "time: median of the trials' medians. CPU time: that of all threads together; it comes first if a "
            f"clock paces the program. ratio: over {baseline}'s, paired inside blocks; below 1 is less.{again}"
        )
        if self.rows["speed_up"].count():
            text += " speed-up: the sequential program's time over this one's."
        return textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def _decisions(sweep: Sweep, decisions: Decisions) -> list[str]:
    experiment = experiment_of(sweep)
    lines = [f"{sweep.label}."] if sweep.machine else voids(sweep)
    if experiment is not None and experiment.has_own_figure:
        return [
            *lines,
            f"Branches are not tested: this sweep is the experiment {experiment.name}, about {experiment.shows}.",
        ]
    found = recommendation(decisions)
    failing = [sentence for sentence in found.hurts if " fails on " in sentence]
    if is_of_user(sweep):
        # `program_lines` has a sentence for each comparison, but not why none is tested.
        is_tested = decisions.rows.select((pl.col("verdict") != UNTESTED).any()).item()
        return [*lines, *([] if is_tested else headline_lines(decisions)), *failing]
    lines += headline_lines(decisions)
    if headline(decisions) not in found.answer:
        lines.append(f"Which branch to merge? {found.answer}")
    lines += failing
    least = (
        f"No difference under {LEAST_SIMULATED * 100:.0f} % is significant. This is one machine, whose cost parameters "
        "are in part guesses: sweep with `--box` to learn on which share of machines a sign holds, and state no size."
    )
    return [*lines, least] if sweep.machine else lines


def _of_branches(rows: list[Row], width: int, look: Look) -> str:
    """A row for each branch; CPU time comes first if a clock paces the program."""
    wall = [Column("time", least=7), Column("ratio", least=6)]
    cpu = [Column("CPU time"), Column("CPU ratio")]
    is_paced = rows[0]["paced"]
    columns = [
        Column("branch", is_number=False, least=width),
        *(cpu + wall if is_paced else wall + cpu),
        Column("speed-up"),
    ]
    has_speed_up = any(row["speed_up"] is not None for row in rows)
    columns = columns if has_speed_up else columns[:-1]
    cells = []
    for row in rows:
        of_wall = [_time(row["median_ns"]), _three(row["ratio"])]
        of_cpu = [_time(row["cpu_ns"]), _three(row["cpu_ratio"])]
        times = of_cpu + of_wall if is_paced else of_wall + of_cpu
        cells.append([row["branch"], *times, *([_three(row["speed_up"])] if has_speed_up else [])])
    return _with_failures(columns, cells, rows, look)


def _alone(rows: list[Row], look: Look) -> str:
    """A table for each workload, mode and placement, with a row for each set of parameters and thread count.

    A branch that ran alone has no ratios; the reader compares its rows.
    """
    order = list(dict.fromkeys(row["workload"] for row in rows))
    conditions = list(dict.fromkeys(_condition(row) for row in rows))

    def place(row: Row) -> tuple[int, int]:
        return order.index(row["workload"]), conditions.index(_condition(row))

    text = ""
    for _, group in groupby(sorted(rows, key=place), place):
        these = list(group)
        row = these[0]
        title = f"{row['workload']}, size {row['size']}, {row['branch']}, {_condition(row)}"
        text += look.heading(title, 2) + ("" if look.is_markdown else "\n")
        settings = [dict(word.split("=", 1) for word in it["parameters"].split()) for it in these]
        names = sorted({name for own in settings for name in own})
        columns = [Column(name, is_number=False) for name in [*names, "threads"]]
        columns += [Column("time", least=7), Column("CPU time", least=7), Column("speed-up")]
        cells = [
            [
                *(own.get(name, "") for name in names),
                _threads(it),
                _time(it["median_ns"]),
                _time(it["cpu_ns"]),
                _three(it["speed_up"]),
            ]
            for it, own in zip(these, settings, strict=True)
        ]
        text += _with_failures(columns, cells, these, look) + "\n"
    text += "time: median of the trials' medians. CPU time: that of all threads together.\n"
    text += "speed-up: the sequential program's time over the row's time."
    text += "\n*: more threads than CPUs." if any(row["oversubscribed"] for row in rows) else ""
    return text + "\n"


def _with_failures(
    columns: list[Column], cells: list[list[str]], rows: list[Row], look: Look
) -> str:
    """The table, with a last column where trials failed."""
    marked = {number for number, row in enumerate(rows) if row["failed"]}
    if marked:
        columns = [*columns, Column("failed", is_number=False)]
        told = [
            f"{row['failed']} of {row['failed'] + row['trials']}" if row["failed"] else ""
            for row in rows
        ]
        cells = [[*line, what] for line, what in zip(cells, told, strict=True)]
    return table(columns, cells, look, marked)


def _shares(rows: list[Row]) -> str:
    """A heading for each sequential program, a line for each set of ignored parameters, a share for each branch."""
    width = max((len(row["way"]) for row in rows), default=0)
    programs = dict.fromkeys((row["workload"], row["instance"]) for row in rows)
    text = ""
    for workload, instance in programs:
        own = [row for row in rows if (row["workload"], row["instance"]) == (workload, instance)]
        expected = own[0]["expected"] or "no single answer"
        text += f"{workload} {instance}\nthe sequential program gives: {expected}\n\n"
        for way, group in groupby(own, lambda it: it["way"]):
            these = list(group)
            if len(these) > MOST_NAMED and all(is_proven(row) for row in these):
                trials = sum(row["trials"] for row in these)
                told = f"{len(these)} branches {trials}/{trials}"
            else:
                between = f"\n  {'':{width}}   " if len(these) > MOST_NAMED else "   "
                told = between.join(_share(row) for row in these)
            text += f"  {way:{width}}   {told}\n"
        text += "\n"
    proven, trials = sum(is_proven(row) for row in rows), sum(row["trials"] for row in rows)
    return text + (
        f"{sum(row['agreeing'] for row in rows)} of {trials} trials give the sequential program's answer; "
        f"{proven} of {len(rows)} rows are proven\n"
    )


def is_proven(row: Row) -> bool:
    """Whether the expected answer is known and all trials gave it. In: a row of `frames.AGREEMENTS`."""
    return row["expected"] is not None and 0 < row["trials"] == row["agreeing"]


def _share(row: Row) -> str:
    """The share of agreeing trials, such as `3/4`, and how the other trials ended."""
    others = row["trials"] - row["agreeing"] - row["hung"] - row["failed"]
    # Without the sequential program's answer, no answer can be checked.
    is_wrong = row["trials"] == 0 or row["expected"] is None or others > 0
    ended = ", ".join(f"{row[how]} {how}" for how in ("hung", "failed") if row[how])
    share = f"{row['branch']} {row['agreeing']}/{row['trials']}"
    return share + (" WRONG" if is_wrong else "") + (f" ({ended})" if ended else "")


def _condition(row: Row) -> str:
    return f"{row['mode']} frequency, workers {row['placement']}"


def _threads(row: Row) -> str:
    if row["program"] == SEQUENTIAL:
        return "sequential"
    return f"{row['threads']}{'*' if row['oversubscribed'] else ''}"


def _three(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _time(ns: float | None) -> str:
    """A time with three digits: `812 ns`, `24.9 ms`, `1.23 s`."""
    if ns is None:
        return ""
    sizes = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 0.0}
    unit = next(unit for unit, least in sizes.items() if ns >= least)
    value = ns / (sizes[unit] or 1.0)
    ten, hundred = 10.0, 100.0
    digits = 2 if value < ten else int(value < hundred)
    return f"{value:.{digits}f} {unit}"
