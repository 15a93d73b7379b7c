"""Every notebook runs, and its committed outputs are those of the committed sweep that it names."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from made_up import STUDY_BRANCHES
from sweep_analysis.draw.palette import LIGHT, styles
from sweep_analysis.read.errors import InputError
from sweep_analysis.report.notebooks import NOTEBOOKS, _with_palette, chosen_sweep, execute

KEY = [*STUDY_BRANCHES[1:], "champion", "champion-deal"]
FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """All Markdown that the cells made; pictures depend on the fonts of the machine."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [
        output.data["text/markdown"]
        for output in outputs
        if "text/markdown" in output.get("data", {})
    ]


def pictures(notebook: nbformat.NotebookNode) -> int:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.fixture(scope="module")
def executed() -> dict[Path, nbformat.NotebookNode]:
    """All notebooks, run on the sweeps that they name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SWEEP_ANALYSIS_SWEEP", raising=False)
        return execute(FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebook_runs_and_its_committed_outputs_are_of_the_sweep_it_names(
    file: Path, executed: dict[Path, nbformat.NotebookNode]
) -> None:
    ran = executed[file]
    kept = nbformat.read(file, as_version=4)
    remedy = "run `python -m sweep_analysis notebooks --execute` and commit"
    assert pictures(ran), "a notebook without pictures"
    assert pictures(kept) == pictures(ran), remedy
    assert texts(kept) == texts(ran), remedy
    assert all(cell.execution_count for cell in kept.cells if cell.cell_type == "code"), remedy


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_closes_with_its_answer_and_shows_no_object_as_text(file: Path) -> None:
    kept = nbformat.read(file, as_version=4)
    (answer,) = kept.cells[-1].outputs
    assert answer.data["text/markdown"].startswith("**Answer.** ")
    assert "answers." in kept.cells[-1].source
    outputs = [output for cell in kept.cells for output in cell.get("outputs", [])]
    assert all({"image/png", "text/markdown"} & set(output.get("data", {})) for output in outputs)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_pictures_of_a_notebook_have_a_palette_and_no_second_form(file: Path) -> None:
    palette = 3  # the colour type in a PNG's header
    outputs = [
        output
        for cell in nbformat.read(file, as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    pictures = [output.data for output in outputs if "image/png" in output.get("data", {})]
    assert all(base64.b64decode(picture["image/png"])[25] == palette for picture in pictures)
    assert all(set(picture) <= {"image/png", "text/plain"} for picture in pictures)


def test_a_notebook_shows_another_sweep_on_request(ordinary_sweep: Path) -> None:
    file = NOTEBOOKS / "01_speedup.ipynb"
    assert texts(execute([file], ordinary_sweep)[file]) != texts(nbformat.read(file, as_version=4))


def test_there_is_a_notebook_for_each_question() -> None:
    assert [file.stem for file in FILES] == [
        "01_speedup",
        "02_noise",
        "03_counters",
        "04_sleep",
        "06_frequency",
        "07_services",
        "08_simulated_machines",
    ]


def test_a_sweep_that_is_not_there_is_refused_with_its_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SWEEP_ANALYSIS_SWEEP", raising=False)
    with pytest.raises(InputError, match="2001-01-01-none"):
        chosen_sweep("2001-01-01-none")


def test_a_line_in_a_key_keeps_its_colour_in_a_notebook() -> None:
    """A thin line of each colour beside shades of many others, as letters have them."""
    colours = [
        tuple(bytes.fromhex(style.colour[1:])) for style in styles(KEY, None, LIGHT).values()
    ]
    picture = Image.effect_noise((400, 400), 90).convert("RGB")
    shades = Image.merge("RGB", [picture.getchannel(0).rotate(turn) for turn in (0, 90, 180)])
    for row, colour in enumerate(colours):
        shades.paste(colour, (20, 40 + 8 * row, 44, 42 + 8 * row))
    made = io.BytesIO()
    shades.save(made, "PNG")
    with Image.open(io.BytesIO(base64.b64decode(_with_palette(made.getvalue())))) as small:
        kept = [small.convert("RGB").getpixel((30, 41 + 8 * row)) for row in range(len(colours))]
    assert kept == colours
