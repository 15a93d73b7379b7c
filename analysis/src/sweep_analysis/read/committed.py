"""Finds the committed sweeps; other sweeps in `results/sweeps` are the user's own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from sweep_analysis.read.load import CHECKOUT, SWEEPS


def committed_sweeps(checkout: Path = CHECKOUT) -> list[Path]:
    """The folders of the sweeps that Git tracks, in the order of their names.

    A copy without Git, such as an unpacked archive, does not record which sweeps are committed, so all its sweeps count.
    """
    sweeps = checkout / SWEEPS.relative_to(CHECKOUT)
    # A sweep that the runner did not finish may have no manifest yet.
    there = sorted(file.parent for file in sweeps.glob("*/manifest.json"))
    tracked = _tracked(checkout, sweeps)
    return [folder for folder in there if tracked is None or folder.name in tracked]


def _tracked(checkout: Path, sweeps: Path) -> set[str] | None:
    """Names of the tracked sweeps; None if this is no clone, or Git cannot read it."""
    git = shutil.which("git")
    # An archive may lie in a clone of another project, so `checkout` must have its own `.git`.
    if git is None or not (checkout / ".git").exists():
        return None
    command = [git, "ls-files", "-z", "--", f"{sweeps}/*/manifest.json"]
    run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)  # noqa: S603 - the command has no input of a user
    if run.returncode != 0:
        return None
    return {Path(line).parent.name for line in run.stdout.split("\0") if line}
