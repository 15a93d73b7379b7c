"""Runs the notebooks in place, on one sweep, so that their committed outputs can be read without running anything."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
from altair.utils.mimebundle import spec_to_mimebundle
from nbclient import NotebookClient
from PIL import Image

from sweep_analysis.read.load import CHECKOUT, SWEEPS, Sweep, read_sweep

NOTEBOOKS = CHECKOUT / "analysis" / "notebooks"

SWEEP_VARIABLE = "SWEEP_ANALYSIS_SWEEP"
"""Environment variable with the folder of the sweep that notebooks show."""


def chosen_sweep(name: str) -> Sweep:
    """The sweep that a notebook shows: the folder in `SWEEP_ANALYSIS_SWEEP`, else the committed one called `name`.

    Raises:
        InputError: there is none.
    """
    chosen = os.environ.get(SWEEP_VARIABLE)
    return read_sweep(Path(chosen) if chosen else SWEEPS / name)


def draw_pictures(scale: float) -> None:
    """Keep charts as pictures, so that any viewer shows them, of `scale` pixels per pixel and of few bytes."""

    def small(spec: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle, sizes = spec_to_mimebundle(
            spec, format="png", mode="vega-lite", vegalite_version=alt.VEGALITE_VERSION, scale_factor=scale
        )
        return {"image/png": _with_palette(bundle["image/png"])}, sizes

    alt.renderers.register("small-png", small)
    alt.renderers.enable("small-png")


def _with_palette(png: bytes) -> bytes:
    """A picture with its 256 most useful colours: charts have few, and so it takes an eighth of the bytes."""
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    made = io.BytesIO()
    few.save(made, "PNG", optimize=True)
    return made.getvalue()


def execute_all(sweep: Path | None = None) -> None:
    """Run every notebook in place, on `sweep` or on the committed one that it names itself.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    files = sorted(NOTEBOOKS.glob("*.ipynb"))
    print(f"running {', '.join(file.name for file in files)}", file=sys.stderr)
    for file, notebook in execute(files, sweep).items():
        nbformat.write(notebook, file)


def execute(files: list[Path], sweep: Path | None = None) -> dict[Path, nbformat.NotebookNode]:
    """Run notebooks, as many at once as there are CPUs, on `sweep` or on their own; the files stay as they are.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """

    async def run_all() -> list[nbformat.NotebookNode]:
        gate = asyncio.Semaphore(os.cpu_count() or 1)
        return await asyncio.gather(*(_execute(file, environment, gate) for file in files))

    environment = os.environ | ({SWEEP_VARIABLE: str(sweep.resolve())} if sweep else {})
    return dict(zip(files, asyncio.run(run_all()), strict=True))


async def _execute(file: Path, environment: dict[str, str], gate: asyncio.Semaphore) -> nbformat.NotebookNode:
    async with gate:
        notebook = nbformat.read(file, as_version=4)
        client = NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            record_timing=False,  # or every run would change the file
            resources={"metadata": {"path": str(file.parent)}},
        )
        await client.async_execute(env=environment)
        return notebook
