"""Every committed sweep is cited and has compressed records; documents and notebooks cite only committed sweeps."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.read import request
from sweep_analysis.read.committed import committed_sweeps
from sweep_analysis.read.load import CHECKOUT, SWEEPS, read_sweep
from sweep_analysis.read.records import file_of
from sweep_analysis.say.sweep_table import SweepTable

GIT = shutil.which("git")
TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d{6}Z")


needs_clone = pytest.mark.skipif(
    GIT is None or not (CHECKOUT / ".git").exists(),
    reason="only a clone knows which files are committed",
)


def git(*words: str, checkout: Path = CHECKOUT) -> list[str]:
    command = [str(GIT), *words]
    run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)  # noqa: S603
    return run.stdout.splitlines()


def committed() -> list[str]:
    return [folder.name for folder in committed_sweeps()]


@needs_clone
def test_every_sweep_is_cited() -> None:
    search = ("grep", "-hoE", r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{6}Z", "--", ".", f":!{SWEEPS}")
    cited = set(git(*search))
    assert [name for name in committed() if name[:18] not in cited] == []


@needs_clone
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


@needs_clone
def test_the_records_of_every_sweep_are_compressed() -> None:
    assert all(file_of(SWEEPS / name).suffix == ".zst" for name in committed())


@needs_clone
def test_the_table_of_the_newest_measured_sweep_has_its_rows() -> None:
    newest = max(
        name for name in committed() if re.fullmatch(r".*Z-[0-9a-f]{6}-[0-9a-f]{12}", name)
    )
    assert SweepTable(read_sweep(SWEEPS / newest)).rows.height > 0


def checkout_of(folder: Path) -> Path:
    """A folder with two sweeps of an experiment, and one sweep that the runner has only begun."""
    sweeps = folder / "results/sweeps"
    for name in ("2026-01-01T000000Z-ours", "2026-01-02T000000Z-mine"):
        synthetic.write_sweep(sweeps / name, synthetic.Truth(branches=["master"], trials=1))
        file = sweeps / name / "manifest.json"
        manifest = json.loads(file.read_text())
        manifest["asked"]["experiment"] = dict.fromkeys(
            ("name", "shows", "source", "figure"), "classics"
        )
        file.write_text(json.dumps(manifest))
    (sweeps / "2026-01-03T000000Z-begun.partial").mkdir()
    return folder


def clone_of(folder: Path) -> Path:
    """The same, where Git tracks only the first sweep."""
    checkout = checkout_of(folder)
    git("init", "--quiet", checkout=checkout)
    git("add", "results/sweeps/2026-01-01T000000Z-ours", checkout=checkout)
    return checkout


needs_git = pytest.mark.skipif(GIT is None, reason="the test makes a clone")


@needs_git
def test_a_sweep_of_the_user_is_no_committed_sweep(tmp_path: Path) -> None:
    found = [folder.name for folder in committed_sweeps(clone_of(tmp_path))]
    assert found == ["2026-01-01T000000Z-ours"]


def test_without_git_every_whole_sweep_counts_as_committed(tmp_path: Path) -> None:
    found = [folder.name for folder in committed_sweeps(checkout_of(tmp_path))]
    assert found == ["2026-01-01T000000Z-ours", "2026-01-02T000000Z-mine"]


@needs_git
def test_the_newest_sweep_of_an_experiment_is_the_newest_committed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version also read the user's own sweeps, and failed at a sweep that had only begun."""
    checkout = clone_of(tmp_path)
    monkeypatch.setattr(request, "committed_sweeps", lambda: committed_sweeps(checkout))
    newest = request.newest_of("classics")
    assert newest is not None
    assert newest.path.name == "2026-01-01T000000Z-ours"
