"""Statements that set many cells side by side: times by threads, and what parts and proposals change."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, capital, count, percent, with_panel, without_size
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.report.asked import Asked
from sweep_analysis.say.averages import pooled_threads
from sweep_analysis.stats.claims import CELL_MARGIN, MARGIN
from sweep_analysis.stats.compare import FASTER, SLOWER, UNCLEAR, UNJUDGED
from sweep_analysis.stats.thread_times import COLUMNS, thread_times

LEAST_TOLD = 0.005
"""Change below which no document tells a difference. A program that a clock paces varies so little that the judge can
tell a thousandth from noise, which is of no use to anybody."""


def named(words: list[str]) -> tuple[list[str], list[str]]:
    """The branches that words name, and the workloads that they leave out."""
    return [word for word in words if not word.startswith("-")], [word[1:] for word in words if word.startswith("-")]


def _by_threads(asked: Asked) -> str:
    """Median times in µs: a row for each workload and branch, a column for each number of threads.

    Words: `time` or `cpu`, and the branches; `-WORKLOAD` leaves out a workload.
    """
    quantity, *rest = asked.words
    branches, left_out = named(rest)
    times = without_size(with_panel(thread_times(asked.sweep.times.lazy()))).filter(
        pl.col("branch").is_in(branches), ~pl.col("workload").is_in(left_out)
    )
    if quantity not in COLUMNS or times.is_empty():
        raise asked.refused("nothing to show", "name `time` or `cpu`, and branches of the sweep")
    threads = [str(number) for number in sorted(times["threads"].unique())]
    rows = (
        times.with_columns(
            pl.col(COLUMNS[quantity]).round(0).cast(pl.Int64).alias("us"), pl.col("branch").cast(pl.Enum(branches))
        )
        .sort("panel", "branch", "threads")
        .pivot("threads", index=["panel", "branch"], values="us", maintain_order=True)
    )
    shown = rows.select(pl.col("panel").alias("workload"), pl.col("branch").cast(pl.String), *threads)
    what = QUANTITY_NAMES[quantity]
    table = asked.table(shown, f"{what} by threads of {' and '.join(branches)}")
    return f"{capital(what)} in µs by threads, medians {asked.source()}:\n\n{table}"


def _parts(asked: Asked) -> str:
    """What branches change against one of them: a row a branch, a column a workload. Bold is what the judge calls so.

    Words: `time` or `cpu`, threads or `all`, the baseline, and the branches; `-WORKLOAD` leaves out a workload.
    """
    quantity, threads, against, *rest = asked.words
    branches, left_out = named(rest)
    found = without_size(with_panel(asked.sweep.judgement.comparisons)).filter(
        pl.col("level") == ("workload" if threads == "all" else "cell"),
        pl.col("baseline") == against,
        pl.col("branch").is_in(branches),
        pl.col("quantity") == quantity,
        ~pl.col("workload").is_in(left_out),
    )
    if threads != "all":
        found = found.filter(threads=int(threads))
    if found.is_empty():
        raise asked.refused(f"nothing is compared with `{against}` there", "name branches and threads that it has")
    wide = (
        found.select("branch", "mode", "panel", pl.Series("change", [_change(row) for row in found.rows(named=True)]))
        .with_columns(pl.col("branch").cast(pl.Enum(branches)))
        .sort("branch", "mode", "panel")
        .pivot("panel", index=["branch", "mode"], values="change", maintain_order=True)
        .with_columns(pl.col("branch").cast(pl.String))
    )
    if found["mode"].n_unique() == 1:
        wide = wide.drop("mode")
    width = "all threads together" if threads == "all" else f"on {count(int(threads), 'thread')}"
    what = QUANTITY_NAMES[quantity]
    table = asked.table(wide, f"what each branch changes in {what} against {against}, {width}")
    return f"{capital(what)} against `{against}`, {width} {asked.source()}:\n\n{table}"


def _change(row: dict[str, Any]) -> str:
    told = percent(row["time_ratio"])
    return told if row["verdict"] in (UNCLEAR, UNJUDGED) else f"**{told}**"


def _judged(asked: Asked) -> str:
    """The workloads of which the judge says one thing of a branch, and thread counts where it says so of these alone.

    Words: the branch, what it is compared with, and the verdict: `faster` or `slower`.
    """
    branch, against, verdict = asked.words
    own = without_size(with_panel(asked.sweep.judgement.comparisons)).filter(
        pl.col("level").is_in(["workload", "cell"]), baseline=against, branch=branch
    )
    said = own.filter(verdict=verdict)
    place = ["panel", "quantity"]
    rows = pl.concat(
        [
            said.filter(level="workload"),
            said.filter(level="cell").join(said.filter(level="workload"), on=place, how="anti"),
        ]
    )
    told = rows.filter((pl.col("time_ratio") - 1).abs() >= LEAST_TOLD)
    small = rows.height - told.height
    least = f"{100 * LEAST_TOLD:g}\N{NO-BREAK SPACE}%"
    left_out = f"; {count(small, f'change under {least} is', f'changes under {least} are')} left out" if small else ""
    excluded = _excluded(own) if verdict == SLOWER else ""
    if told.is_empty():
        return f"`{branch}` is told to be {verdict} than `{against}` nowhere{left_out} {asked.source()}.{excluded}"
    shown = told.sort("time_ratio", descending=verdict == SLOWER).rows(named=True)
    comparisons = asked.sweep.judgement.comparisons
    changes = pl.DataFrame(
        {
            "workload": [row["panel"] for row in shown],
            "threads": [
                str(row["threads"] or pooled_threads(comparisons, row).partition(" thread")[0]) for row in shown
            ],
            "quantity": [QUANTITY_NAMES[row["quantity"]] for row in shown],
            "change": [percent(row["time_ratio"]) for row in shown],
            "95 % interval": [f"{percent(row['ratio_low'])} to {percent(row['ratio_high'])}" for row in shown],
        }
    )
    table = asked.table(changes, f"where {branch} is {verdict} than {against}")
    told_where = f"`{branch}` is {verdict} than `{against}` here{left_out} {asked.source()}."
    return f"{told_where}{excluded}\n\n{table}"


def _excluded(rows: pl.DataFrame) -> str:
    """Of how many comparisons of one branch a loss is excluded, and how large one may be elsewhere.

    In: its rows of workloads and cells, with `panel`.
    """
    margin = pl.when(pl.col("level") == "cell").then(CELL_MARGIN).otherwise(MARGIN)
    is_excluded = (pl.col("ratio_high") < margin) & pl.col("band").is_not_null()
    number = rows.select(is_excluded.sum()).item()
    margins = f"{100 * (MARGIN - 1):.0f} and {100 * (CELL_MARGIN - 1):.0f}\N{NO-BREAK SPACE}%"
    told = (
        f" A loss beyond {margins} (of a workload, of one at some thread count) is excluded in {number} of "
        f"{count(rows.height, 'comparison')}"
    )
    rest = rows.filter(~is_excluded.fill_null(value=False)).drop_nulls("ratio_high")
    for quantity, name in QUANTITY_NAMES.items():
        for row in rest.filter(quantity=quantity).sort("ratio_high", descending=True).head(1).rows(named=True):
            threads = f", {count(row['threads'], 'thread')}" if row["threads"] else ""
            told += f"; not excluded: {percent(row['ratio_high'])} {name} on {row['panel']}{threads}"
    return f"{told}."


def _proposals(asked: Asked) -> str:
    """What each branch with edits gains against the baseline, and the largest loss that is not excluded: a row each.

    No words. Lines are those of our text without comments, by the edits as they are now.
    """
    judgement = asked.sweep.judgement
    sources = {entry["name"]: entry.get("source", {}) for entry in asked.sweep.sweep.manifest["branches"]}
    rows = without_size(with_panel(judgement.comparisons)).filter(baseline=judgement.baseline)
    workloads = rows.filter(level="workload")
    made = []
    for branch, source in sources.items():
        own = workloads.filter(branch=branch)
        if source.get("kind") != "edited" or own.is_empty():
            continue
        overall = {row["quantity"]: row for row in rows.filter(level="overall", branch=branch).rows(named=True)}
        worst = own.sort("ratio_high", descending=True).row(0, named=True)
        gains = own.filter(verdict=FASTER).sort("time_ratio").head(1).rows(named=True)
        made.append(
            {
                "proposal": f"[`{branch}`]({asked.link(CHECKOUT / source['edits'])})",
                "lines": own_lines(CHECKOUT / source["edits"]),
                **{QUANTITY_NAMES[name]: _with_interval(row) for name, row in sorted(overall.items(), reverse=True)},
                "gains most": "; ".join(f"{percent(row['time_ratio'])} {_on(row)}" for row in gains) or "nothing told",
                "may lose at most": f"{percent(worst['ratio_high'])} {_on(worst)}",
            }
        )
    if not made:
        raise asked.refused("no branch has edits", "name a sweep of the experiment `upstream`")
    return f"Against `{judgement.baseline}` {asked.source()}:\n\n{asked.table(pl.DataFrame(made), 'proposals')}"


def own_lines(edits: Path) -> int:
    """Lines of code in the text of edits."""
    changes = tomllib.loads(edits.read_text(encoding="utf-8"))["edit"]
    texts = [change.get(key, "") for change in changes for key in ("replace", "before", "after")]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def _with_interval(row: dict[str, Any]) -> str:
    return f"{_change(row)} ({percent(row['ratio_low'])} to {percent(row['ratio_high'])})"


def _on(row: dict[str, Any]) -> str:
    return f"of {QUANTITY_NAMES[row['quantity']]} on {row['panel']}"


TABLES: dict[str, Callable[[Asked], str]] = {
    "by-threads": _by_threads,
    "parts": _parts,
    "judged": _judged,
    "proposals": _proposals,
}
"""These statements, by kind."""
