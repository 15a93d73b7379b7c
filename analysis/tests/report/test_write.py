"""The report: complete, self-contained, and clear about what is missing."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import synthetic
from sweep_analysis.draw.palette import DARK, LIGHT, Theme, styles
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.figures import figures
from sweep_analysis.report.page import render_page, words_in, write_report
from sweep_analysis.say.cautions import cautions
from sweep_analysis.say.headline import headline
from sweep_analysis.stats.analysis import FRAMES, Analysis, analyse

MOST_BYTES = 1_200_000
"""Maximum size of a page of ten branches and two workloads."""


def small(**truth: Any) -> synthetic.Truth:  # noqa: ANN401 - any field of `Truth`
    return synthetic.Truth(
        **({"branches": ["master", "packed"], "workloads": {"tsp": 0.1}, "threads": [1, 2]} | truth)
    )


def rendered(analysis: Analysis) -> str:
    return render_page(analysis, figures(analysis))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, ordinary_sweep: Path) -> Path:
    return write_report(
        read_sweep(ordinary_sweep), tmp_path_factory.mktemp("report") / "made"
    ).parent


def test_the_folder_holds_figures_tables_and_the_page(report: Path) -> None:
    files = {str(file.relative_to(report)) for file in report.rglob("*") if file.is_file()}
    drawn = ["speedup-sequential", "speedup-own", "speedup-baseline", "cost", "map", "map-cpu"]
    assert files == {
        "index.html",
        "tables/provenance.json",
        *(
            f"figures/{name}{end}.svg"
            for name in [*drawn, "gains", "drift"]
            for end in ("", "-dark")
        ),
        *(f"tables/{name}.{suffix}" for name in FRAMES for suffix in ("csv", "parquet")),
    }
    parquet = pl.read_parquet(report / "tables/speedups.parquet")
    assert parquet.height == pl.read_csv(report / "tables/speedups.csv").height > 0


def test_the_page_is_whole_by_itself_small_and_leads_to_all_digits_of_its_figures(
    report: Path,
) -> None:
    text = (report / "index.html").read_text()
    assert len(text) < MOST_BYTES
    assert re.findall(r'https?://[^"\s<]*', text) == []
    names = re.findall(r' id="([^"]+)"', text)
    assert len(names) == len(set(names))
    links = set(re.findall(r'(?:src|srcset|href)="([^"]*)"', text))
    assert {link[1:] for link in links if link.startswith("#")} <= set(names)
    tables = {
        "speedups",
        "comparisons",
        "residuals",
        "costs",
        "ledger",
    }
    outside = {link for link in links if not link.startswith("#")}
    assert outside == {f"tables/{name}.csv" for name in tables}
    assert all((report / link).is_file() for link in outside)
    read = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert "<code>cargo runner sweep --instrument</code>" in read
    assert "`" not in read
    for missing in (
        "No workload of this sweep reports latencies",
        "This sweep has no counts of events",
        "The clock was not measured in this sweep.",
    ):
        assert missing in html.unescape(text)


def test_columns_of_words_are_read_from_the_left_and_numbers_from_the_right() -> None:
    frame = pl.DataFrame(
        {"n": [1], "change": ["−5.0 %"], "threads": ["all"], "workload": ["tsp"], "empty": [None]}
    )
    assert words_in(frame) == [4]


@pytest.mark.parametrize(
    ("truth", "told"),
    [
        (
            {"fails": lambda *at: "wrong-answer" if at[0] == "packed" and at[2] == 2 else None},
            ["5 of 35 trials failed (packed 5)", "synthetic: wrong-answer"],
        ),
        (
            {"branches": ["master"], "twin": False},
            [
                "No branch is tested: no baseline was measured beside another branch.",
                '<h2 id="speedup">Speed-up</h2>',
                "so there is no comparison",
            ],
        ),
        (
            {
                "sequential": False,
                "fails": lambda branch, *_: "crash" if branch.startswith("master") else None,
            },
            [
                "No branch is tested: no baseline was measured beside another branch.",
            ],
        ),
        ({"twin": False}, ["no A/A control"]),
        ({"trials": 3}, ["This sweep cannot decide: each branch was measured in 3 builds"]),
        ({"branches": ["master", "<b>odd</b>"], "trials": 2}, ["<b>odd</b>"]),
    ],
    ids=["failures", "one branch", "no baseline", "no twin", "few trials", "a name of tags"],
)
def test_the_page_says_what_is_missing(truth: dict[str, Any], told: list[str]) -> None:
    analysis = analyse(synthetic.swept(small(**truth)))
    raw = rendered(analysis) if {"twin", "branches"} & set(truth) else render_page(analysis, [])
    assert "<b>odd" not in raw
    page = html.unescape(raw)
    assert [text for text in told if text not in page] == []


def test_a_sweep_of_failures_alone_still_has_a_page(tmp_path: Path) -> None:
    truth = small(sequential=False, fails=lambda *_: "crash")
    folder = synthetic.write_sweep(tmp_path / "sweep", truth)
    page = html.unescape(write_report(read_sweep(folder), tmp_path / "report").read_text())
    assert "there is no speed-up to draw" in page
    assert list((tmp_path / "report/figures").iterdir()) == []


def told(truth: synthetic.Truth, change: Callable[[dict[str, Any]], object] | None = None) -> str:
    return " ".join(cautions(analyse(synthetic.swept(truth, change))))


def test_an_unfinished_sweep_is_said() -> None:
    sweep = synthetic.swept(small())
    assert "not finished" not in told(small())
    more = synthetic.with_manifest(sweep, trials_planned=38)
    assert "35 of 38 planned trials are recorded" in " ".join(cautions(analyse(more)))


def test_cautions_follow_the_host_and_what_was_compared() -> None:
    found = told(small(cpus=64), lambda record: record.update(freq_state="fixed-verified"))
    assert "frequency" not in found
    assert "show oversubscribed pools" not in found
    assert "show oversubscribed pools" in told(small(cpus=1))


def test_what_the_scheduler_does_alike_in_all_branches_is_no_effect_of_counters() -> None:
    features = {"packed": [], "split-counters": ["split"], "split-counters-no-jec": ["no-jec"]}
    effects = {(name, "tsp"): 0.77 if "jec" in name else 0.7 for name in features}
    branches = ["master", *features]
    truth = small(branches=branches, effects=effects, trials=9, features=features)
    analysis = analyse(synthetic.swept(truth))
    assert "By configuration: packed takes 3" in headline(analysis.decisions)
    # All three configurations are faster, so none is inconclusive.
    assert " are inconclusive." not in headline(analysis.decisions)
    page = html.unescape(rendered(analysis))
    (table,) = re.findall(r"Table: results against packed</summary>(.*?)</table>", page, re.DOTALL)
    assert set(re.findall(r'<td class="verdict">(\w+)', table)) == {"slower"}
    assert re.search(r"<td>split-counters-no-jec<td.*\+(8|9|10|11|12)\.\d\s%", table)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_study_branch_has_its_own_color_and_shape_everywhere(theme: Theme) -> None:
    together = styles(synthetic.STUDY_BRANCHES, "master", theme)
    assert len({(style.colour, style.dashed) for style in together.values()}) == len(
        synthetic.STUDY_BRANCHES
    )
    assert styles(["split-counters"], None, theme)["split-counters"] == together["split-counters"]
