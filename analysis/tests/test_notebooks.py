"""Every notebook runs, and its committed outputs are those of the newest committed sweep."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from sweep_analysis.errors import InputError
from sweep_analysis.notebooks import NOTEBOOKS, execute, newest_sweep

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """All Markdown that the cells made; pictures depend on the fonts of the machine."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data["text/markdown"] for output in outputs if "text/markdown" in output.get("data", {})]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebook_runs_and_its_committed_outputs_are_of_the_newest_sweep(file: Path, ordinary_sweep: Path) -> None:
    committed = newest_sweep()
    ran = execute(file, committed or ordinary_sweep)
    pictures = [
        output for cell in ran.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    assert pictures, "a notebook without pictures"
    if committed is None:
        return
    kept = nbformat.read(file, as_version=4)
    remedy = "run `python -m sweep_analysis notebooks --execute` and commit"
    assert kept.metadata.get("sweep") == committed.name, remedy
    assert texts(kept) == texts(ran), remedy
    assert all(cell.execution_count for cell in kept.cells if cell.cell_type == "code"), remedy


def test_there_are_notebooks() -> None:
    assert FILES


def test_the_newest_sweep_is_the_last_by_name(tmp_path: Path) -> None:
    for name in ("2026-01-02-a-1", "2026-01-10-a-1", "2025-12-31-z-9", "2027-01-01-no-manifest"):
        (tmp_path / name).mkdir()
    for name in ("2026-01-02-a-1", "2026-01-10-a-1", "2025-12-31-z-9"):
        (tmp_path / name / "manifest.json").write_text("{}")
    assert newest_sweep(tmp_path) == tmp_path / "2026-01-10-a-1"
    assert newest_sweep(tmp_path / "absent") is None


def test_running_without_any_sweep_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweep_analysis.notebooks.newest_sweep", lambda: None)
    monkeypatch.delenv("SWEEP_ANALYSIS_SWEEP", raising=False)
    from sweep_analysis import notebooks  # noqa: PLC0415

    with pytest.raises(InputError, match="no sweep there; run one"):
        notebooks.chosen_sweep()
    with pytest.raises(InputError, match="no sweep there; run one"):
        notebooks.execute_all()
    assert list(tmp_path.iterdir()) == []
