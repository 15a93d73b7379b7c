"""Every committed sweep is cited and has compressed records; documents and notebooks cite only committed sweeps."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from sweep_analysis.read.load import CHECKOUT, SWEEPS, read_sweep
from sweep_analysis.read.records import file_of
from sweep_analysis.say.sweep_table import SweepTable

GIT = shutil.which("git")
TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d{6}Z")


pytestmark = pytest.mark.skipif(
    GIT is None or not (CHECKOUT / ".git").exists(),
    reason="only a clone knows which files are committed",
)


def git(*words: str) -> list[str]:
    command = [str(GIT), *words]
    run = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)  # noqa: S603
    return run.stdout.splitlines()


def committed() -> list[str]:
    """Names of the sweeps that Git tracks; other sweeps in the folder are the user's own."""
    return sorted({line.split("/")[2] for line in git("ls-files", "--", str(SWEEPS))})


def test_every_sweep_is_cited() -> None:
    search = ("grep", "-hoE", r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{6}Z", "--", ".", f":!{SWEEPS}")
    cited = set(git(*search))
    assert [name for name in committed() if name[:18] not in cited] == []


def test_every_sweep_that_a_document_or_a_notebook_cites_is_there() -> None:
    there = {name[:18] for name in committed()}
    files = [CHECKOUT / line for line in git("ls-files", "--", "*.md", "*.ipynb")]
    named = {
        (file.name, time)
        for file in files
        for time in TIME.findall(file.read_text(encoding="utf-8"))
    }
    assert len(named) > len(there) / 2
    assert not {(name, time) for name, time in named if time not in there}


def test_the_records_of_every_sweep_are_compressed() -> None:
    assert all(file_of(SWEEPS / name).suffix == ".zst" for name in committed())


def test_the_table_of_the_newest_measured_sweep_has_its_rows() -> None:
    newest = max(
        name for name in committed() if re.fullmatch(r".*Z-[0-9a-f]{6}-[0-9a-f]{12}", name)
    )
    assert SweepTable(read_sweep(SWEEPS / newest)).rows.height > 0
