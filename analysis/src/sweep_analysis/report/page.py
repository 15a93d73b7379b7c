"""Writes the report of one sweep as a folder: figures, tables, and the page.

The page is one HTML file without external resources. It begins with the recommendation and includes its numbers.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
import polars as pl
from altair.utils.schemapi import debug_mode
from markupsafe import Markup, escape

from sweep_analysis.draw import svg
from sweep_analysis.draw.figure import Figure
from sweep_analysis.draw.palette import LIGHT, styles
from sweep_analysis.read.labels import count, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.provenance import provenance
from sweep_analysis.read.written import Experiment
from sweep_analysis.report.figures import chart_style, figures
from sweep_analysis.say import tables
from sweep_analysis.say.cautions import cautions, voids
from sweep_analysis.say.comparison import in_words
from sweep_analysis.say.facts import facts, hypotheses
from sweep_analysis.say.findings import (
    claims_sentence,
    counter_sentences,
    noise_sentences,
    result_sentences,
)
from sweep_analysis.say.headline import headline
from sweep_analysis.say.recommendation import Recommendation, recommendation
from sweep_analysis.services.results import points_of
from sweep_analysis.stats.analysis import FRAMES, Analysis, analyse

FIRST_CAUTIONS = 3
"""Number of cautions at the top of the page; the section on limits has all of them."""
MANY_PICTURES = 9
"""If a figure has more pictures, one is open at a time."""
BESIDE = 790
"""A picture of at most this width in pixels is placed beside its text; otherwise half of the page would be empty."""
TWO_A_ROW = 560
"""Wider pictures are placed below each other."""
MANY_SENTENCES = 12
"""A longer list of sentences is folded."""


@dataclass(frozen=True)
class Section:
    """A figure with its pictures for the page.

    Attributes:
        figure: the entry of the list of figures.
        pictures: SVG in the page's colours, by panel.
        is_beside: whether the text is placed beside the pictures, which are in one column.
    """

    figure: Figure
    pictures: dict[str, str]
    is_beside: bool = False


_WIDTH = re.compile(r'<svg [^>]*?width="([0-9.]+)"')


def render_page(
    analysis: Analysis, listed: Iterable[Figure], found: list[str] | None = None
) -> str:
    """The page as HTML, with all figures of `listed`; `found` are its `cautions`, if already computed.

    The page loads no resources and has a light and a dark theme. Without scripts only sorting fails.
    """
    sweep = analysis.sweep
    shown = [(figure, None if figure.missing else section(figure)) for figure in listed]
    experiment = analysis.experiment
    own = experiment is not None and experiment.has_own_figure
    void, found = voids(sweep), cautions(analysis) if found is None else found
    style = chart_style(analysis, LIGHT)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            sweep=sweep,
            facts=facts(analysis),
            recommendation=_own_recommendation(experiment)
            if experiment is not None and own
            else recommendation(analysis.decisions),
            headline=headline(analysis.decisions),
            results=[] if own else result_sentences(analysis),
            plain=analysis.decisions.plain,
            counters=[] if own else counter_sentences(analysis),
            noise=[] if own else noise_sentences(analysis),
            cautions=found,
            voids=void,
            first_cautions=[text for text in found if text not in void][:FIRST_CAUTIONS],
            legend=styles(style.branches, style.baseline, LIGHT),
            hypotheses=hypotheses(sweep),
            claims=_claims(analysis),
            claims_told=claims_sentence(analysis),
            experiment=experiment,
            sections=[found for _, found in shown if found],
            absent=[figure for figure, found in shown if not found],
            failures=analysis.failures.select(
                "branch", "workload", "size", "threads", "outcome", "reason", "stderr_tail"
            ),
            many_pictures=MANY_PICTURES,
            many_sentences=MANY_SENTENCES,
            text=tables.text,
            words_in=words_in,
            css=source("page.css"),
            sort=source("sort.js"),
        )
    )


def environment() -> jinja2.Environment:
    """The template environment of all pages, with templates, filters, and colours of both themes."""
    made = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.PackageLoader("sweep_analysis.report", "templates"),
    )
    made.filters["code"] = with_code
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}  # JSON keeps the order of keys
    made.globals["variables"] = svg.variables_by_name()
    return made


def source(name: str) -> str:
    """The text of a style sheet or script, which the page includes unchanged."""
    return (
        resources.files("sweep_analysis.report")
        .joinpath(f"templates/{name}")
        .read_text(encoding="utf-8")
    )


@dataclass(frozen=True)
class ClaimShown:
    """A pre-registered hypothesis on the page.

    Attributes:
        branch: its branch.
        words: the text of the hypothesis.
        verdict: its result.
        change: the change over all its configurations, with interval; or the reason why it was not tested.
        details: the results by workload; None if it was not tested.
    """

    branch: str
    words: str
    verdict: str
    change: str
    details: pl.DataFrame | None


def _claims(analysis: Analysis) -> list[ClaimShown]:
    names = analysis.times["workload"].unique(maintain_order=True).to_list()
    details = tables.claim_detail_table(with_panel(analysis.claim_details))
    shown = []
    for claim in analysis.claims.rows(named=True):
        own = details.filter(claim=claim["claim"]).drop("claim", "branch")
        change = claim["reason"] or ""
        if claim["time_ratio"] is not None:
            told = in_words(claim, place=f"over {count(claim['cells'], 'configuration')}")
            change = f"{told}; {change}" if change else told
        words = tables.claim_in_words(claim, names)
        shown.append(
            ClaimShown(
                claim["branch"], words, claim["verdict"], change, own if own.height else None
            )
        )
    return shown


def section(figure: Figure) -> Section:
    """Draw one figure for the page."""
    pictures = {
        name: svg.inline(svg.draw(chart), f"{figure.name}-{number}", f"{figure.title} {name}")
        for number, (name, chart) in enumerate(figure.panels().items())
    }
    widths = [float(found[1]) for picture in pictures.values() if (found := _WIDTH.search(picture))]
    is_single = len(pictures) == 1 or len(pictures) > MANY_PICTURES
    widest = max(widths, default=0)
    is_column = is_single or widest > TWO_A_ROW
    return Section(figure, pictures, is_column and 0 < widest <= BESIDE)


def words_in(frame: pl.DataFrame) -> list[int]:
    """Numbers, from 1, of the columns that are aligned to the left: those with words."""
    return [
        number
        for number, column in enumerate(frame, 1)
        if column.dtype == pl.String
        and not column.drop_nulls().str.contains(r"^(?:[±+−]?\d.*|all|)$").all()
    ]


def _own_recommendation(experiment: Experiment) -> Recommendation:
    """Replaces the recommendation in a sweep of an experiment with a figure of its own."""
    answer = f"No recommendation: this sweep is the experiment {experiment.name}, about {experiment.shows}."
    repeats = (
        "" if experiment.source == "this laboratory" else f"; it repeats the {experiment.source}"
    )
    return Recommendation(None, answer, [f"Its figure is below{repeats}."], [])


def with_code(text: object) -> Markup:
    """A sentence for the page, with text in backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped just before


def write_report(sweep: Sweep, output: Path) -> Path:
    """Write figures, tables and `index.html` into `output`, with progress on stderr; returns the page's path."""

    def begin(step: int, what: str) -> None:
        print(f"[{step}/4] {what}", file=sys.stderr)

    begin(1, f"comparing the branches of {sweep.path.name}")
    analysis = analyse(sweep)
    listed = figures(analysis)
    output.mkdir(parents=True, exist_ok=True)
    begin(2, "writing tables")
    write_tables(analysis, output / "tables")
    # The drawing library keeps much memory, so cautions, which read all trials, are computed before.
    found = cautions(analysis)
    page = output / "index.html"
    with debug_mode(
        arg=False
    ):  # the check of every part of hundreds of charts takes longer than drawing them; tests check
        begin(3, "drawing figures")
        write_figures(listed, output / "figures")
        begin(4, "drawing the page")
        text = render_page(analysis, listed, found)
        page.write_text(text, encoding="utf-8", errors="backslashreplace")
    return page


def write_tables(
    analysis: Analysis, folder: Path, suffixes: Iterable[str] = tables.SUFFIXES
) -> None:
    """Write every frame in each of the formats, and `provenance.json` with their provenance."""
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
    """Write every figure with data as SVG in light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in listed:
        for name, chart in figure.whole().items() if figure.missing is None else ():
            drawn = svg.draw(chart)
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
            (folder / f"{name}-dark.svg").write_text(svg.dark(drawn), encoding="utf-8")
