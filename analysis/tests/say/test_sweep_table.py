"""The table of a sweep as people read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import synthetic
from sweep_analysis.read.load import read_sweep
from sweep_analysis.say import sweep_table
from sweep_analysis.say.columns import MAGENTA, Column, Look, table
from sweep_analysis.say.conditions import conditions
from sweep_analysis.say.sweep_table import SweepTable

LONGEST = "split-counters-no-jec-sleepers-only-cache-padded"


def fails(branch: str, _: str, threads: int, replicate: int) -> str | None:
    return "crash" if (branch, threads, replicate) == (LONGEST, 2, 0) else None


@pytest.fixture(scope="module")
def compared() -> SweepTable:
    truth = synthetic.Truth(
        branches=["master", LONGEST],
        workloads={"quicksort": 0.2},
        threads=[2, 8],
        cpus=2,
        trials=11,
        fails=fails,
    )
    return SweepTable(synthetic.swept(truth))


def test_the_table_fits_a_terminal_of_eighty_columns_and_breaks_names_at_dashes(
    compared: SweepTable,
) -> None:
    lines = compared.text(Look(80)).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert any(" split-counters-" in line for line in lines)
    assert any(line.endswith("1 of 11") for line in lines)


def test_without_a_terminal_a_row_is_a_line_and_no_colour_is_used(compared: SweepTable) -> None:
    text = compared.text(Look())
    assert sum(LONGEST in line for line in text.splitlines() if " ms " in line) == 2
    assert "\x1b" not in text


def test_a_branch_with_failed_trials_is_marked_where_colours_are_shown(
    compared: SweepTable,
) -> None:
    assert compared.text(Look(has_colour=True)).count(MAGENTA) == 1


def test_below_the_table_stand_legend_conditions_and_what_the_sweep_shows(
    compared: SweepTable,
) -> None:
    text = compared.text(Look())
    order = (
        "quicksort, size small, dynamic frequency, workers free\n",
        "\nseq.  ",
        "\n2        master ",
        "\n8*       master ",
        "time: median of the trials' medians",
        "builds:       11 of each branch\n",
        "\nNo branch differs significantly from master",
    )
    places = [text.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)


def test_markdown_has_headings_and_tables(compared: SweepTable) -> None:
    text = compared.text(Look(is_markdown=True))
    assert "## quicksort, size small" in text
    assert (
        "\n\n| threads | branch | time | ratio | CPU time | CPU ratio | speed-up | failed |\n"
        in text
    )
    assert "\n```text\nbuilds:" in text


@pytest.mark.parametrize("paced", [False, True])
def test_where_a_clock_paces_the_program_cpu_time_comes_first(*, paced: bool) -> None:
    row: dict[str, Any] = {"parameters": "", "program": "parallel", "oversubscribed": False}
    row |= dict.fromkeys(("median_ns", "cpu_ns", "ratio", "cpu_ratio"), 1.0)
    row |= {"threads": 2, "paced": paced, "speed_up": None, "failed": 0, "trials": 1}
    text = sweep_table._table([row | {"branch": name} for name in "ab"], Look())  # noqa: SLF001
    order = ["CPU time CPU ratio", "time ratio"] if paced else ["time ratio", "CPU time CPU ratio"]
    assert " ".join(text.splitlines()[0].split()) == " ".join(["threads branch", *order])


def test_a_branch_that_ran_alone_has_a_line_for_each_set_of_parameters(tmp_path: Path) -> None:
    truth = synthetic.Truth(
        branches=["master"], twin=False, workloads={"locks": 0.2}, threads=[1, 4]
    )
    folder = synthetic.write_sweep(tmp_path, truth)
    manifest = json.loads((folder / "manifest.json").read_text())
    loads = manifest["asked"]["workloads"]
    manifest["asked"]["workloads"] = [
        loads[0] | {"parameters": {"n": "1000", "lock": lock}} for lock in ("spin", "mutex")
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    lines = []
    for record in synthetic.records(truth):
        lock = "spin" if record["threads"] == 1 else "mutex"
        parameters = record["parameters"] | {"lock": lock}
        lines.append(json.dumps(record | {"parameters": parameters}) + "\n")
    (folder / "trials.jsonl").write_text("".join(lines))
    text = SweepTable(read_sweep(folder)).text(Look())
    rows = [line.split() for line in text.splitlines()]
    assert rows[1] == ["lock", "threads", "time", "CPU", "time", "speed-up"]
    assert rows[2][:2] == ["spin", "seq."]
    assert rows[3][:2] == ["spin", "1"]
    assert rows[4][:2] == ["mutex", "4"]
    assert "ratio" not in text
    assert "Which branch" not in text


def test_a_cell_that_would_end_itself_or_move_the_cursor_does_not() -> None:
    columns = [Column("branch", is_number=False)]

    def shown(cell: str) -> str:
        return table(columns, [[cell]], Look(is_markdown=True), set()).splitlines()[-1]

    assert shown("a|b") == "| a\\|b |"
    assert shown("a\nb") == "| a b |"
    assert shown("\x1b[2Jred\x07\r é") == "| \\x1b[2Jred\\x07\\x0d é |"
    assert shown("a\N{RIGHT-TO-LEFT OVERRIDE}b") == "| a\\x202eb |"


def test_a_number_keeps_the_space_before_its_unit_on_one_line() -> None:
    """An earlier version escaped the space, so one table had to replace it."""
    change = "−1.0\N{NO-BREAK SPACE}%"
    assert change in table([Column("change")], [[change]], Look(), set())


def test_stolen_time_heat_quota_and_clocks_are_counted_by_trial(tmp_path: Path) -> None:
    truth = synthetic.Truth(branches=["master", "same"], threads=[2], trials=3, fails=fails)
    folder = synthetic.write_sweep(tmp_path, truth)
    records = synthetic.records(truth)
    for record in records:
        record["process_ns"] = 1_000_000_000
    records[0]["steal_ns"] = 20_000_000
    records[1]["steal_ns"] = 9_000_000
    records[2]["throttles"] = 1
    records[3]["quota_throttled_ns"] = 5
    records[4] |= {"ghz_before": 2.1, "ghz_after": 1.9}
    records[5]["core_to_core_ns"] = 48.2
    records[6]["core_to_core_ns"] = 50.0
    # The throttles of a failed trial do not count.
    records[7] |= {"outcome": "crash", "iterations": [], "throttles": 9}
    (folder / "trials.jsonl").write_text("".join(json.dumps(it) + "\n" for it in records))
    good = len(records) - 1
    text = conditions(read_sweep(folder))
    for words in (
        "builds:       3 of each branch\n",
        "settle gap:   not recorded\n",
        f"over 1 % of the wall time in 1 of {good} trials; 0.0 s in all",
        f"slowed CPUs down in 1 of {good} trials",
        f"was used up in 1 of {good} trials",
        "1.90 to 2.10 GHz",
        "48 to 50 ns for a cache line\n",
        f"uncontrolled in {good} trials",
    ):
        assert words in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_warning_before_the_builds_stands_beside_the_results(tmp_path: Path) -> None:
    truth = synthetic.Truth(branches=["master", "same"], threads=[2], trials=3)
    folder = synthetic.write_sweep(tmp_path, truth)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["runs"] = [{}, {"warnings": ["/proc/loadavg = 5.78; other programs run"]}]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "warning:      /proc/loadavg = 5.78; other" in conditions(read_sweep(folder))


def test_of_a_simulated_machine_the_conditions_are_its_name_and_seeds() -> None:
    truth = synthetic.Truth(machine="zen", threads=[2], trials=4)
    text = conditions(synthetic.swept(truth))
    assert text.startswith(
        "simulated:    zen, synthetic\nseeds:        4 of each branch\nfrequency:"
    )
