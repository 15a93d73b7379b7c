"""Writes generated results on hangs, and any table of a sweep."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from sweep_analysis.read.labels import count
from sweep_analysis.report.statement import Statement, moment
from sweep_analysis.say import tables
from sweep_analysis.stats.analysis import FRAMES
from sweep_analysis.stats.hangs import hangs


def _hangs(asked: Statement) -> str:
    """Write a row per branch: the thread that fences for a push, and for each sweep the hung runs and the finished work.

    Words: the branches; without words, all branches. The word `brief` requests a short text on one
    branch in all sweeps together, for a cell of a table.
    """
    branches = [word for word in asked.words if word != "brief"]
    each = {moment(analysis): hangs(analysis.sweep) for analysis in asked.sweeps}
    every = pl.concat(each.values())
    if branches and not (every := every.filter(pl.col("branch").is_in(branches))).height:
        raise asked.refused(f"no run of `{branches[0]}`", "name a branch of the sweeps")
    if "brief" in asked.words:
        return _hung_in(every)
    made: dict[str, dict[str, str]] = {}
    for name, rows in each.items():
        for row in rows.join(every, on="branch", how="semi", maintain_order="left").rows(
            named=True
        ):
            of_branch = {"branch": row["branch"], "fence by": row["fenced_by"]}
            of_branch = made.setdefault(row["branch"], of_branch)
            runs, units = row["runs"], f"{row['units'] / 1e6:.1f} million {row['unit']}"
            of_branch[f"hung, `{name}`"] = f"{row['hung']} of {runs} runs, {units}"
    shown = pl.DataFrame(list(made.values()), infer_schema_length=None).fill_null("not measured")
    aside = int(every["set_aside"].sum())
    left_out = (
        f"The table leaves out {count(aside, 'run')} of unknown work, which timed out or failed.\n"
    )
    table = asked.table(shown, "how often each branch hung")
    return f"{table}\n{left_out}" if aside else table


def _hung_in(rows: pl.DataFrame) -> str:
    """The number of runs that hung, as text. In: rows of `frames.HANGS`."""
    hung, runs, units = (int(rows[name].sum()) for name in ("hung", "runs", "units"))
    often = (
        f"hung in {hung} of {count(runs, 'run')}" if hung else f"hung in 0 of {count(runs, 'run')}"
    )
    return f"{often}, in {units / 1e6:.1f} million {rows['unit'].drop_nulls()[0]}"


def _table(asked: Statement) -> str:
    """Write a table of the sweep, as `cargo runner analysis table` prints it for people.

    Words: the table's name, `COLUMN=VALUE` for the rows, and `first=N` for only the first rows.
    """
    name, *conditions = asked.words
    if name not in FRAMES:
        raise asked.refused(f"no table `{name}`", f"name one of {', '.join(FRAMES)}")
    frame = asked.sweep.frame(name)
    where = dict(condition.split("=", 1) for condition in conditions)
    first = int(where.pop("first", frame.height))
    rows = frame.filter(pl.col(column).cast(pl.String) == value for column, value in where.items())
    if rows.is_empty():
        raise asked.refused(f"`{name}` has no such row", "see `cargo runner analysis table`")
    shown = tables.for_people(asked.sweep, name, rows.head(first))
    same = [it.name for it in shown if it.n_unique() == 1 and shown.height > 1]
    told = asked.table(shown.drop(same), f"{name} of the sweep")
    return f"{told.rstrip()}\n\n{_rows_of(asked, where)}\n"


def _rows_of(asked: Statement, where: dict[str, str]) -> str:
    only = ", ".join(f"{column} {value}" for column, value in where.items())
    return f"Rows with {only} of {asked.sources()}." if only else f"Of {asked.sources()}."


COUNTS: dict[str, Callable[[Statement], str]] = {"hangs": _hangs, "table": _table}
