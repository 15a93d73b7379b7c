"""The forest plot of all programs, and the costs of operations on a host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import synthetic
from sweep_analysis.draw.palette import DARK, LIGHT
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report import statement_users
from sweep_analysis.report.statement import Made, Statement
from sweep_analysis.report.statement_kinds import KINDS
from sweep_analysis.stats.analysis import Analysis, analyse


def stated(kind: str, sweeps: list[Analysis], *words: str) -> Made:
    return KINDS[kind](Statement("page.md", CHECKOUT, sweeps, list(words)))


@pytest.fixture(scope="module")
def two() -> list[Analysis]:
    """Two sweeps of different programs: one has a gain and a loss, the other has no change."""
    truths = [
        {
            "workloads": {"even": 0.1, "loses": 0.1, "gains": 0.1},
            "effects": {("champion", "gains"): 0.5, ("champion", "loses"): 1.25},
        },
        {"workloads": {"program": 0.1}, "seed": 1},
    ]
    made = []
    for truth in truths:
        whole = synthetic.Truth(branches=["master", "champion"], threads=[1, 2], cpus=2, **truth)  # type: ignore[arg-type]
        made.append(analyse(synthetic.swept(whole)))
    return made


def test_the_picture_has_a_block_for_each_sweep_with_the_programs_in_order_of_their_wall_time(
    two: list[Analysis],
) -> None:
    text, files = stated("forest", two, "master", "champion", "workloads", "programs")
    (light, drawn), (dark, drawn_dark) = files.items()
    assert (light.name, dark.name) == ("forest-champion.svg", "forest-champion-dark.svg")
    words = re.findall(r"<text[^>]*>([^<]+)</text>", drawn)
    shown = [word for word in words if word in ("gains", "even", "loses", "program")]
    assert shown == ["gains", "even", "loses", "program"]
    assert {f"{it}: champion against master" for it in ("3 workloads", "1 programs")} <= set(words)
    assert [words.count(f"change of {it}, %") for it in ("wall time", "CPU time")] == [2, 2]
    assert "with 2 threads" in text
    assert "results/figures/forest-champion-dark.svg" in text

    again, same = stated("forest", two, "master", "champion", "workloads", "programs")
    assert (again, same) == (text, files)
    assert LIGHT.paper in drawn
    assert DARK.paper in drawn_dark
    assert LIGHT.paper not in drawn_dark


def test_only_significant_changes_are_full_points(two: list[Analysis]) -> None:
    _, files = stated("forest", two, "master", "champion", "workloads", "programs")
    drawn = next(iter(files.values()))
    full = {colour: drawn.count(f'fill="{colour}"') for colour in (LIGHT.gain, LIGHT.loss)}
    # Wall time and CPU time of the program that gains, and of the program that loses.
    assert full == {LIGHT.gain: 2, LIGHT.loss: 2}


def test_a_picture_of_branches_that_a_sweep_lacks_is_refused(two: list[Analysis]) -> None:
    with pytest.raises(InputError, match="is not compared with"):
        stated("forest", two, "master", "packed", "workloads", "programs")
    with pytest.raises(InputError, match="1 word for the programs of 2 sweeps"):
        stated("forest", two, "master", "champion", "workloads")


def test_a_cost_is_given_in_a_readable_unit_and_a_guess_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_users, "HOSTS", tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/here.toml").write_text(
        'title = "mine"\n[price]\n'
        'call-ns = { value = 205.2, source = "measured: a call" }\n'
        'long-ns = { value = 12303.9, source = "measured: another" }\n'
        'far-ns = { value = 108.0, source = "guess: as elsewhere" }\n'
    )
    told = [stated("host-cost", [], "mine", key)[0] for key in ("call-ns", "long-ns")]
    assert told == ["205 ns", "12.3 µs"]
    for words in (("mine", "far-ns"), ("mine", "none-ns"), ("other", "call-ns")):
        with pytest.raises(InputError):
            stated("host-cost", [], *words)
