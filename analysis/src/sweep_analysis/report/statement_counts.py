"""Statements on hangs, writes and waits: what is told beside the times of branches."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import capital, count, with_panel
from sweep_analysis.read.schema import PANEL
from sweep_analysis.report.asked import Asked, moment
from sweep_analysis.report.code import line_at
from sweep_analysis.say.placements import placement_table
from sweep_analysis.stats.events import writes_per_push
from sweep_analysis.stats.hangs import hangs
from sweep_analysis.stats.simulated import line_wait_rates


def _hung(asked: Asked) -> str:
    """How many runs hung in how much work, in all sweeps together.

    Words: a branch, or none for all by who fences.
    """
    rows = pl.concat(hangs(analysis.sweep) for analysis in asked.sweeps)
    if asked.words:
        rows = rows.filter(pl.col("branch").is_in(asked.words))
        if rows.is_empty():
            raise asked.refused(f"no run of `{asked.words[0]}`", "name a branch of the sweeps")
        told = f"`{asked.words[0]}` {_hung_in(rows)}"
    else:
        told = "; ".join(
            f"where {part['fenced_by'][0]} fences, {count(part['branch'].n_unique(), 'branch', 'branches')} "
            f"{_hung_in(part)}"
            for part in rows.partition_by("fenced_by", maintain_order=True)
        )
    aside = int(rows["set_aside"].sum())
    left_out = (
        f" {count(aside, 'other run')} ran out of time or failed, and "
        f"{'is' if aside == 1 else 'are'} left out: how much work was done is unknown."
    )
    return f"{capital(told)} {asked.source()}.{left_out if aside else ''}"


def _often(asked: Asked) -> str:
    """How many runs of a branch hung, for a cell of a table. Words: the branch."""
    rows = pl.concat(hangs(analysis.sweep) for analysis in asked.sweeps)
    return _hung_in(rows.filter(branch=asked.words[0]))


def _hangs(asked: Asked) -> str:
    """A row a branch: who fences for a push, how many runs hung, and in how much finished work, for each sweep.

    Words: the branches; none: all.
    """
    made: dict[str, dict[str, str]] = {}
    for analysis in asked.sweeps:
        for row in hangs(analysis.sweep).rows(named=True):
            if asked.words and row["branch"] not in asked.words:
                continue
            of_branch = made.setdefault(
                row["branch"], {"branch": row["branch"], "who fences": row["fenced_by"]}
            )
            runs, units = row["runs"], f"{row['units'] / 1e6:.1f} million {row['unit']}"
            of_branch[f"hung, `{moment(analysis)}`"] = f"{row['hung']} of {runs} runs, {units}"
    rows = pl.DataFrame(list(made.values()), infer_schema_length=None).fill_null("not measured")
    return asked.table(rows, "how often each branch hung")


def _hung_in(rows: pl.DataFrame) -> str:
    """In: rows of `frames.HANGS`."""
    hung, runs, units = (int(rows[name].sum()) for name in ("hung", "runs", "units"))
    often = (
        f"hung in {hung} of {count(runs, 'run')}"
        if hung
        else f"hung in none of {count(runs, 'run')}"
    )
    return f"{often}, in {units / 1e6:.1f} million {rows['unit'].drop_nulls()[0]}"


def _writes(asked: Asked) -> str:
    """A row a workload: how often the line that every push reads is written, for each push.

    Words: the threads, and the branches.
    """
    threads, *branches = asked.words
    rows = with_panel(writes_per_push(asked.sweep.sweep)).filter(pl.col("threads") == int(threads))
    wide = rows.pivot("branch", index="panel", values="writes_per_push")
    if missing := [name for name in branches if name not in wide.columns]:
        raise asked.refused(
            f"`{missing[0]}` was not counted on {count(int(threads), 'thread')}",
            "name branches and threads it has",
        )
    names = {name: f"{name}, writes per push" for name in branches}
    shown = [
        pl.col(name).map_elements(_two_digits, return_dtype=pl.String).alias(told)
        for name, told in names.items()
    ]
    holds = f"writes per push on {count(int(threads), 'thread')}"
    return asked.table(wide.select(pl.col("panel").alias("workload"), *shown), holds)


def _two_digits(value: float) -> str:
    """A number below one with two digits, without an exponent."""
    return f"{value:.{1 - math.floor(math.log10(value))}f}" if value > 0 else "0"


def _waits(asked: Asked) -> str:
    """The source lines that waited longest on a simulated machine, a row for each.

    With the code of the sweep's commit.

    Words: workload, threads, branch, and how many rows.
    """
    workload, threads, branch, most = asked.words
    cell = {"workload": workload, "threads": int(threads), "branch": branch}
    rates = asked.of_mode(line_wait_rates(asked.sweep.sweep)).filter(**cell)
    if rates.select(PANEL).n_unique() != 1:
        raise asked.refused(
            f"no single cell of `{branch}` on {count(int(threads), 'thread')}",
            "name one, and `fixed` or `dynamic`; of several configurations none can be named",
        )
    commit = asked.sweep.sweep.manifest["checkout"]["commit"]
    made = []
    for part in rates.partition_by("at", maintain_order=True):
        known = part["written_at"].drop_nulls().head(2)
        writers = [
            name
            for at in known
            for name in ([at] if at.startswith("(") else line_at(commit, at).functions)
        ]
        line = line_at(commit, part["at"][0])
        made.append(
            {
                "who waits": _names(line.functions),
                "line": line.place,
                "code": f"`{line.text}`" if line.text else "of the crate",
                "for what was written by": _names(writers) or "nobody",
                "of waiting": _share(float(part["share"].sum())),
                "of all time": _share(float(part["core_share"].sum())),
                "share": part["share"].sum(),
            }
        )
    rows = (
        pl.DataFrame(made)
        .sort("share", descending=True, maintain_order=True)
        .head(int(most))
        .drop("share")
    )
    where = f"{workload} on {count(int(threads), 'thread')}"
    table = asked.table(rows, f"the source lines of {branch} that wait longest in {where}")
    return f"Where `{branch}` waits in `{workload}` on {count(int(threads), 'thread')} {asked.source()}:\n\n{table}"


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _share(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _placements(asked: Asked) -> str:
    """The effect of pinning, over all branches together.

    A row for each workload and quantity, at one number of threads.

    Words: the threads.
    """
    placed, threads = asked.sweep.placements, int(asked.words[0])
    shown = placed.filter(pl.col("level") == "workload", pl.col("threads") == threads)
    table = placement_table(shown).select(
        "workload", "quantity", "pinned", "from", "to", pl.col("moved").alias("certain")
    )
    return asked.table(table, f"what pinning changes on {count(threads, 'thread')}")


COUNTS: dict[str, Callable[[Asked], str]] = {
    "hung": _hung,
    "often": _often,
    "hangs": _hangs,
    "writes": _writes,
    "waits": _waits,
    "placements": _placements,
}
"""These statements, by kind."""
