"""The folders of the package are layers: a module imports only from lower layers, without cycles."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import sweep_analysis

ROOT = Path(sweep_analysis.__file__).parent
FLOORS = (("read",), ("stats",), ("say", "draw"), ("services",), ("report",), ("__main__",))
"""The layers from the lowest; folders of one layer do not import each other."""
Imports = dict[str, set[str]]


def imports_of(files: dict[str, str]) -> Imports:
    found: Imports = {}
    for name, source in files.items():
        froms = [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.ImportFrom) and node.module
        ]
        wholes = {
            f"{node.module}.{alias.name}".removeprefix("sweep_analysis.")
            for node in froms
            for alias in node.names
        }
        found[name] = {
            whole if whole in files else whole.rpartition(".")[0] for whole in wholes
        } & set(files)
    return found


def climbing(imports: Imports) -> list[str]:
    floor = {folder: height for height, folders in enumerate(FLOORS) for folder in folders}
    pairs = [(one, other) for one, others in imports.items() for other in others]
    folders = [(one, other, one.partition(".")[0], other.partition(".")[0]) for one, other in pairs]
    return [
        f"{one} imports {other}" for one, other, a, b in folders if a != b and floor[a] <= floor[b]
    ]


def modules() -> dict[str, str]:
    files = [file for file in ROOT.rglob("*.py") if file.name != "__init__.py"]
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): file.read_text(encoding="utf-8")
        for file in files
    }


def test_imports_go_down_the_floors() -> None:
    assert climbing(imports_of(modules())) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graphlib.TopologicalSorter(imports_of(modules())).prepare()


def test_an_import_of_a_higher_floor_is_found() -> None:
    files = {"read.load": "from sweep_analysis.say import tables", "say.tables": ""}
    assert climbing(imports_of(files)) == ["read.load imports say.tables"]


def test_an_import_inside_a_function_closes_a_circle() -> None:
    files = {
        "say.one": "from sweep_analysis.say.two import text",
        "say.two": "def text():\n    from sweep_analysis.say import one\n    return one",
    }
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports_of(files)).prepare()


def test_a_table_is_printed_without_what_takes_longer_to_load_than_the_table() -> None:
    slow = ["altair", "scipy.stats", "scipy.optimize"]
    program = (
        f"import sys, sweep_analysis.__main__; print([it for it in {slow} if it in sys.modules])"
    )
    run = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[]\n"
