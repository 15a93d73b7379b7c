"""Writes the table of a sweep: each configuration's median, its ratio to the baseline, and the significant results.

The commands `sweep`, `compare` and `show` print this table.
"""

from __future__ import annotations

import textwrap
from functools import cached_property
from typing import Any

import polars as pl

from sweep_analysis.read.load import Sweep
from sweep_analysis.read.request import Request, request_of
from sweep_analysis.read.schema import SEQUENTIAL
from sweep_analysis.say.cautions import voids
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

    def decisions(self) -> list[str]:
        """Sentences on the results and the limits of the sweep; empty without a comparison."""
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
            return _agreements(rows, look)
        foot = conditions(self.sweep)
        text = self._tables(rows, look) + (
            f"\n```text\n{foot}```\n" if look.is_markdown else f"\n{foot}"
        )
        told = [
            textwrap.fill(line, look.columns or WIDTH, break_on_hyphens=False)
            for line in self.decisions()
        ]
        return text + ("\n" + "\n".join(told) + "\n" if told else "")

    def _tables(self, rows: list[Row], look: Look) -> str:
        """Write a table for each workload, size, mode and placement, with a row for each branch at each thread count."""
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            place = tuple(row[name] for name in ("workload", "size", "mode", "placement"))
            groups.setdefault(place, []).append(row)
        text = ""
        for (workload, size, mode, placement), these in groups.items():
            title = (
                f"simulated {self.sweep.machine}: {workload}" if self.sweep.machine else workload
            )
            # A program of the user has one size, and the runner does not place its workers.
            if not is_of_user(self.sweep):
                title += f", size {size}, {mode} frequency, workers {placement}"
            text += look.heading(title) + _table(these, look) + "\n"
        return text + self._legend()

    def _legend(self) -> str:
        text = (
            "time: median of the trials' medians. CPU time: that of all threads together; it comes first if a clock "
            "paces the program."
        )
        if len(self.asked.names) > 1:
            text += (
                f" ratio: over {self.asked.names[0]}'s, the median over blocks; below 1 is less. "
                "The tested change is a mean over builds."
            )
        if self.sweep.twin in self.asked.names:
            text += f" {self.sweep.twin} is the A/A control: its ratios are noise."
        if self.rows["speed_up"].count():
            text += " speed-up: the time of the sequential program (seq.) over this one's."
        if self.rows["oversubscribed"].any():
            text += " *: more threads than CPUs."
        return textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def _decisions(sweep: Sweep, decisions: Decisions) -> list[str]:
    lines = [f"{sweep.label}."] if sweep.machine else voids(sweep)
    found = recommendation(decisions)
    failing = [sentence for sentence in found.hurts if " fails on " in sentence]
    if is_of_user(sweep):
        # `program_lines` has a sentence for each comparison, but no reason why no comparison is tested.
        is_tested = decisions.rows.select((pl.col("verdict") != UNTESTED).any()).item()
        return [*lines, *([] if is_tested else headline_lines(decisions)), *failing]
    lines += headline_lines(decisions)
    if headline(decisions) not in found.answer:
        lines.append(f"Which branch to merge? {found.answer}")
    lines += failing
    least = (
        f"No difference under {LEAST_SIMULATED * 100:.0f} % is significant. This is one machine, whose cost parameters "
        "are in part guesses, so state no size. Sweep with `--box` to learn on which share of machines a sign holds."
    )
    return [*lines, least] if sweep.machine else lines


def _table(rows: list[Row], look: Look) -> str:
    """Write times and ratios by parameters, threads and branch; CPU time comes first if a clock paces the program."""
    settings = [dict(word.split("=", 1) for word in row["parameters"].split()) for row in rows]
    names = sorted({name for own in settings for name in own})
    words = [{**own, "threads": _threads(row)} for own, row in zip(settings, rows, strict=True)]
    if len({row["branch"] for row in rows}) > 1:
        for own, row in zip(words, rows, strict=True):
            own["branch"] = "" if row["program"] == SEQUENTIAL else row["branch"]
    numbers: dict[str, list[str]] = {
        "time": [_time(row["median_ns"]) for row in rows],
        "ratio": [_three(row["ratio"]) for row in rows],
        "CPU time": [_time(row["cpu_ns"]) for row in rows],
        "CPU ratio": [_three(row["cpu_ratio"]) for row in rows],
        "speed-up": [_three(row["speed_up"]) for row in rows],
        "failed": [
            f"{row['failed']} of {row['failed'] + row['trials']}" if row["failed"] else ""
            for row in rows
        ],
    }
    order = list(numbers)
    order = [*order[2:4], *order[:2], *order[4:]] if rows[0]["paced"] else order
    shown = [name for name in order if any(numbers[name])]
    heads = [*names, *(name for name in ("threads", "branch") if name in words[0])]
    cells = [
        [*(own.get(name, "") for name in heads), *(numbers[name][at] for name in shown)]
        for at, own in enumerate(words)
    ]
    columns = [*(Column(name, is_number=False) for name in heads), *map(Column, shown)]
    return table(columns, cells, look, {at for at, row in enumerate(rows) if row["failed"]})


def _agreements(rows: list[Row], look: Look) -> str:
    """Write a row for each load and branch, and the number of proven rows. In: rows of `frames.AGREEMENTS`."""
    heads = (
        "workload",
        "instance",
        "way",
        "branch",
        "expected",
        "agree",
        "hung",
        "failed",
        "proven",
    )
    cells = [
        [
            *(row[name] for name in heads[:4]),
            row["expected"] or "no single answer",
            f"{row['agreeing']}/{row['trials']}",
            str(row["hung"]),
            str(row["failed"]),
            "yes" if is_proven(row) else "NO",
        ]
        for row in rows
    ]
    columns = [Column(name, is_number=name in ("agree", "hung", "failed")) for name in heads]
    marked = {at for at, row in enumerate(rows) if not is_proven(row)}
    return table(columns, cells, look, marked) + (
        f"\nagree: trials that give the sequential program's answer. {sum(map(is_proven, rows))} of {len(rows)} "
        "rows are proven: all their trials agree.\n"
    )


def is_proven(row: Row) -> bool:
    """Whether the expected answer is known and all trials gave it. In: a row of `frames.AGREEMENTS`."""
    return row["expected"] is not None and 0 < row["trials"] == row["agreeing"]


def _threads(row: Row) -> str:
    if row["program"] == SEQUENTIAL:
        return "seq."
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
