"""Writes the report of one sweep as a folder: figures, tables, and the page.

The page is one HTML file without external resources. It begins with the recommendation, and has the tables of its figures.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import jinja2
import polars as pl
from altair.utils.schemapi import debug_mode
from markupsafe import Markup, escape

from sweep_analysis.draw import svg
from sweep_analysis.draw.figure import Figure
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.provenance import provenance
from sweep_analysis.report.figures import figures
from sweep_analysis.say import tables
from sweep_analysis.say.cautions import cautions, voids
from sweep_analysis.say.facts import facts
from sweep_analysis.say.headline import headline_lines
from sweep_analysis.say.recommendation import recommendation
from sweep_analysis.stats.analysis import FRAMES, Analysis, analyse

MANY_SENTENCES = 12
"""The page folds a list of more sentences than this."""

Drawn = dict[str, dict[str, str]]
"""Pictures as SVG in the light theme, by figure and file name."""


def drawings(listed: Iterable[Figure]) -> Drawn:
    """Draw every figure with data."""
    # Altair's check of every part of hundreds of charts takes longer than drawing them, so only
    # tests do it.
    with debug_mode(arg=False):
        return {
            figure.name: {name: svg.draw(chart) for name, chart in figure.charts().items()}
            for figure in listed
            if figure.missing is None
        }


def render_page(analysis: Analysis, listed: list[Figure], drawn: Drawn | None = None) -> str:
    """The page as HTML, with all figures of `listed` and their `drawings`.

    The page loads no resources and has a light and a dark theme. Without scripts, only the sorting of tables fails.
    """
    sweep = analysis.sweep
    void = voids(sweep)
    drawn = drawings(listed) if drawn is None else drawn
    titles = {figure.name: figure.title for figure in listed}
    pictures = {
        name: [
            svg.inline(picture, f"{name}-{number}", titles[name])
            for number, picture in enumerate(charts.values())
        ]
        for name, charts in drawn.items()
    }
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            sweep=sweep,
            facts=facts(analysis),
            recommendation=recommendation(analysis.decisions),
            headline=headline_lines(analysis.decisions),
            cautions=[text for text in cautions(analysis) if text not in void],
            voids=void,
            claims=tables.for_people(analysis, "claims", analysis.claims),
            claim_details=tables.for_people(analysis, "claim-details", analysis.claim_details),
            shown=[figure for figure in listed if figure.missing is None],
            absent=[figure for figure in listed if figure.missing is not None],
            pictures=pictures,
            failures=analysis.failures.select(
                "branch", "workload", "size", "threads", "outcome", "reason", "stderr_tail"
            ),
            many_sentences=MANY_SENTENCES,
            text=tables.text,
            words_in=words_in,
            css=_source("page.css"),
            sort=_source("sort.js"),
        )
    )


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.PackageLoader("sweep_analysis.report", "templates"),
    )
    made.filters["code"] = with_code
    made.globals["variables"] = svg.variables_by_name()
    return made


def _source(name: str) -> str:
    folder = resources.files("sweep_analysis.report")
    return folder.joinpath(f"templates/{name}").read_text(encoding="utf-8")


def words_in(frame: pl.DataFrame) -> list[int]:
    """Numbers, from 1, of the columns with words, which are aligned to the left."""
    return [
        number
        for number, column in enumerate(frame, 1)
        if column.dtype == pl.String
        and not column.drop_nulls().str.contains(r"^(?:[±+−]?\d.*|all|)$").all()
    ]


def with_code(text: object) -> Markup:
    """A sentence for the page, with text in backticks as code, and without a line break before `%`."""
    joined = re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", str(escape(text)))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", joined))  # noqa: S704 - escaped just before


def write_report(sweep: Sweep, output: Path) -> Path:
    """Write figures, tables and `index.html` into `output`, with progress on stderr; returns the page's path."""

    def begin(step: int, what: str) -> None:
        print(f"[{step}/3] {what}", file=sys.stderr)

    begin(1, f"comparing the branches of {sweep.path.name}")
    analysis = analyse(sweep)
    listed = figures(analysis)
    output.mkdir(parents=True, exist_ok=True)
    begin(2, "writing tables")
    write_tables(analysis, output / "tables")
    begin(3, "drawing figures and the page")
    drawn = drawings(listed)
    write_figures(drawn, output / "figures")
    page = output / "index.html"
    text = render_page(analysis, listed, drawn)
    page.write_text(text, encoding="utf-8", errors="backslashreplace")
    return page


def write_tables(
    analysis: Analysis, folder: Path, suffixes: Iterable[str] = tables.SUFFIXES
) -> None:
    """Write every frame in each of the formats, and the provenance of the frames to `provenance.json`."""
    frames = {name: analysis.frame(name) for name in FRAMES}
    for name, frame in frames.items():
        for suffix in suffixes:
            tables.write(frame, folder / f"{name}.{suffix}")
    rows = {name: frame.height for name, frame in frames.items()}
    told = json.dumps(provenance(analysis.sweep) | {"rows": rows}, indent=2)
    (folder / "provenance.json").write_text(told + "\n", encoding="utf-8")


def write_figures(drawn: Drawn, folder: Path) -> None:
    """Write every picture in light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for charts in drawn.values():
        for name, picture in charts.items():
            (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
            (folder / f"{name}-dark.svg").write_text(svg.dark(picture), encoding="utf-8")
