"""The sweeps of the checkout: none without a purpose, none cited that is gone, and all small."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from sweep_analysis.read.load import CHECKOUT, SWEEPS
from sweep_analysis.read.records import file_of, is_packed

README = CHECKOUT / "results" / "README.md"
GIT = shutil.which("git")
TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d{6}Z")


pytestmark = pytest.mark.skipif(
    GIT is None or not (CHECKOUT / ".git").exists(), reason="what is committed can only be asked in a clone"
)


def committed() -> list[str]:
    """Names of the sweeps that Git knows: those that a reader has made meanwhile are their own."""
    list_files = [str(GIT), "ls-files", "--", str(SWEEPS)]
    files = subprocess.run(list_files, cwd=CHECKOUT, capture_output=True, text=True, check=True)  # noqa: S603
    return sorted({line.split("/")[2] for line in files.stdout.splitlines()})


def test_the_readme_says_of_every_sweep_what_it_is_for_and_of_no_other() -> None:
    rows = re.findall(
        r"^\| \[`(\S+)`\]\(sweeps/(\S+)\) \| .+ \| .+ \|$", README.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [folder for _, folder in rows] == committed()
    assert all(folder.startswith(f"{time}-") for time, folder in rows)


def test_every_sweep_that_a_document_or_a_notebook_cites_is_there() -> None:
    there = {name[:18] for name in committed()}
    top = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md"]
    folders = ["analysis", "findings", "protocol", "rayon-fork", "results", "runner", "workloads", "xtask"]
    below = [
        file for folder in folders for suffix in ("md", "ipynb") for file in (CHECKOUT / folder).rglob(f"*.{suffix}")
    ]
    cited = {(file.name, time) for file in [*top, *below] for time in TIME.findall(file.read_text(encoding="utf-8"))}
    assert len(cited) > len(there) / 2
    assert not {(name, time) for name, time in cited if time not in there}


def test_the_records_of_every_sweep_are_compressed() -> None:
    assert all(is_packed(file_of(SWEEPS / name)) for name in committed())
