"""The report: complete, self-contained, and clear about what is missing."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import made_up
from sweep_analysis.draw.palette import DARK, LIGHT, Theme, styles
from sweep_analysis.read.load import read_sweep
from sweep_analysis.report.figures import figures
from sweep_analysis.report.page import render_page
from sweep_analysis.report.write import write_report
from sweep_analysis.say.cautions import cautions
from sweep_analysis.say.findings import counter_sentences, verdict_sentences
from sweep_analysis.say.headline import headline
from sweep_analysis.stats.analysis import Analysis, analyse

MOST_BYTES = 500_000
"""Of a page of ten branches and two workloads."""


def small(**truth: Any) -> made_up.Truth:  # noqa: ANN401 - any field of `Truth`
    """One workload at one and two threads; master and packed unless told otherwise."""
    return made_up.Truth(
        **({"branches": ["master", "packed"], "workloads": {"tsp": 0.1}, "threads": [1, 2]} | truth)
    )


def rendered(analysis: Analysis) -> str:
    return render_page(analysis, figures(analysis))


def page_of(folder: Path, truth: made_up.Truth) -> str:
    return html.unescape(
        rendered(analyse(read_sweep(made_up.write_sweep(folder / "sweep", truth))))
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, ordinary_sweep: Path) -> Path:
    return write_report(
        read_sweep(ordinary_sweep), tmp_path_factory.mktemp("report") / "made"
    ).parent


def test_the_folder_holds_figures_tables_and_the_page(report: Path) -> None:
    files = {str(file.relative_to(report)) for file in report.rglob("*") if file.is_file()}
    drawn = ["speedup-sequential", "speedup-own", "speedup-baseline", "cost", "map", "map-cpu"]
    drawn += ["gains", "drift", "places"]
    names = ["trials", "speedups", "comparisons", "comparisons-cpu", "failures", "events", "lines"]
    names += ["latencies", "clocks", "residuals", "claims", "costs", "outliers", "ledger"]
    names += [
        "places",
        "claim-details",
        "outlier-shares",
        "modes",
        "placements",
        "spent",
        "line-waits",
        "sensitivity",
    ]
    assert files == {
        "index.html",
        "tables/provenance.json",
        *(f"figures/{name}{suffix}" for name in drawn for suffix in (".png", ".svg", "-dark.svg")),
        *(f"tables/{name}.{suffix}" for name in names for suffix in ("csv", "parquet", "md")),
    }
    assert (report / "figures/gains.png").read_bytes().startswith(b"\x89PNG")
    parquet = pl.read_parquet(report / "tables/speedups.parquet")
    assert parquet.height == pl.read_csv(report / "tables/speedups.csv").height > 0


def test_the_page_names_no_address_outside_itself(report: Path) -> None:
    text = (report / "index.html").read_text()
    assert re.findall(r'(?:src|srcset|href)="(?!#|tables/)[^"]*"', text) == []
    assert re.findall(r'https?://[^"\s<]*', text) == []


def test_the_page_leads_to_all_digits_of_its_figures(report: Path) -> None:
    links = set(re.findall(r'href="(tables/[^"]+)"', (report / "index.html").read_text()))
    names = {
        "speedups",
        "comparisons",
        "comparisons-cpu",
        "residuals",
        "costs",
        "places",
        "outliers",
        "ledger",
    }
    names |= {"outlier-shares"}
    assert links == {f"tables/{name}.csv" for name in names}
    assert all((report / link).is_file() for link in links)


def test_a_page_of_ten_branches_is_small_enough_to_send(report: Path) -> None:
    assert (report / "index.html").stat().st_size < MOST_BYTES


def test_what_is_code_reads_as_code_and_no_backtick_is_left(report: Path) -> None:
    text = re.sub(
        r"<(script|style)\b.*?</\1>", "", (report / "index.html").read_text(), flags=re.DOTALL
    )
    assert "<code>cargo runner sweep --instrument</code>" in text
    assert "`" not in text


def test_every_link_inside_the_page_has_its_end(report: Path) -> None:
    text = (report / "index.html").read_text()
    names = set(re.findall(r' id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= names


def test_no_two_parts_of_the_page_share_an_identifier(report: Path) -> None:
    names = re.findall(r' id="([^"]+)"', (report / "index.html").read_text())
    assert len(names) == len(set(names))


def test_figures_without_data_say_what_is_missing(report: Path) -> None:
    page = html.unescape((report / "index.html").read_text())
    assert "No workload of this sweep tells how long its work waited" in page
    assert "Nothing was counted in this sweep" in page
    assert "The clock was not measured in this sweep." in page


def test_the_page_says_what_differs(report: Path) -> None:
    page = html.unescape((report / "index.html").read_text())
    assert re.search(
        r"tsp · small: faster than master: split-counters-cache-padded −(9|10)\.", page
    )
    assert "quicksort · small: 9 branches inconclusive (detectable: median " in page
    assert "4 usable CPUs, virtual machine" in page


def test_the_same_trials_give_the_same_page(ordinary_sweep: Path) -> None:
    first, second = (analyse(read_sweep(ordinary_sweep)) for _ in range(2))
    assert first.comparisons.equals(second.comparisons)
    assert first.speedups.equals(second.speedups)


def test_branch_names_cannot_break_the_page(tmp_path: Path) -> None:
    page = rendered(
        analyse(
            read_sweep(
                made_up.write_sweep(tmp_path / "sweep", small(branches=["master", "<b>odd</b>"]))
            )
        )
    )
    assert "<b>odd</b>" not in page
    assert "&lt;b&gt;odd&lt;/b&gt;" in page


def test_failed_trials_are_counted_and_listed(tmp_path: Path) -> None:
    truth = small(
        fails=lambda branch, _, threads, __: (
            "wrong-answer" if (branch, threads) == ("packed", 2) else None
        )
    )
    page = page_of(tmp_path, truth)
    assert "5 of 35 trials failed (packed 5)" in page
    assert "made up: wrong-answer" in page


def test_a_sweep_of_failures_alone_still_has_a_page(tmp_path: Path) -> None:
    truth = small(sequential=False, fails=lambda *_: "crash")
    folder = made_up.write_sweep(tmp_path / "sweep", truth)
    page = html.unescape(write_report(read_sweep(folder), tmp_path / "report").read_text())
    assert "there is no speed-up to draw" in page
    assert "The baseline master has no good trial, so nothing is compared." in page
    assert list((tmp_path / "report/figures").iterdir()) == []


def test_one_branch_alone_is_shown_without_comparison(tmp_path: Path) -> None:
    truth = small(branches=["master"], twin=False)
    page = page_of(tmp_path, truth)
    assert "No branch is judged: no baseline was measured beside another branch." in page
    assert '<h2 id="speedup">Speed-up</h2>' in page
    assert "there is nothing to compare it with" in page


def test_a_missing_baseline_is_said(tmp_path: Path) -> None:
    truth = small(
        sequential=False,
        fails=lambda branch, *_: "build-failed" if branch.startswith("master") else None,
    )
    page = page_of(tmp_path, truth)
    assert "The baseline master has no good trial, so nothing is compared." in page
    assert "speed-up against the sequential program or against the baseline on one thread" in page


def test_a_missing_twin_is_said(tmp_path: Path) -> None:
    page = page_of(tmp_path, small(twin=False))
    assert "no A/A twin" in page


def test_too_few_trials_are_said(tmp_path: Path) -> None:
    page = page_of(tmp_path, small(trials=3))
    assert "This sweep cannot say: each branch was measured in 3 builds" in page
    assert "no A/A twin" not in page


def test_a_speed_up_is_absent_because_nothing_was_asked_on_one_thread_or_because_it_failed(
    tmp_path: Path,
) -> None:
    asked = made_up.write_sweep(tmp_path / "asked", small(threads=[2, 4]))
    assert any(
        "the sweep has no trial on one thread" in text
        for text in cautions(analyse(read_sweep(asked)))
    )
    failed = made_up.write_sweep(tmp_path / "failed", small())
    trials = [json.loads(line) for line in (failed / "trials.jsonl").read_text().splitlines()]
    for trial in trials:
        if trial["program"] == "parallel" and trial["threads"] == 1:
            trial |= {"outcome": "timeout", "iterations": []}
    (failed / "trials.jsonl").write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    assert any(
        "its reference has no good trial" in text for text in cautions(analyse(read_sweep(failed)))
    )


def test_an_unfinished_sweep_is_said(tmp_path: Path) -> None:
    folder = made_up.write_sweep(tmp_path / "sweep", small())
    assert not any("not finished" in text for text in cautions(analyse(read_sweep(folder))))
    lines = (folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (folder / "trials.jsonl").write_text("".join(lines[:-3]))
    assert any(
        "32 of 35 planned trials are recorded" in text
        for text in cautions(analyse(read_sweep(folder)))
    )


def test_cautions_follow_the_host(tmp_path: Path) -> None:
    folder = made_up.write_sweep(tmp_path / "sweep", small(cpus=64))
    lines = (folder / "trials.jsonl").read_text().splitlines()
    steady = [json.dumps(json.loads(line) | {"freq_state": "fixed-verified"}) for line in lines]
    (folder / "trials.jsonl").write_text("\n".join(steady) + "\n")
    found = " ".join(cautions(analyse(read_sweep(folder))))
    assert "frequency" not in found
    assert "2022 study" not in found
    assert "threads crowd" not in found


def test_only_sweeps_of_the_studied_branches_are_held_against_the_study(tmp_path: Path) -> None:
    folder = made_up.write_sweep(tmp_path / "sweep", small(cpus=4))
    assert "2022 study" in " ".join(cautions(analyse(read_sweep(folder))))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"is_ad_hoc": True}))
    assert "2022 study" not in " ".join(cautions(analyse(read_sweep(folder))))


def test_sentences_without_claims_say_so(tmp_path: Path) -> None:
    truth = small(trial_noise=0.05)
    analysis = analyse(read_sweep(made_up.write_sweep(tmp_path / "sweep", truth)))
    assert headline(analysis.judgement).startswith(
        "No branch differs significantly from master: not over all"
    )
    (sentence,) = verdict_sentences(analysis)
    assert re.fullmatch(
        r"tsp · small: 1 branch inconclusive \(detectable: .*\d\.\d\s%\)\.", sentence
    )


def test_what_the_scheduler_does_alike_in_all_branches_is_not_owed_to_counters(
    tmp_path: Path,
) -> None:
    branches = ["master", "packed", "split-counters", "split-counters-no-jec"]
    effects = {
        ("packed", "tsp"): 0.7,
        ("split-counters", "tsp"): 0.7,
        ("split-counters-no-jec", "tsp"): 0.77,
    }
    folder = made_up.write_sweep(
        tmp_path / "sweep", small(branches=branches, effects=effects, trials=9)
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    features = {
        "packed": [],
        "split-counters": ["split"],
        "split-counters-no-jec": ["no-jec", "split"],
    }
    for branch in manifest["branches"]:
        known = features.get(branch["name"])
        branch["source"] = (
            {"kind": "published"} if known is None else {"kind": "fork", "features": known}
        )
    (folder / "manifest.json").write_text(json.dumps(manifest))
    analysis = analyse(read_sweep(folder))
    assert "By configuration: packed takes 3" in headline(analysis.judgement)
    assert " are inconclusive." not in headline(
        analysis.judgement
    )  # all three are faster: there are no others
    (sentence,) = counter_sentences(analysis)
    assert re.fullmatch(
        r"tsp · small: slower than packed: split-counters-no-jec \+(8|9|10|11|12)\.\d\s% (CPU )?time \([^)]*\), "
        r"split-counters-no-jec \+(8|9|10|11|12)\.\d\s% (CPU )?time \([^)]*\); "
        r"1 branch inconclusive \(detectable: \d+\.\d\s%\)\.",
        sentence,
    ), sentence
    assert sentence in html.unescape(rendered(analysis))


def test_a_sweep_without_the_plain_fork_says_nothing_of_counters_alone(tmp_path: Path) -> None:
    assert (
        counter_sentences(analyse(read_sweep(made_up.write_sweep(tmp_path / "sweep", small()))))
        == []
    )


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_study_branch_has_a_look_of_its_own_everywhere(theme: Theme) -> None:
    together = styles(made_up.STUDY_BRANCHES, "master", theme)
    assert len({(style.colour, style.dashed) for style in together.values()}) == len(
        made_up.STUDY_BRANCHES
    )
    assert styles(["split-counters"], None, theme)["split-counters"] == together["split-counters"]


def test_many_thread_counts_and_workloads_still_make_a_page(tmp_path: Path) -> None:
    truth = small(
        threads=list(range(1, 17)),
        workloads={f"w{number}": 0.1 for number in range(2)},
        trials=3,
        iterations=1,
    )
    page = page_of(tmp_path, truth)
    # Gains, maps by wall and by CPU time; speed-up, cost (and all together) by workload; drift,
    # places.
    assert page.count("<figure>") == 1 + 2 + 2 * 2 + 1 + 2


def test_of_many_pictures_one_is_open_at_a_time_and_none_is_left_out(tmp_path: Path) -> None:
    truth = small(
        threads=[1, 2],
        workloads={f"w{number}": 0.1 for number in range(10)},
        trials=2,
        iterations=1,
    )
    page = page_of(tmp_path, truth)
    for name, pictures in (("speedup", 10), ("cost", 11)):
        assert page.count(f'<details name="{name}"') == pictures
        assert page.count(f'<details name="{name}" open>') == 1


@pytest.mark.parametrize("layouts", [1, 5])
def test_one_build_per_branch_is_a_caution_and_several_are_none(
    tmp_path: Path, layouts: int
) -> None:
    sweep = read_sweep(made_up.write_sweep(tmp_path, made_up.Truth(layouts=layouts)))
    warned = any("built once" in caution for caution in cautions(analyse(sweep)))
    assert warned == (layouts == 1)


def test_a_report_says_on_stderr_which_step_it_is_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(
        read_sweep(made_up.write_sweep(tmp_path / "sweep", small(trials=2))), tmp_path / "report"
    )
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("]")[0] for line in lines] == ["[1/4", "[2/4", "[3/4", "[4/4"]
