"""Writes a folder that shows one sweep: figures, tables, and one page that needs no network."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import polars as pl
import vl_convert

from sweep_analysis import event_plots, experiments, plots, tables
from sweep_analysis.experiment_plots import experiment_figures
from sweep_analysis.findings import (
    Analysis,
    analyse,
    cautions,
    counter_sentences,
    headline,
    noise_sentences,
    plain_fork,
    verdict_sentences,
)
from sweep_analysis.labels import count, ranges, with_panel
from sweep_analysis.load import Sweep
from sweep_analysis.palette import DARK, LIGHT, Theme, styles
from sweep_analysis.schema import PARALLEL
from sweep_analysis.speedup import DEFINITIONS

SCALE = 2
"""Pixels of a PNG per pixel of its SVG."""


@dataclass(frozen=True)
class Picture:
    """One chart on the page, as data addresses of its light and its dark SVG."""

    title: str
    light: str
    dark: str


def write_report(sweep: Sweep, output: Path) -> Path:
    """Write figures, tables and `index.html` into `output`; returns the page."""
    analysis = analyse(sweep)
    output.mkdir(parents=True, exist_ok=True)
    write_tables(analysis, output / "tables")
    write_figures(analysis, output / "figures")
    page = output / "index.html"
    page.write_text(render_page(analysis), encoding="utf-8")
    return page


def write_tables(analysis: Analysis, folder: Path, suffixes: Iterable[str] = tables.SUFFIXES) -> None:
    """Write every frame in each of the formats."""
    frames = {
        "trials": analysis.times,
        "speedups": analysis.speedups,
        "comparisons": analysis.comparisons,
        "failures": analysis.failures,
        "events": analysis.events,
        "lines": analysis.lines,
    }
    experiment = experiments.experiment_of(analysis.sweep)
    if experiment is not None:
        frames["experiment"] = experiment_frame(analysis, experiment)
    for name, frame in frames.items():
        for suffix in suffixes:
            tables.write(frame, folder / f"{name}.{suffix}")


def write_figures(analysis: Analysis, folder: Path) -> None:
    """Write every figure as PNG and SVG on a light background; figures without data are left out."""
    look = look_of(analysis, LIGHT)
    experiment = experiments.experiment_of(analysis.sweep)
    figures: dict[str, alt.TopLevelMixin] = {}
    if experiment is not None and has_own_figure(experiment):
        figures |= {
            f"{experiment.name}-{name}": it for name, it in _experiment_charts(analysis, experiment, LIGHT).items()
        }
    else:
        figures |= {
            f"speedup-{name}": plots.speedup_figure(analysis.speedups, name, look)
            for name in DEFINITIONS
            if name in analysis.speedups["definition"]
        }
        if others(analysis).height:
            figures["ratio"] = plots.ratio_figure(analysis.comparisons, look)
            figures["intervals"] = plots.interval_figure(analysis.comparisons, look)
    if analysis.drawn_events.height:
        figures["events"] = event_plots.event_figure(analysis.drawn_events, look)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        svg = _svg(figure)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        (folder / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=SCALE))


def has_own_figure(experiment: experiments.Experiment) -> bool:
    """Whether the experiment's figure, or table, takes the place of the figures of branches."""
    return experiment.figure != experiments.SPEEDUP_BY_BRANCH


def experiment_frame(analysis: Analysis, experiment: experiments.Experiment) -> pl.DataFrame:
    """The experiment's result as rows: answers, or the points of its figure."""
    if experiment.figure == experiments.ANSWERS:
        return experiments.answers(analysis.sweep, experiment)
    return experiments.points(analysis.times, analysis.speedups, experiment)


def look_of(analysis: Analysis, theme: Theme) -> plots.Look:
    """What all charts of this sweep share."""
    present = set(analysis.times["branch"])
    branches = [branch for branch in analysis.sweep.branches if branch in present]
    return plots.Look(branches, analysis.sweep.baseline, analysis.cpus, theme)


def others(analysis: Analysis) -> pl.DataFrame:
    """Cells of the comparison with branches other than the A/A twin."""
    rows = analysis.comparisons.filter(pl.col("level") == "cell")
    return rows.filter(pl.col("branch") != (analysis.sweep.twin or ""))


def render_page(analysis: Analysis) -> str:
    """The page as HTML: it loads nothing, reads in light and dark, and works without scripts (but for sorting)."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(
        resources.files("sweep_analysis").joinpath("templates/page.html.j2").read_text(encoding="utf-8")
    )
    definition = analysis.definition
    cells = with_panel(others(analysis))
    pooled = with_panel(analysis.comparisons.filter(pl.col("level") != "cell")).sort("level", maintain_order=True)
    shown = with_panel(analysis.speedups.filter(pl.col("definition") == (definition or "")))
    look = look_of(analysis, LIGHT)
    experiment = experiments.experiment_of(analysis.sweep)
    if experiment is not None and has_own_figure(experiment):
        # A picture for each of its many sets of parameters would bury the one that it is about.
        shown, cells = shown.clear(), cells.clear()
    return template.render(
        experiment=experiment,
        has_own_figure=experiment is not None and has_own_figure(experiment),
        experiment_pictures=[] if experiment is None else _experiment_pictures(analysis, experiment),
        experiment_table=None if experiment is None else experiment_frame(analysis, experiment),
        sweep=analysis.sweep,
        facts=facts(analysis),
        definition=DEFINITIONS.get(definition or "", ""),
        headline=headline(analysis),
        verdicts=verdict_sentences(analysis),
        plain=plain_fork(analysis.sweep),
        counters=counter_sentences(analysis),
        noise=noise_sentences(analysis),
        cautions=cautions(analysis),
        legend=styles(look.branches, look.baseline, LIGHT),
        hypotheses=hypotheses(analysis.sweep),
        speedup_pictures=_pictures(shown, analysis, _draw_speedup),
        ratio_pictures=_pictures(
            with_panel(analysis.comparisons.filter(pl.col("level") == "cell")) if cells.height else cells,
            analysis,
            _draw_ratio,
        ),
        interval_pictures=_pictures(cells, analysis, _draw_intervals),
        event_pictures=_pictures(with_panel(analysis.drawn_events), analysis, _draw_events),
        line_table=tables.line_table(with_panel(analysis.lines)),
        event_table=tables.event_table(with_panel(analysis.drawn_events)),
        pooled_table=tables.verdict_table(pooled).drop("threads"),
        cell_table=tables.verdict_table(cells),
        speedup_tables={
            text: tables.speedup_table(with_panel(analysis.speedups.filter(pl.col("definition") == name)))
            for name, text in DEFINITIONS.items()
            if name in analysis.speedups["definition"]
        },
        failures=analysis.failures.select("branch", "workload", "size", "threads", "outcome", "reason", "stderr_tail"),
        text=tables.text,
    )


def facts(analysis: Analysis) -> dict[str, str]:
    """What was measured where, in the order of interest."""
    sweep = analysis.sweep
    host: dict[str, Any] = sweep.host
    pool = analysis.times.filter(pl.col("program") == PARALLEL)
    cpu = host.get("cpu", {}).get("model_name") or "unknown CPU"
    states = sorted(set(sweep.trials.select("freq_state").collect()["freq_state"]))
    trials = set(sweep.events.select("trial").collect()["trial"])
    counted = f"; {len(trials)} counted, not timed" if trials else ""
    checkout: dict[str, Any] = sweep.manifest.get("checkout", {})
    commit = str(checkout.get("commit") or "unknown")[:12]
    return {
        "Host": f"{cpu}, {count(analysis.cpus, 'usable CPU') if analysis.cpus else 'CPUs unknown'}"
        + (", virtual machine" if host.get("cpu", {}).get("is_virtual") else ""),
        "Kernel": str(host.get("kernel", {}).get("osrelease") or "unknown"),
        "CPU frequency": ", ".join(states),
        "Threads": ranges(pool["threads"].to_list()) or "none",
        "Branches": count(len(set(pool["branch"]) - {sweep.twin}), "branch", "branches")
        + (f" and the A/A twin {sweep.twin}" if sweep.twin in pool["branch"] else "")
        + (f", in {sweep.layouts} layouts each" if sweep.layouts > 1 else ""),
        "Trials": f"{analysis.times.height} good, {analysis.failures.height} failed" + counted,
        "Recorded": str(sweep.manifest.get("created_at", "unknown"))[:19].replace("T", " ") + " UTC",
        "Commit": commit + (", with uncommitted changes" if checkout.get("dirty") else ""),
    }


def hypotheses(sweep: Sweep) -> dict[str, str]:
    """What the author of each branch expected before the sweep, by branch."""
    entries = [entry for entry in sweep.manifest.get("branches", []) if isinstance(entry, dict)]
    return {entry["name"]: str(entry["hypothesis"]) for entry in entries if entry.get("hypothesis")}


def _pictures(frame: pl.DataFrame, analysis: Analysis, draw: Any) -> list[Picture]:  # noqa: ANN401
    """One picture per panel, drawn for both themes."""
    looks = [look_of(analysis, theme) for theme in (LIGHT, DARK)]
    return [
        Picture(str(part["panel"][0]), *(_address(draw(part, analysis, look)) for look in looks))
        for part in frame.partition_by("panel", maintain_order=True)
    ]


def _experiment_pictures(analysis: Analysis, experiment: experiments.Experiment) -> list[Picture]:
    light, dark = (_experiment_charts(analysis, experiment, theme) for theme in (LIGHT, DARK))
    return [Picture(name, _address(light[name]), _address(dark[name])) for name in light]


def _experiment_charts(
    analysis: Analysis, experiment: experiments.Experiment, theme: Theme
) -> dict[str, alt.VConcatChart]:
    """The experiment's charts by name; none for experiments whose result is a table, or the usual figures."""
    points = experiments.points(analysis.times, analysis.speedups, experiment)
    return experiment_figures(points, experiment, analysis.cpus, theme)


def _draw_speedup(part: pl.DataFrame, analysis: Analysis, look: plots.Look) -> alt.LayerChart:
    panel = plots.speedup_panel(part, analysis.definition or "", look, legend=False)
    return plots.finished(panel.properties(width=290, height=250), look.theme)


def _draw_ratio(part: pl.DataFrame, _: Analysis, look: plots.Look) -> alt.FacetChart:
    return plots.finished(plots.ratio_panel(part, look), look.theme)


def _draw_intervals(part: pl.DataFrame, _: Analysis, look: plots.Look) -> alt.FacetChart:
    return plots.interval_figure(part.drop("panel"), look, titled=False)


def _draw_events(part: pl.DataFrame, _: Analysis, look: plots.Look) -> alt.ConcatChart:
    return plots.finished(event_plots.event_panel(part, look, legend=False), look.theme)


def _address(chart: alt.TopLevelMixin) -> str:
    """An SVG as a `data:` address: inside an image, so that identifiers of different charts cannot clash."""
    return "data:image/svg+xml;base64," + base64.b64encode(_svg(chart).encode()).decode()


def _svg(chart: alt.TopLevelMixin) -> str:
    buffer = io.StringIO()
    chart.save(buffer, format="svg")
    return buffer.getvalue()
