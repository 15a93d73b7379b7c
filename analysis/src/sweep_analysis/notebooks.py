"""Runs the notebooks in place, on one sweep, so that their committed outputs can be read without running anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from sweep_analysis.errors import InputError
from sweep_analysis.load import Sweep, read_sweep

ROOT = Path(__file__).resolve().parents[3]
"""The checkout."""

NOTEBOOKS = ROOT / "analysis" / "notebooks"
SWEEPS = ROOT / "results" / "sweeps"

SWEEP_VARIABLE = "SWEEP_ANALYSIS_SWEEP"
"""Environment variable with the folder of the sweep that notebooks show."""


def newest_sweep(sweeps: Path = SWEEPS) -> Path | None:
    """The last folder by name (names begin with the date) that has a manifest; None if there is none."""
    folders = sorted(folder.parent for folder in sweeps.glob("*/manifest.json"))
    return folders[-1] if folders else None


def chosen_sweep() -> Sweep:
    """The sweep that a notebook shows: the one in `SWEEP_ANALYSIS_SWEEP`, else the newest in `results/sweeps`.

    Raises:
        InputError: there is none.
    """
    named = os.environ.get(SWEEP_VARIABLE)
    folder = Path(named) if named else newest_sweep()
    if folder is None:
        raise InputError(SWEEPS, "no sweep there", f"run one, or name a folder in the variable {SWEEP_VARIABLE}")
    return read_sweep(folder)


def execute_all(sweep: Path | None = None) -> None:
    """Run every notebook in place; each ends with the name of its sweep in its metadata.

    Raises:
        InputError: there is no sweep to show.
    """
    folder = sweep or newest_sweep()
    if folder is None:
        raise InputError(SWEEPS, "no sweep there", "run one, or give `--sweep`")
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        print(f"running {file.name} on {folder.name}", file=sys.stderr)
        nbformat.write(execute(file, folder), file)


def execute(file: Path, sweep: Path) -> nbformat.NotebookNode:
    """Run one notebook on `sweep` and return it with its outputs; the file stays as it is.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,  # or every run would change the file
        resources={"metadata": {"path": str(file.parent)}},
    )
    client.execute(env=os.environ | {SWEEP_VARIABLE: str(sweep.resolve())})
    notebook.metadata["sweep"] = sweep.name
    return notebook
