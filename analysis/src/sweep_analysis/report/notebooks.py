"""Runs the notebooks in place, so that their committed outputs can be read without Python."""

from __future__ import annotations

import base64
import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import numpy as np
from altair.utils.mimebundle import spec_to_mimebundle
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from IPython.utils.capture import capture_output
from PIL import Image
from traitlets.config import Config

from sweep_analysis.read.load import CHECKOUT

NOTEBOOKS = CHECKOUT / "analysis" / "notebooks"

COLOURS = 128
"""Number of colours of a picture; all other colours are only shades at the edges of letters and lines."""


def draw_pictures(scale: float) -> None:
    """Render charts as small PNG pictures, which any viewer shows, at a magnification of `scale`."""

    def small(spec: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle, sizes = spec_to_mimebundle(
            spec,
            format="png",
            mode="vega-lite",
            vegalite_version=alt.VEGALITE_VERSION,
            scale_factor=scale,
        )
        return {"image/png": _with_palette(bundle["image/png"])}, sizes

    alt.renderers.register("small-png", small)
    alt.renderers.enable("small-png")


def _with_palette(png: bytes) -> str:
    """Reduce a picture to its most frequent colours, which takes 10 % of the bytes; returns base 64.

    The kept colours stay exact. If colours were averaged, an entry of a legend could have another colour than its points in the plot.
    """
    with Image.open(io.BytesIO(png)) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(np.int64)
    # `unique` sorts one number per pixel much faster than three numbers.
    packed = (pixels << np.array([16, 8, 0])).sum(axis=2)
    numbers, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = (numbers[:, None] >> np.array([16, 8, 0])) & 255
    kept = colours[np.argsort(-counts, kind="stable")[:COLOURS]]
    # Pillow's search for the nearest colour is inexact, and would make white paper grey.
    nearest = np.array([np.abs(kept - colour).sum(axis=1).argmin() for colour in colours])
    few = Image.fromarray(nearest[places].astype(np.uint8).reshape(packed.shape))
    few.putpalette(kept.flatten().tolist())
    made = io.BytesIO()
    few.save(made, "PNG", optimize=True)
    return base64.b64encode(made.getvalue()).decode()


def execute_all() -> None:
    """Run every notebook in place.

    Raises:
        Exception: any error of a notebook cell.
    """
    files = sorted(NOTEBOOKS.glob("*.ipynb"))
    print(f"running {', '.join(file.name for file in files)}", file=sys.stderr)
    for file in files:
        nbformat.write(execute(file), file)


def execute(file: Path) -> nbformat.NotebookNode:
    """Run a notebook in this process, because a kernel would import all packages again; returns it with its outputs."""
    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=settings)
    shell.display_trap.hook = lambda value: value is None or display(value)
    notebook = nbformat.read(file, as_version=4)
    shell.reset()
    with contextlib.chdir(file.parent):
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for number, cell in enumerate(cells, start=1):
            with capture_output() as shown:
                shell.run_cell(cell.source).raise_error()
            cell.execution_count = number
            cell.outputs = [
                nbformat.v4.new_output("display_data", it.data, metadata=it.metadata)
                for it in shown.outputs
            ]
    return notebook
