"""Fills the statements of a Markdown file from committed sweeps, so that nobody types a measured number.

A statement stands between `<!-- analysis: KIND SWEEP … -->` and `<!-- /analysis -->`; everything between the two is
written here. `KIND` is one of `KINDS`, `SWEEP` a name below `results/sweeps` or the beginning of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import count, percent, with_panel
from sweep_analysis.read.load import CHECKOUT, find_sweep, read_sweep
from sweep_analysis.say import tables
from sweep_analysis.say.advice import advice
from sweep_analysis.stats.calibration import ANSWERS, EQUAL, OFF, calibration
from sweep_analysis.stats.judgement import FIGURE_NAMES, Judgement, headline, judged_of
from sweep_analysis.stats.placements import placement_table, placements
from sweep_analysis.stats.speedup import trial_times

_STATEMENT = re.compile(r"(<!-- analysis: (?P<words>[^>]*?) -->\n)(?P<text>.*?)(<!-- /analysis -->)", re.DOTALL)


def filled(file: Path) -> str:
    """The text of `file` with all its statements made anew.

    Raises:
        InputError: a statement is of no known kind, or its sweep cannot be read.
    """
    judgements: dict[Path, Judgement] = {}

    def statement(found: re.Match[str]) -> str:
        words = found["words"].split()
        kind, rest = words[0] if words else "", words[2:]
        if kind not in KINDS or len(words) < 2:  # noqa: PLR2004 - the kind and its sweep
            where = f"{file}: statement `{found['words']}`"
            raise InputError(where, f"unknown kind `{kind}`, or no sweep", f"known: {', '.join(KINDS)}")
        folder = find_sweep(Path(words[1]))
        if folder not in judgements:
            judgements[folder] = judged_of(read_sweep(folder))
        return f"{found[1]}{KINDS[kind](judgements[folder], rest).strip()}\n{found[4]}"

    return _STATEMENT.sub(statement, file.read_text(encoding="utf-8"))


def _verdict(judgement: Judgement, _: list[str]) -> str:
    """What the sweep says of the branches, and which to merge."""
    said, answer = headline(judgement), advice(judgement).answer
    return said if said in answer or said.removesuffix(".") in answer else f"{said} Which to merge? {answer}"


def _sensitivity(judgement: Judgement, _: list[str]) -> str:
    """A row a workload: the largest change seen, the A/A band, what would have been found."""
    rows = judgement.rows.filter(pl.col("figure") == "time", pl.col("level") != "cell")
    made = []
    for part in rows.partition_by("panel", maintain_order=True):
        furthest = part.sort(pl.col("time_ratio").log().abs(), descending=True).row(0, named=True)
        detectable = part["detectable"].median()
        made.append(
            {
                "workload": furthest["panel"] or "all together",
                "largest change": f"{percent(furthest['time_ratio'])} ({furthest['branch']})",
                "A/A band": f"±{(furthest['band'] - 1) * 100:.1f} %" if furthest["band"] else "unknown",
                "found four times in five": f"from {(detectable - 1) * 100:.1f} %"
                if isinstance(detectable, float)
                else "not judged",
            }
        )
    return tables.markdown(pl.DataFrame(made))


def _calibration(judgement: Judgement, words: list[str]) -> str:
    """A row a figure: the geometric mean of a branch over the baseline, and how many cells are equal."""
    branch = words[0] if words else "packed"
    times = trial_times(judgement.sweep).collect().lazy()
    made = []
    for figure in ("time", "cpu"):
        found = calibration(times, str(judgement.baseline), branch, figure)
        if found is None:
            raise InputError(judgement.sweep.path, f"`{branch}` shares no cell with the baseline", "name another")
        mean = found.mean.row(0, named=True)
        answers = {answer: str(found.cells.filter(answer=answer).height) for answer in ANSWERS}
        interval = f"{percent(mean['equal_low'])} to {percent(mean['equal_high'])}"
        told = {
            "figure": FIGURE_NAMES[figure],
            "geometric mean": percent(mean["time_ratio"]),
            "90 % interval": interval,
        }
        made.append(told | {"is": mean["answer"]} | {f"cells {answer}": number for answer, number in answers.items()})
    return tables.markdown(pl.DataFrame(made))


def _yardstick(judgement: Judgement, words: list[str]) -> str:
    """A row a sweep, this one and those named: `packed` over the baseline, and the cells that are not equal."""
    made = []
    for each in [judgement, *(judged_of(read_sweep(find_sweep(Path(name)))) for name in words)]:
        times = trial_times(each.sweep).collect().lazy()
        row = {"sweep": f"`{each.sweep.path.name[:18]}`"}
        for figure, name in (("time", "time"), ("cpu", "CPU time")):
            found = calibration(times, str(each.baseline), "packed", figure)
            if found is None:
                raise InputError(each.sweep.path, "`packed` shares no cell with the baseline", "name another sweep")
            mean = found.mean.row(0, named=True)
            interval = f"{percent(mean['equal_low'])} to {percent(mean['equal_high'])}"
            row[f"{name}: geometric mean (90 % interval)"] = (
                f"{percent(mean['time_ratio'])} ({interval}), {mean['answer']}"
            )
            off = with_panel(found.cells.filter(answer=OFF))
            cells = [f"{it['panel']} on {it['threads']}: {percent(it['time_ratio'])}" for it in off.rows(named=True)]
            equal, told = found.cells.filter(answer=EQUAL).height, "; ".join(cells) or "none"
            row[f"{name}: cells equal, off"] = f"{equal} of {found.cells.height}, {told}"
        made.append(row)
    return tables.markdown(pl.DataFrame(made))


def _changes(judgement: Judgement, words: list[str]) -> str:
    """Rows of branches on one workload, or on all together (`all`): change, interval, band and verdict.

    Words: the workload, what the branches are compared with, and the branches.
    """
    workload, against, *branches = words
    place = pl.col("level") == "overall" if workload == "all" else pl.col("level") == "workload"
    rows = with_panel(
        judgement.comparisons.filter(place, pl.col("baseline") == against, pl.col("branch").is_in(branches))
    )
    if workload != "all":
        rows = rows.filter(workload=workload)
    if rows.is_empty():
        where = f"{judgement.sweep.path}: statement `changes … {' '.join(words)}`"
        raise InputError(where, f"nothing is compared with `{against}` there", "name a workload and branches it has")
    order = pl.Enum(branches)
    shown = rows.with_columns(pl.col("branch").cast(order)).sort("branch", pl.col("figure") == "cpu")
    made = [
        {
            "branch": row["branch"],
            "workload": row["panel"] or "all together",
            "figure": FIGURE_NAMES[row["figure"]],
            f"against {against}": percent(row["time_ratio"]),
            "95 % interval": "none"
            if row["ratio_low"] is None
            else f"{percent(row['ratio_low'])} to {percent(row['ratio_high'])}",
            "A/A band": f"±{(row['band'] - 1) * 100:.1f} %" if row["band"] else "unknown",
            "verdict": row["verdict"],
        }
        for row in shown.rows(named=True)
    ]
    return tables.markdown(pl.DataFrame(made))


def _placements(judgement: Judgement, words: list[str]) -> str:
    """A row a workload and figure at a number of threads: what pinning changes, all branches together.

    Words: the threads.
    """
    placed = placements(judgement.sweep, trial_times(judgement.sweep).collect())
    shown = placed.filter(pl.col("level") == "workload", pl.col("threads") == int(words[0]))
    table = placement_table(shown).select(
        "workload", "figure", "pinned", "from", "to", pl.col("moved").alias("certain")
    )
    return tables.markdown(table)


def _trials(judgement: Judgement, _: list[str]) -> str:
    """How many trials, failures, branches, workloads and layouts the sweep has."""
    sweep = judgement.sweep
    trials, failed = sweep.trials.select(pl.len(), (pl.col("outcome") != "ok").sum().alias("failed")).collect().row(0)
    workloads = sweep.trials.select(pl.col("workload").n_unique()).collect().item()
    branches = count(len(sweep.branches), "branch", "branches")
    what = f"{count(workloads, 'workload')}, {branches}, {count(trials, 'trial')}, {failed or 'none'} failed"
    return f"{what}; each branch in {count(sweep.layouts, 'build')}."


KINDS: dict[str, Callable[[Judgement, list[str]], str]] = {
    "verdict": _verdict,
    "sensitivity": _sensitivity,
    "calibration": _calibration,
    "yardstick": _yardstick,
    "changes": _changes,
    "placements": _placements,
    "trials": _trials,
}

FILES = [CHECKOUT / name for name in ("README.md", "rayon-fork/README.md", "rayon-fork/src/sleep/README.md")]
"""The files that have statements."""
