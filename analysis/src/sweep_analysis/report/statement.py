"""The request for a generated result: the sweeps and words of its comment in a document."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from sweep_analysis.draw import svg
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import count, listed
from sweep_analysis.read.load import CHECKOUT, read_sweep
from sweep_analysis.say import tables
from sweep_analysis.stats.analysis import Analysis, analyse

LONGEST = 8
"""Maximum number of rows of a table that is not folded; a longer table does not fit on a screen with its text."""

PICTURES = CHECKOUT / "results" / "figures"

Made = tuple[str, dict[Path, str]]
"""A text in Markdown, and its pictures by path."""


@dataclass(frozen=True)
class Statement:
    """One generated result, as its comment in a document requests it.

    Attributes:
        where: the file and the words of the comment, for errors.
        folder: the file's folder, to which links are relative.
        sweeps: the sweeps that the comment names, in this order.
        words: the other words of the comment.
        is_open: whether a long table is not folded.
        analysis: analyses the sweep in a folder, for kinds that find sweeps by themselves.
    """

    where: str
    folder: Path
    sweeps: list[Analysis]
    words: list[str]
    is_open: bool = False
    analysis: Callable[[Path], Analysis] = field(default=lambda folder: analyse(read_sweep(folder)))

    @property
    def sweep(self) -> Analysis:
        """The first sweep."""
        return self.sweeps[0]

    @property
    def comparisons(self) -> pl.DataFrame:
        """The comparisons of the first sweep."""
        return self.sweep.decisions.comparisons

    def refused(self, problem: str, remedy: str) -> InputError:
        """The error to raise if the result cannot be generated."""
        return InputError(self.where, problem, remedy)

    def table(self, frame: pl.DataFrame, holds: str) -> str:
        """Format a frame in Markdown, folded if it is long; `holds` describes the frame's contents."""
        made = tables.markdown(frame)
        if self.is_open or frame.height <= LONGEST:
            return made
        # Markdown needs blank lines around a table.
        summary = escape(f"Table: {count(frame.height, 'row')}, {holds}", quote=False)
        return f"<details><summary>{summary}</summary>\n\n{made.strip()}\n\n</details>\n"

    def picture(self, name: str, title: str, chart: alt.TopLevelMixin) -> Made:
        """Draw a chart as files of this name; a screen reader reads `title` in its place."""
        drawn = svg.draw(chart)
        light, dark = (PICTURES / f"{name}{theme}.svg" for theme in ("", "-dark"))
        text = (
            "<picture>\n"
            f'  <source media="(prefers-color-scheme: dark)" srcset="{self.link(dark)}">\n'
            f'  <img alt="{title}" src="{self.link(light)}">\n'
            "</picture>\n"
        )
        return text, {light: drawn, dark: svg.dark(drawn)}

    def link(self, target: Path) -> str:
        """The path of a link from the file to `target`."""
        return os.path.relpath(target, self.folder)

    def each_link(self) -> list[str]:
        """The sweeps as links, each named by its start time."""
        return [
            f"[`{moment(analysis)}`]({self.link(CHECKOUT / 'results' / 'sweeps' / analysis.sweep.path.name)})"
            for analysis in self.sweeps
        ]

    def sources(self) -> str:
        """The sweeps and their hosts, as a part of a sentence."""
        hosts = dict.fromkeys(host(analysis) for analysis in self.sweeps)
        noun = "sweep" if len(self.sweeps) == 1 else "sweeps"
        return f"{noun} {listed(self.each_link())}; {'; '.join(hosts)}"

    def source(self) -> str:
        """The sweeps and their hosts in brackets, as the end of a sentence."""
        return f"({self.sources()})"


def moment(analysis: Analysis) -> str:
    """The start time of a sweep, by which documents name it."""
    return analysis.sweep.path.name[: len("2026-11-20T181745Z")]


def host(analysis: Analysis) -> str:
    """A short name of the host or simulated machine of a sweep."""
    if analysis.sweep.points:  # The machines of a box differ in their number of cores.
        return analysis.sweep.label
    if analysis.sweep.machine:
        return f"{analysis.sweep.label}, {count(analysis.sweep.host.get('cores') or analysis.cpus or 0, 'core')}"
    cpu: dict[str, Any] = analysis.sweep.host.get("cpu", {})
    cpus = count(analysis.cpus or 0, "virtual CPU" if cpu.get("is_virtual") else "CPU")
    # A virtual machine may hide a part of the processor's name, so that the name fits several
    # generations. So the text adds the processor family.
    family = (
        f" of family {cpu['cpu_family']}" if cpu.get("is_virtual") and cpu.get("cpu_family") else ""
    )
    return f"{cpus}, {cpu.get('model_name') or 'of unknown model'}{family}".replace("(R)", "")
