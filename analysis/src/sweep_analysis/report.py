"""Writes a folder that shows one sweep: figures, tables, and one page that needs no network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import vl_convert

from sweep_analysis import experiments, svg, tables
from sweep_analysis.costs import costs
from sweep_analysis.figures import experiment_frame, figures
from sweep_analysis.findings import Analysis, analyse
from sweep_analysis.ledger import ledger
from sweep_analysis.load import Sweep
from sweep_analysis.outliers import outliers
from sweep_analysis.page import render_page
from sweep_analysis.provenance import provenance

SCALE = 2
"""Pixels of a PNG per pixel of its SVG."""


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
    """Write every frame in each of the formats, and `provenance.json`, which says where all of them are from."""
    frames = {
        "trials": analysis.times,
        "speedups": analysis.speedups,
        "comparisons": analysis.comparisons,
        "comparisons-cpu": analysis.cpu_comparisons,
        "failures": analysis.failures,
        "events": analysis.events,
        "lines": analysis.lines,
        "latencies": analysis.waits,
        "clocks": analysis.clocks,
        "residuals": analysis.residuals,
        "fits": analysis.fits,
        "fit-residuals": analysis.fit_residuals,
        "claims": analysis.claims,
        "costs": costs(analysis.times.lazy(), analysis.cpus),
        "outliers": outliers(analysis.times.lazy()).collect(),
        "ledger": ledger(analysis.sweep, analysis.times.lazy(), analysis.sweep.baseline),
    }
    experiment = experiments.experiment_of(analysis.sweep)
    if experiment is not None:
        frames["experiment"] = experiment_frame(analysis, experiment)
    for name, frame in frames.items():
        for suffix in suffixes:
            tables.write(frame, folder / f"{name}.{suffix}")
    rows = {name: frame.height for name, frame in frames.items()}
    told = json.dumps(provenance(analysis.sweep) | {"rows": rows}, indent=2)
    (folder / "provenance.json").write_text(told + "\n", encoding="utf-8")


def write_figures(analysis: Analysis, folder: Path) -> None:
    """Write every figure as SVG in light and dark, and as PNG in light; figures without data are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures(analysis):
        for name, chart in figure.whole().items() if figure.missing is None else ():
            drawn = svg.draw(chart)
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
            (folder / f"{name}-dark.svg").write_text(svg.dark(drawn), encoding="utf-8")
            (folder / f"{name}.png").write_bytes(vl_convert.svg_to_png(drawn, scale=SCALE))
