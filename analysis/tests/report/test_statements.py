"""Generated results in documents match the analysis word for word; README.md and `results/` have no typed measured number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import synthetic
from sweep_analysis.read.committed import committed_sweeps
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import percent
from sweep_analysis.read.load import CHECKOUT, read_sweep
from sweep_analysis.read.request import newest_of
from sweep_analysis.report import statement_gains
from sweep_analysis.report.statement import LONGEST, Statement
from sweep_analysis.report.statement_kinds import KINDS
from sweep_analysis.report.statements import FILES, asked_by, made, typed_numbers, words
from sweep_analysis.stats.analysis import Analysis, analyse

MOST_WORDS = {"README.md": 600, "results/METHOD.md": 2400, "results/PUBLISHED.md": 600}
"""Maximum number of words of prose in a document; words of tables do not count."""


def stated(kind: str, sweeps: list[Analysis], *words: str) -> str:
    text, _ = KINDS[kind](Statement("page.md", CHECKOUT, sweeps, list(words)))
    return text


def analysed(folder: Path, **more: object) -> Analysis:
    truth = {
        "branches": ["master", "packed"],
        "workloads": {"tsp": 0.1},
        "threads": [1, 2],
        "cpus": 2,
        **more,
    }
    return analyse(
        read_sweep(
            synthetic.write_sweep(folder / "2026-01-01T000000Z-synthetic", synthetic.Truth(**truth))
        )
    )  # type: ignore[arg-type]


STATING = [file for file in FILES if "<!-- analysis: " in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("file", STATING, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_generated_result_is_up_to_date(file: Path) -> None:
    anew = made(file)
    drifted = [path for path, text in anew.items() if text != path.read_text(encoding="utf-8")]
    assert not drifted, "`cargo runner analysis statements --write` mends it"


# Other pages may have typed numbers: they describe programs and the fork, with sizes and limits,
# which are not measurements.
@pytest.mark.parametrize(
    "file",
    [
        file
        for file in FILES
        if file.parent.name not in ("findings", "rivals", "services", "rayon-fork")
    ],
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_no_number_is_typed(file: Path) -> None:
    assert typed_numbers(file.read_text(encoding="utf-8")) == []


def test_documents_that_show_the_same_picture_request_the_same() -> None:
    texts = [file.read_text(encoding="utf-8") for file in STATING]
    requests = {it for text in texts for it in re.findall(r"<!-- analysis: (forest .*?) -->", text)}
    assert len(requests) == 1, "each request writes results/figures/forest-champion.svg"


@pytest.mark.parametrize("file", MOST_WORDS)
def test_what_a_reader_begins_with_is_short(file: str) -> None:
    found = words((CHECKOUT / file).read_text(encoding="utf-8"), tables=False)
    assert found <= MOST_WORDS[file], (
        f"{file} has {found} words: shorten it, or move text to a page it links"
    )


def test_findings_are_short_with_their_tables() -> None:
    found = words((CHECKOUT / "results/FINDINGS.md").read_text(encoding="utf-8"))
    assert found <= 3500, f"FINDINGS has {found} words: shorten it, or move text to EVIDENCE"


def documents() -> str:
    """The text of all documents with generated results."""
    return "".join(file.read_text(encoding="utf-8") for file in FILES)


def test_every_measured_sweep_is_of_the_platform_that_method_describes() -> None:
    models = set()
    for folder in committed_sweeps():
        host = json.loads((folder / "host.json").read_text(encoding="utf-8"))
        if "simulated" in host:
            continue
        cpu, kernel = host["cpu"], host["kernel"]
        models.add((cpu["model_name"], cpu["cpu_family"], cpu["model"]))
        is_of_platform = (
            host["cores"] == 2
            and cpu["is_virtual"]
            and kernel["osrelease"].startswith("6.18.")
            and "sched_vcpu_pack=15" in kernel["command_line"]
        )
        assert is_of_platform, f"{folder.name}: METHOD.md, 'One platform', and README say else"
    assert len(models) == 5, "METHOD.md, 'One platform', says how many CPU models were measured"


def test_every_picture_is_one_of_a_statement() -> None:
    text = documents()
    shown = {
        CHECKOUT / "results/figures" / name for name in re.findall(r"figures/([\w.-]+\.svg)", text)
    }
    assert shown == set((CHECKOUT / "results" / "figures").iterdir())


def test_a_result_whose_words_are_too_few_is_refused_with_the_words_that_it_needs(
    tmp_path: Path,
) -> None:
    file = tmp_path / "page.md"
    newest = newest_of("host-classics")
    assert newest is not None
    named = newest.path.name[:18]
    file.write_text(f"<!-- analysis: effect {named} tree-sum --><!-- /analysis -->")
    with pytest.raises(InputError, match=r"effect .* tree-sum`: the words do not fit"):
        made(file)


def test_all_sweeps_that_are_named_are_pooled(tmp_path: Path) -> None:
    sweeps = [
        analysed(tmp_path / str(at), effects={("packed", "tsp"): effect}, seed=at)
        for at, effect in enumerate((0.8, 0.8, 1.6))
    ]
    three = stated("effect", sweeps, "tsp", "master", "packed")
    assert re.search(
        r"; 3 sweeps on 1 day: −.* \(faster alone\), −.* and \+.* \(slower alone\)\)", three
    )
    assert "; inconclusive" in three
    two = stated("effect", sweeps[:2], "tsp", "master", "packed")
    assert re.match(r"−(19|20)\.\d.% time on `tsp` .*; 2 sweeps on 1 day: −", two)
    assert "inconclusive" not in two


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"threads": [1, 2, 4], "cpus": 4}, "with 4 CPUs"),
        ({"workloads": {"tsp": 0.1, "packets": 0.1}}, "has packets small n=1000 dynamic free on "),
        ({"threads": [1]}, "on 2 threads, which"),
    ],
)
def test_sweeps_of_other_programs_threads_or_machines_are_not_pooled(
    tmp_path: Path, other: dict[str, object], named: str
) -> None:
    both = [analysed(tmp_path / "one"), analysed(tmp_path / "other", **other)]
    with pytest.raises(InputError, match="same programs, threads and machine") as refused:
        stated("effect", both, "all", "master", "packed")
    assert named in str(refused.value)


def test_a_command_with_names_that_are_gone_says_at_which_commit_it_ran(tmp_path: Path) -> None:
    def command(name: str, **more: object) -> str:
        return stated("evidence", [analysed(tmp_path / name, **more)])

    assert ", at `" not in command("kept")
    assert ", at `" in command("branch", branches=["master", "champion-deal"])
    assert ", at `" in command("program", workloads={"cholesky": 0.1})


def test_evidence_says_of_which_commit_a_sweep_is(tmp_path: Path) -> None:
    analysis = analysed(tmp_path)
    analysis.sweep.manifest["checkout"]["commit"] = "0123456789abcdef"
    assert "| `0123456` |" in stated("evidence", [analysis])


def test_sweeps_of_several_commits_of_the_fork_say_so_and_those_of_published_crates_do_not(
    tmp_path: Path,
) -> None:
    both = [analysed(tmp_path / str(seed), seed=seed) for seed in (0, 1)]
    assert "commits" not in stated("effect", both, "tsp", "master", "packed")
    both[1].sweep.manifest["checkout"]["commit"] = "0123456789abcdef"
    for kind, told in (
        ("fork", "; 2 sweeps on 1 day, 2 commits of the fork: "),
        ("edited", "; 2 sweeps on 1 day: "),
    ):
        for analysis in both:
            for entry in analysis.sweep.manifest["branches"]:
                if entry["name"] == "packed":
                    entry["source"] = {"kind": kind}
        assert told in stated("effect", both, "tsp", "master", "packed")


def commit(monkeypatch: pytest.MonkeyPatch, sweeps: Path) -> None:
    """Make every sweep below `sweeps` a committed one, except a user's own (`-mine`)."""
    committed = [it for it in sorted(sweeps.iterdir()) if not it.name.endswith("-mine")]
    monkeypatch.setattr(statement_gains, "committed_sweeps", lambda: committed)


def test_losses_of_every_committed_measured_sweep_stand_though_no_statement_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common: dict[str, object] = {
        "branches": ["master", "packed"],
        "workloads": {"tsp": 0.1, "packets": 0.1},
        "threads": [1, 2],
        "cpus": 2,
        "layouts": 7,
        "trials": 7,
    }
    slower = {("packed", "tsp"): 1.5}
    each: list[dict[str, object]] = [
        {"effects": slower},
        {},
        {"effects": slower, "machine": "here"},
        {"effects": slower, "branches": ["master", "champion"]},
        {"effects": slower},
    ]
    for day, more in enumerate(each, 1):
        truth = synthetic.Truth(**{**common, **more})  # type: ignore[arg-type]
        whose = "mine" if day == len(each) else "synthetic"
        synthetic.write_sweep(tmp_path / f"2026-01-0{day}T000000Z-{whose}", truth)
    commit(monkeypatch, tmp_path)
    *_, first, second = stated("losses", [], "packed", "master").strip().splitlines()
    assert re.match(r"\| \[`2026-01-01T000000Z`\]\(.*\) \| `\w{7}` \| ", first)
    assert re.search(r"tsp on 1: \+.*; .*tsp on 2: \+|tsp on 2: \+.*; .*tsp on 1: \+", first)
    assert "packets" not in first
    assert "`2026-01-02T000000Z`" in second
    assert second.endswith("| nowhere |")
    with pytest.raises(InputError, match="no measured sweep compares `packed` with `nobody`"):
        stated("losses", [], "packed", "nobody")


def test_the_largest_loss_stands_though_the_mean_of_its_workload_is_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed(
        tmp_path,
        workloads={"tsp": 0.1, "packets": 0.1},
        threads=[4, 8],
        effects={("packed", "tsp"): 1.5},
        layouts=7,
        trials=7,
    )
    commit(monkeypatch, tmp_path)
    *_, row = stated("losses", [], "packed", "master").strip().splitlines()
    for place in ("tsp on 4: +", "tsp on 8: +", "all programs on 4, 8: +"):
        assert place in row
    assert "tsp on 4, 8" not in row


def test_one_comparison_has_one_result_under_all_its_names(tmp_path: Path) -> None:
    both = [
        analysed(
            tmp_path / str(seed),
            workloads={"tsp": 0.1, "packets": 0.1},
            effects={("packed", "tsp"): 0.8},
            seed=seed,
        )
        for seed in (0, 1)
    ]
    for name in ("all", "tsp"):
        without, with_threads = (
            stated("effect", both, f"{name}{at}", "master", "packed") for at in ("", "@2")
        )
        assert without == with_threads
        assert "with 1 thread" in stated("effect", both, f"{name}@1", "master", "packed")


def test_times_by_threads_show_both_modes_of_builds(tmp_path: Path) -> None:
    def slow_with_two(branch: str, _: str, threads: int, replicate: int) -> float:
        return 3.0 if (branch, threads) == ("packed", 2) and replicate < 3 else 1.0

    analysis = analysed(tmp_path, trials=7, state=slow_with_two)
    told = stated("by-threads", [analysis], "time", "packed", "master")
    packed, master = (row.split("|") for row in told.split("\n\n")[1].splitlines()[2:])
    low, high = map(int, packed[4].split(" or "))
    assert high == pytest.approx(3 * low, rel=0.1)
    assert " or " not in packed[3] + master[3] + master[4]
    assert "; both modes where builds have two (sweep " in told


def test_losses_that_are_not_ruled_out_are_listed_for_a_branch_without_significant_losses(
    tmp_path: Path,
) -> None:
    analysis = analysed(tmp_path, branches=["master", "packed"], trial_noise=0.1)
    told = stated("balance", [analysis], "packed", "master")
    assert (
        "significant gains of 0.5\N{NO-BREAK SPACE}% or more in no place, losses in no place. A place may gain time and lose CPU time."
        in told
    )
    assert re.search(
        r"in \d+ of \d+ comparisons; the largest upper bounds of the rest: \+\d+\.\d.% ", told
    )


def test_times_by_threads_have_a_row_a_branch_and_a_column_a_number_of_threads(
    tmp_path: Path,
) -> None:
    analysis = analysed(tmp_path, workloads={"tsp": 0.1, "packets": 0.1})
    told = stated("by-threads", [analysis], "time", "packed", "master", "-packets")
    head, _, *rows = told.split("\n\n")[1].splitlines()
    assert head == "| workload | branch | 1 | 2 |"
    assert [row.split("|")[1:3] for row in rows] == [[" tsp ", " packed "], [" tsp ", " master "]]
    times = analysis.times.filter(
        pl.col("branch") == "master", workload="tsp", threads=2, program="parallel"
    )
    assert (
        rows[1].split("|")[4].strip()
        == f"{times.select(pl.col('elapsed_ns').median()).item() / 1e3:.0f}"
    )
    with pytest.raises(InputError, match="no trial has these data"):
        stated("by-threads", [analysis], "time", "unknown")


def test_parts_are_changes_of_the_decision_rule_and_bold_if_significant(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, effects={("packed", "tsp"): 0.5}, layouts=7, trials=7)
    for threads, level in (("2", "cell"), ("pooled", "workload")):
        rows = analysis.decisions.comparisons.filter(level=level, branch="packed", quantity="time")
        row = rows.filter(pl.col("threads").is_null() | (pl.col("threads") == 2)).row(0, named=True)
        change = percent(row["time_ratio"])
        shown = f"**{change}**" if row["verdict"] == "faster" else change
        assert (
            stated("parts", [analysis], "time", threads, "master", "packed")
            .strip()
            .endswith(f"| packed | {shown} |")
        )
    with pytest.raises(InputError, match="no branch is compared with `tsp` there"):
        stated("parts", [analysis], "time", "2", "tsp", "packed")


def test_gains_and_losses_are_the_significant_changes_and_no_others(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, effects={("packed", "tsp"): 0.5}, layouts=7, trials=7)
    told = stated("balance", [analysis], "packed", "master")
    assert (
        ": significant gains of 0.5\N{NO-BREAK SPACE}% or more in 2 places, losses in no place. A place may gain time and lose CPU time. Non-inferior (margin 2\N{NO-BREAK SPACE}% on a workload, "
        in told
    )
    assert " in 4 of 4 comparisons." in told
    assert re.search(r"^\| tsp on 2: −.*% (CPU )?time \(.* \|  \|$", told, re.MULTILINE)
    with pytest.raises(InputError, match="`nobody` is not compared with `master`"):
        stated("balance", [analysis], "nobody", "master")


def test_lines_that_a_proposal_adds_and_removes_are_counted_those_of_tests_apart(
    tmp_path: Path,
) -> None:
    def script(path: str, text: str, tree: str = "1.13.0", place: str = "after = 1") -> str:
        return f"[[file]]\npath = '{path}'\nsha256.'{tree}' = '0'\nedit = [{{ {place}, text = {json.dumps(text)} }}]\n"

    edits = tmp_path / "edits.toml"
    edits.write_text(
        script("src/a.rs", "// why\nlet a;\n\n", place="lines = '12-14'")
        + script("src/b.rs", "let b;\n", "main")
        + script("src/b.rs", "", place="lines = '7'")
        + script("src/c.rs", "\n#[cfg(test)]\nmod test {}\n")
        + script("src/scope/test.rs", "one\n")
        + script("tests/d.rs", "one\ntwo\n"),
        encoding="utf-8",
    )
    assert statement_gains.lines_of(edits) == "+3 −4 lines, tests +6"


def test_a_configuration_has_its_own_row_unless_the_row_of_its_workload_pools_it(
    tmp_path: Path,
) -> None:
    more = {"effects": {("packed", "tsp"): 0.5}, "layouts": 7, "trials": 7}
    two = analysed(tmp_path / "two", threads=[1, 2, 4], **more)
    told = stated("balance", [two], "packed", "master")
    assert (
        ": significant gains of 0.5\N{NO-BREAK SPACE}% or more in 3 places, losses in no place. A place may gain time and lose CPU time."
        in told
    )
    for threads in ("1", "2", "4"):
        assert f"| tsp on {threads}: −" in told
    four = analysed(tmp_path / "four", threads=[1, 2, 4], cpus=4, **more)
    told = stated("balance", [four], "packed", "master")
    assert (
        ": significant gains of 0.5\N{NO-BREAK SPACE}% or more in 2 places, losses in no place. A place may gain time and lose CPU time."
        in told
    )
    assert "| tsp on 2, 4: −" in told


def test_pooled_parts_say_which_threads_they_pool(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, threads=[1, 2, 4])
    told = stated("parts", [analysis], "time", "pooled", "master", "packed")
    assert told.startswith("Time against `master`, with 2 threads (sweep ")
    with pytest.raises(InputError, match="`all` is not a number of threads; name one, or `pooled`"):
        stated("parts", [analysis], "time", "all", "master", "packed")


def test_a_row_of_one_configuration_is_no_other_comparison(tmp_path: Path) -> None:
    analysis = analysed(tmp_path)
    rows = analysis.decisions.rows
    assert rows.height > rows.filter(level="cell").height == 4
    assert "1 program, wall and CPU time: 0 of 4 comparisons are " in stated("tally", [analysis])
    assert stated("tally", [analysis], "brief") == "0 of 4 comparisons are significant"


def test_configurations_of_a_program_are_no_programs_and_an_ambiguous_name_is_refused() -> None:
    name = "2026-11-26T082059Z-573a4b-14e57d2a5449"
    calibration = analyse(read_sweep(CHECKOUT / "results/sweeps" / name))
    told = stated("effect", [calibration], "all", "master", "champion")
    assert " over 13 configurations of 10 programs together with 2 threads " in told
    with pytest.raises(
        InputError, match=r"`install` is 2 configurations: `install.*pool=busy.*; name one: "
    ):
        stated("effect", [calibration], "install", "master", "champion")
    with pytest.raises(InputError, match="no branch is compared with `master` there"):
        stated("effect", [calibration], "install+pool=b", "master", "champion")
    busy, idle = (
        stated("effect", [calibration], f"install+pool={pool}", "master", "champion")
        for pool in ("busy", "idle")
    )
    assert busy != idle
    assert "`install, pool=busy`" in busy


def test_of_two_sweeps_the_median_and_the_losses_of_each_are_given(tmp_path: Path) -> None:
    both = [
        analysed(
            tmp_path / str(seed),
            workloads={"tsp": 0.1, "packets": 0.1},
            effects={("packed", "tsp"): effect},
            seed=seed,
            layouts=7,
            trials=7,
        )
        for seed, effect in enumerate((0.5, 0.9))
    ]
    told = stated("effect", both, "all", "master", "packed")
    assert re.search(
        r"\); inconclusive; detectable: \d+\.\d.%; "
        r"in sweep 1, 1 faster, 0 slower, 1 inconclusive \(.*\); median −(2[89]|30)\.\d.%; "
        r"in sweep 2, 1 faster, 0 slower, 1 inconclusive \(.*\); median −[56]\.\d.%$",
        told,
    ), told


@pytest.mark.parametrize(
    "line",
    [
        "It takes 5 ms.",
        "gains 14 % there",
        "| 0.5 |",
        "2.4 joins",
        "costs +7 there",
        "keeps 64 MiB",
        "runs 3\N{MULTIPLICATION SIGN} as long",
    ],
)
def test_a_typed_number_is_found(line: str) -> None:
    assert typed_numbers(f"A line before.\n{line}\nA line after.") == [line]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- analysis: tally 2026-11-20T181745Z -->\n7 of 9 comparisons\n<!-- /analysis -->",
        "`cargo runner sweep --threads 1..=8` and [a sweep](sweeps/2026-11-20)",
        "```console\n$ sleep 5\n```",
        "the study of 2022, on rayon-core 1.13.0 and Python 3.11",
        "two CPUs",
        "a pool of 64 workers on 2 CPUs, with 7 builds each",
    ],
)
def test_statements_code_addresses_names_and_counts_hold_digits(text: str) -> None:
    assert typed_numbers(text) == []


def test_a_long_table_is_folded_unless_it_is_the_answer() -> None:
    def table(rows: int, *, is_open: bool = False) -> str:
        frame = pl.DataFrame({"row": [str(row) for row in range(rows)]})
        return Statement("page.md", CHECKOUT, [], [], is_open).table(
            frame, "numbers in their order"
        )

    long = table(LONGEST + 1)
    assert long.startswith(
        "<details><summary>Table: 9 rows, numbers in their order</summary>\n\n| row |\n"
    )
    assert long.endswith("| 8 |\n\n</details>\n"), "without a blank line the table swallows the tag"
    for text in (table(LONGEST), table(LONGEST + 1, is_open=True)):
        assert text.startswith("| row |\n")
        assert text.endswith(" |\n")
    kind, asked = asked_by("tally 2026-11-22T155739Z 2 open", "page.md", CHECKOUT)
    assert (kind, asked.words, asked.is_open) == ("tally", ["2"], True)


def test_an_outdated_result_is_generated_again(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(
        "before\n<!-- analysis: tally 2026-11-22T074035Z -->\n7 trials\n<!-- /analysis -->\nafter\n"
    )
    text = made(file)[file]
    assert "7 trials" not in text
    assert "\n2 branches against `master` on 4 programs, wall time, CPU time and latency: " in text


@pytest.mark.parametrize(
    "statement",
    [
        "effect {} fib-join packed champion brief",
        "effect 2026-11-22T074035Z {} fib-join packed champion brief",
        "table {} comparisons level=overall",
    ],
)
def test_a_simulated_size_without_its_box_cannot_be_printed(statement: str, tmp_path: Path) -> None:
    simulated, line_waits = "2026-11-26T050153Z", "line-waits workload=fib-join first=1"
    file = tmp_path / "page.md"
    file.write_text(f"<!-- analysis: {statement.format(simulated)} -->\n<!-- /analysis -->\n")
    with pytest.raises(InputError, match="a simulated size without its box cannot be printed"):
        made(file)
    # Tables of source lines that wait are allowed.
    file.write_text(f"<!-- analysis: table {simulated} {line_waits} -->\n<!-- /analysis -->\n")
    assert "simulated: zen4-64" in made(file)[file]


def test_an_unknown_kind_is_named_with_those_that_are_known(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("<!-- analysis: rumour 2026-11-22T074035Z -->\n<!-- /analysis -->\n")
    with pytest.raises(InputError, match="unknown kind `rumour`; known: evidence, "):
        made(file)


def test_a_branch_that_was_not_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no branch is compared with `nobody` there"):
        stated("effect", [analysed(tmp_path)], "tsp", "nobody", "packed")


def hung_sweep(folder: Path) -> Analysis:
    """A sweep in which one of four runs of `packed` hangs after two iterations, and one times out; `fenced` has fences."""
    fails: Callable[[str, str, int, int], str | None] = lambda branch, _, __, replicate: (  # noqa: E731
        {0: "hang", 1: "timeout"}.get(replicate) if branch == "packed" else None
    )
    truth = synthetic.Truth(
        branches=["master", "packed", "fenced"],
        workloads={"tsp": 0.1},
        threads=[2],
        trials=4,
        layouts=1,
        twin=False,
        sequential=False,
        fails=fails,
        features={"packed": [], "fenced": ["push-fence"]},
    )
    synthetic.write_sweep(folder, truth)
    file = folder / "trials.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        if record["outcome"] == "hang":
            record["reason"] = "iteration 2 got no further for 8.0 s"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return analyse(read_sweep(folder))


def test_the_table_of_hangs_states_every_run_that_it_leaves_out(tmp_path: Path) -> None:
    analysis = hung_sweep(tmp_path / "2026-01-01T000000Z-synthetic")
    assert (
        stated("hangs", [analysis], "packed", "brief")
        == "hung in 1 of 3 runs, in 0.0 million elements"
    )
    text = stated("hangs", [analysis])
    assert "| packed | no thread | 1 of 3 runs, 0.0 million elements |" in text
    assert text.endswith(
        "\nThe table leaves out 1 run of unknown work, which timed out or failed.\n"
    )


def test_a_table_of_a_sweep_is_that_of_the_command_without_what_is_the_same_in_all_rows(
    tmp_path: Path,
) -> None:
    analysis = analysed(tmp_path, effects={("packed", "tsp"): 0.5}, layouts=7, trials=7)
    words = ("comparisons", "level=cell", "branch=packed", "quantity=time")
    head, _, one, two, _, source, *_ = stated("table", [analysis], *words).splitlines()
    assert head.startswith("| threads | change | from | to | ")
    assert [row.split("|")[1].strip() for row in (one, two)] == ["1", "2"]
    assert source.startswith("Rows with level cell, branch packed, quantity time of sweep [")
    first = stated("table", [analysis], *words, "first=1").splitlines()
    assert len(first) == len([head, "---", one, "", source])
    for wrong, told in ((("odd",), "no table `odd`"), (("costs", "threads=9"), "no such row")):
        with pytest.raises(InputError, match=told):
            stated("table", [analysis], *wrong)
