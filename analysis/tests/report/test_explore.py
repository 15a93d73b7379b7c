"""What the page's chooser is given."""

from __future__ import annotations

from pathlib import Path

import made_up
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.explore import exploration
from sweep_analysis.stats.analysis import analyse


def test_the_chooser_has_every_cell_of_every_measure(ordinary_sweep: Path) -> None:
    chosen = exploration(analyse(read_sweep(ordinary_sweep)))
    sizes = {measure["label"]: len(measure["rows"]) for measure in chosen["measures"]}
    assert sizes["change of wall time against the baseline"] == 2 * 4 * 10  # without the baseline, with its twin
    assert sizes["speed-up against the sequential program"] == 2 * 4 * 11
    assert sizes["Karp–Flatt fraction"] == 2 * 3 * 11  # none at one thread
    assert [branch["name"] for branch in chosen["branches"]] == [*made_up.STUDY_BRANCHES, "master-again"]


def test_a_row_says_what_the_comparison_says(ordinary_sweep: Path) -> None:
    analysis = analyse(read_sweep(ordinary_sweep))
    chosen = exploration(analysis)
    place = (chosen["panels"].index("tsp · small"), made_up.STUDY_BRANCHES.index("split-counters-cache-padded"), 4)
    (row,) = [row for row in chosen["measures"][0]["rows"] if tuple(row[:3]) == place]
    (known,) = analysis.comparisons.filter(
        level="cell", workload="tsp", branch="split-counters-cache-padded", threads=4
    ).rows(named=True)
    assert row[3:] == [
        *(round(known[name], 4) for name in ("time_ratio", "ratio_low", "ratio_high", "band")),
        known["verdict"],
    ]


def test_a_sweep_of_failures_alone_has_nothing_to_choose(tmp_path: Path) -> None:
    truth = made_up.Truth(branches=["master"], workloads={"tsp": 0.1}, sequential=False, fails=lambda *_: "crash")
    assert exploration(analyse(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth))))["measures"] == []
