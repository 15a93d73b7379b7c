"""What READMEs say of committed sweeps is what the judge says, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweep_analysis.read.errors import InputError
from sweep_analysis.say.statements import FILES, filled


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_statement_is_what_the_committed_sweeps_say(file: Path) -> None:
    assert "<!-- analysis: " in file.read_text(encoding="utf-8")
    assert filled(file) == file.read_text(encoding="utf-8"), "`cargo runner analysis statements --write` mends it"


def test_a_drifted_statement_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- analysis: trials 2026-11-22T074035Z -->\n7 trials\n<!-- /analysis -->\nafter\n")
    assert "\n4 workloads, 3 branches, 572 trials, none failed; each branch in 11 builds.\n" in filled(file)


def test_an_unknown_kind_is_named_with_those_that_are_known(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("<!-- analysis: rumour 2026-11-22T074035Z -->\n<!-- /analysis -->\n")
    with pytest.raises(InputError, match="unknown kind `rumour`, or no sweep; known: verdict, "):
        filled(file)
