"""Every notebook runs, and its committed texts are those of the committed sweeps that it names."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import nbformat
import pytest
from PIL import Image

from sweep_analysis.draw.palette import LIGHT, styles
from sweep_analysis.report import notebooks
from sweep_analysis.report.notebooks import NOTEBOOKS, execute
from synthetic import STUDY_BRANCHES

KEY = [*STUDY_BRANCHES[1:], "champion", "champion-deal"]
FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[Any]:
    """All outputs of cells of one kind; pictures depend on the fonts of the machine."""
    found = [
        output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    ]
    return [data[kind] for data in found if kind in data]


@pytest.fixture(scope="module")
def executed() -> dict[Path, nbformat.NotebookNode]:
    """All notebooks, run on the sweeps that they name; charts are checked, and not drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "spec_to_mimebundle", lambda *_, **__: ({"image/png": b""}, {}))
        patch.setattr(notebooks, "_with_palette", lambda _: "")
        return {file: execute(file) for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebook_runs_and_its_committed_outputs_are_of_the_sweep_it_names(
    file: Path, executed: dict[Path, nbformat.NotebookNode]
) -> None:
    ran, kept = executed[file], nbformat.read(file, as_version=4)
    remedy = "run `python -m sweep_analysis notebooks --execute` and commit"
    drawn = outputs(kept, "image/png")
    assert drawn, "a notebook without pictures"
    assert len(drawn) == len(outputs(ran, "image/png")), remedy
    assert outputs(kept, "text/markdown") == outputs(ran, "text/markdown"), remedy
    assert all(cell.execution_count for cell in kept.cells if cell.cell_type == "code"), remedy
    palette = 3  # the colour type in a PNG's header
    assert all(base64.b64decode(picture)[25] == palette for picture in drawn)
    (answer,) = kept.cells[-1].outputs
    assert answer.data["text/markdown"].startswith("**Answer.** ")


def test_a_line_in_a_key_keeps_its_colour_in_a_notebook() -> None:
    """The picture has thin lines of each colour, and also shades of many other colours, as letters have."""
    colours = [
        tuple(bytes.fromhex(style.colour[1:])) for style in styles(KEY, None, LIGHT).values()
    ]
    picture = Image.effect_noise((300, 300), 90).convert("RGB")
    shades = Image.merge("RGB", [picture.getchannel(0).rotate(turn) for turn in (0, 90, 180)])
    for row, colour in enumerate(colours):
        shades.paste(colour, (20, 40 + 8 * row, 44, 42 + 8 * row))
    made = io.BytesIO()
    shades.save(made, "PNG")
    small_bytes = base64.b64decode(notebooks._with_palette(made.getvalue()))  # noqa: SLF001
    with Image.open(io.BytesIO(small_bytes)) as small:
        kept = [small.convert("RGB").getpixel((30, 41 + 8 * row)) for row in range(len(colours))]
    assert kept == colours
