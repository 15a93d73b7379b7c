"""Writes a folder that shows one sweep: figures, tables, and one page that needs no network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from altair.utils.schemapi import debug_mode

from sweep_analysis.draw import svg
from sweep_analysis.draw.figure import Figure
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.provenance import provenance
from sweep_analysis.report.figures import figures
from sweep_analysis.report.page import render_page
from sweep_analysis.say import tables
from sweep_analysis.say.cautions import cautions
from sweep_analysis.services.results import points_of
from sweep_analysis.stats.analysis import FRAMES, Analysis, analyse


def write_report(sweep: Sweep, output: Path) -> Path:
    """Write figures, tables and `index.html` into `output`, telling on stderr how far it is.

    Returns the page.
    """

    def begin(step: int, what: str) -> None:
        print(f"[{step}/4] {what}", file=sys.stderr)

    begin(1, f"comparing the branches of {sweep.path.name}")
    analysis = analyse(sweep)
    listed = figures(analysis)
    output.mkdir(parents=True, exist_ok=True)
    begin(2, "writing tables")
    write_tables(analysis, output / "tables")
    # The library that draws keeps much memory, so what looks at all trials comes before.
    found = cautions(analysis)
    page = output / "index.html"
    with debug_mode(
        arg=False
    ):  # checking every part of hundreds of charts takes longer than drawing them; tests do
        begin(3, "drawing figures")
        write_figures(listed, output / "figures")
        begin(4, "drawing the page")
        text = render_page(analysis, listed, found)
        page.write_text(text, encoding="utf-8", errors="backslashreplace")
    return page


def write_tables(
    analysis: Analysis, folder: Path, suffixes: Iterable[str] = tables.SUFFIXES
) -> None:
    """Write every frame in each of the formats, and `provenance.json`, which says where all of them are from."""
    frames = {name: analysis.frame(name) for name in FRAMES}
    points = points_of(analysis)
    if points is not None:
        frames["experiment"] = points
    for name, frame in frames.items():
        for suffix in suffixes:
            tables.write(frame, folder / f"{name}.{suffix}", analysis.sweep.label)
    rows = {name: frame.height for name, frame in frames.items()}
    told = json.dumps(provenance(analysis.sweep) | {"rows": rows}, indent=2)
    (folder / "provenance.json").write_text(told + "\n", encoding="utf-8")


def write_figures(listed: Iterable[Figure], folder: Path) -> None:
    """Write every figure as SVG in light and dark.

    Figures without data are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for figure in listed:
        for name, chart in figure.whole().items() if figure.missing is None else ():
            drawn = svg.draw(chart)
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
            (folder / f"{name}-dark.svg").write_text(svg.dark(drawn), encoding="utf-8")
