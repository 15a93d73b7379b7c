"""Writes generated results on gains and losses of branches, of their features, and of proposals."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl

from sweep_analysis.read.committed import committed_sweeps
from sweep_analysis.read.labels import (
    QUANTITY_NAMES,
    capital,
    count,
    percent,
    with_panel,
    without_size,
)
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.read.schema import PANEL
from sweep_analysis.report.statement import Statement, host
from sweep_analysis.report.statement_tables import named
from sweep_analysis.say.comparison import (
    in_words,
    marked,
    pooled_counts,
    threads_of,
)
from sweep_analysis.stats.claims import CELL_MARGIN, MARGIN
from sweep_analysis.stats.compare import FASTER, SLOWER, UNTESTED, kind_of_cell

MIN_CHANGE = 0.005
"""Documents do not list smaller changes, which have no practical use. A program that a clock paces varies so little
that a change of 0.1 % is significant."""

RELEASE = "1.13.0"
"""The release of rayon-core on which edits were measured; the edits also have a script for upstream's main."""


_LEAST = f"{100 * MIN_CHANGE:g}\N{NO-BREAK SPACE}%"

MAX_ROWS = 6


def _parts(asked: Statement) -> str:
    """Write changes of branches against a baseline: a row for each branch, a column for each workload.

    Significant changes are bold.

    Words: `time` or `cpu`, threads or `pooled`, the baseline, and the branches; `-WORKLOAD` omits a
    workload. `pooled` pools each workload over the sweep's thread counts from 2 to the number of
    CPUs, or over other thread counts if the sweep has none of these. The caption names the counts.
    """
    quantity, threads, against, *rest = asked.words
    branches, left_out = named(rest)
    is_pooled = threads == "pooled"
    if not is_pooled and not threads.isdecimal():
        raise asked.refused(f"`{threads}` is not a number of threads", "name one, or `pooled`")
    found = without_size(with_panel(asked.comparisons)).filter(
        pl.col("level") == ("workload" if is_pooled else "cell"),
        pl.col("baseline") == against,
        pl.col("branch").is_in(branches),
        pl.col("quantity") == quantity,
        ~pl.col("workload").is_in(left_out),
    )
    if not is_pooled:
        found = found.filter(threads=int(threads))
    if found.is_empty():
        raise asked.refused(
            f"no branch is compared with `{against}` there",
            "name branches and threads of the sweep",
        )
    rows = found.rows(named=True)
    pooled = list(dict.fromkeys(threads_of(asked.comparisons, row) for row in rows))
    wide = (
        found.select("branch", "panel", pl.Series("change", list(map(marked, rows))))
        .with_columns(pl.col("branch").cast(pl.Enum(branches)))
        .sort("branch", "panel")
        .pivot("panel", index="branch", values="change", maintain_order=True)
        .with_columns(pl.col("branch").cast(pl.String))
    )
    width = f"with {' or '.join(pooled)}"
    what = QUANTITY_NAMES[quantity]
    table = asked.table(wide, f"what each branch changes in {what} against {against}, {width}")
    return f"{capital(what)} against `{against}`, {width} {asked.source()}:\n\n{table}"


def _gains_and_losses(asked: Statement) -> str:
    """List the places where a branch is significantly faster and slower, and the largest losses that are not ruled out.

    A configuration has a row of its own, unless the row of its workload pools it and has the same result.
    Words: the branch, and the baseline.
    """
    branch, against = asked.words
    own = without_size(with_panel(asked.comparisons)).filter(
        pl.col("level").is_in(["workload", "cell"]), baseline=against, branch=branch
    )
    if own.is_empty():
        raise asked.refused(
            f"`{branch}` is not compared with `{against}`",
            "name a branch and a baseline of the sweep",
        )
    sides = {
        "gains (workload on threads)": significant(own, FASTER),
        "loses": significant(own, SLOWER),
    }
    gains, loses = sides.values()
    most = max(len(gains), len(loses))
    rest = "; the table has the largest of each" if most > MAX_ROWS else ""
    told = (
        f"`{branch}` against `{against}` {asked.source()}: significant gains of {_LEAST} or more in {_places(gains)}, "
        f"losses in {_places(loses)}{rest}. A place may gain time and lose CPU time. {_non_inferior(own)}"
    )
    if not most:
        return told
    rows = pl.DataFrame(
        {side: (cells + [""] * most)[: min(most, MAX_ROWS)] for side, cells in sides.items()}
    )
    return f"{told}\n\n{asked.table(rows, f'where {branch} gains and loses')}"


def _places(cells: list[str]) -> str:
    return count(len(cells), "place") if cells else "no place"


def significant(own: pl.DataFrame, verdict: str) -> list[str]:
    """List significant changes of one branch by workload and threads, the largest change first.

    Each place lists all its quantities. In: the branch's rows of levels `workload` and `cell`, with `panel`.
    """
    said = own.filter(verdict=verdict)
    of_workload = said.filter(level="workload")
    alone = _but_pooled(said.filter(level="cell"), own, of_workload)
    return _by_place(pl.concat([of_workload, alone]), own)


def _by_place(rows: pl.DataFrame, own: pl.DataFrame) -> list[str]:
    """Write texts on `rows` by workload and threads, the largest change first. In: `own` has all rows of the branch."""
    rows = rows.filter((pl.col("time_ratio") - 1).abs() >= MIN_CHANGE)
    cells: dict[str, list[str]] = {}
    for row in rows.sort(pl.col("time_ratio").log().abs(), descending=True).rows(named=True):
        threads = ", ".join(str(number) for number in pooled_counts(own, row)[0])
        cells.setdefault(f"{row['panel']} on {threads}", []).append(in_words(row))
    return [f"{where}: {', '.join(told)}" for where, told in cells.items()]


def _but_pooled(cells: pl.DataFrame, own: pl.DataFrame, workloads: pl.DataFrame) -> pl.DataFrame:
    """The configurations that no row of `workloads` pools. In: `own` has all rows of one branch."""
    place = ["quantity", *PANEL]
    every = own.filter(pl.col("level") == "cell", ~pl.col("is_bimodal"))
    kind = kind_of_cell()
    pooled = every.filter(kind == kind.min().over(place))
    theirs = pooled.join(workloads, on=place, how="semi", nulls_equal=True)
    return cells.join(theirs, on=[*place, "threads"], how="anti", nulls_equal=True)


def _counted_once(own: pl.DataFrame) -> pl.DataFrame:
    """Remove each configuration that is the only one in the row of its workload.

    The workload's row stays, because it has the stricter margin.
    """
    workloads = own.filter(level="workload")
    alone = _but_pooled(own.filter(level="cell"), own, workloads.filter(cells=1))
    return pl.concat([workloads, alone])


def _non_inferior(own: pl.DataFrame) -> str:
    """A sentence with the number of non-inferior comparisons of one branch, and the largest possible losses.

    In: the branch's rows of levels `workload` and `cell`, with `panel`.
    """
    rows = _counted_once(own)
    number = rows.select(_is_non_inferior().sum()).item()
    margins = [f"{100 * (margin - 1):.0f}\N{NO-BREAK SPACE}%" for margin in (MARGIN, CELL_MARGIN)]
    told = (
        f"Non-inferior (margin {margins[0]} on a workload, {margins[1]} at one thread count) in {number} of "
        f"{count(rows.height, 'comparison')}"
    )
    largest = "; ".join(_largest_open(own))
    return f"{told}{'; the largest upper bounds of the rest: ' if largest else ''}{largest}."


def _is_non_inferior() -> pl.Expr:
    """Whether a row is non-inferior: its interval rules out a loss beyond the margin."""
    margin = pl.when(pl.col("level") == "cell").then(CELL_MARGIN).otherwise(MARGIN)
    is_below = (pl.col("ratio_high") < margin) & pl.col("band").is_not_null()
    return is_below.fill_null(value=False)


def _largest_open(own: pl.DataFrame) -> list[str]:
    """For each quantity, the largest loss at any thread count that is not ruled out.

    In: rows of one branch whose `level` is `workload` or `cell`, with the column `panel`.
    """
    rest = _counted_once(own).filter(~_is_non_inferior()).drop_nulls("ratio_high")
    order = rest.sort("ratio_high", descending=True)
    return [
        f"{percent(row['ratio_high'])} {name} on {row['panel']} with {threads_of(own, row)}"
        for quantity, name in QUANTITY_NAMES.items()
        for row in order.filter(quantity=quantity).head(1).rows(named=True)
    ]


def _losses(asked: Statement) -> str:
    """List the places where a branch is significantly slower, with a row per committed measured sweep.

    The function finds the sweeps by itself, so that the list is complete. A sweep of one build tests
    no branch, and has no row. Words: the branch, and the baseline.
    """
    branch, against = asked.words
    made = []
    for folder in committed_sweeps():
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        names = {entry["name"] for entry in manifest["branches"]}
        if manifest["asked"].get("machine") or not {branch, against} <= names:
            continue
        analysis = asked.analysis(folder)
        own = without_size(with_panel(analysis.decisions.comparisons)).filter(
            baseline=against, branch=branch
        )
        if own.filter(pl.col("verdict") != UNTESTED).is_empty():
            continue
        of_sweep = Statement(asked.where, asked.folder, [analysis], [])
        made.append(
            {
                "sweep": of_sweep.each_link()[0],
                "commit": f"`{manifest['checkout']['commit'][:7]}`",
                "on": host(analysis),
                f"significantly slower by {_LEAST} or more (workload on threads)": "; ".join(
                    _lost(own)
                )
                or "nowhere",
            }
        )
    if not made:
        raise asked.refused(
            f"no measured sweep compares `{branch}` with `{against}`", "name branches of sweeps"
        )
    return asked.table(pl.DataFrame(made), f"where {branch} loses, by sweep")


def _lost(own: pl.DataFrame) -> list[str]:
    """List every place in which one branch is significantly slower, the largest loss first.

    A workload's row over several configurations is listed only if none of these configurations is listed,
    because a mean hides the largest loss. The mean over all programs is listed for each thread count, unless
    that mean has only one configuration. In: rows of one branch, with `panel`.
    """
    said = own.filter(verdict=SLOWER)
    workloads = said.filter(level="workload")
    of_one = workloads.filter(cells=1)
    cells = _but_pooled(said.filter(level="cell"), own, of_one)
    means = workloads.filter(pl.col("cells") > 1).join(
        cells, on=["quantity", *PANEL], how="anti", nulls_equal=True
    )
    # The overall row repeats the row of a thread count if it pools only that count.
    over_all = (
        said.filter(pl.col("level").is_in(["overall", "threads"]), pl.col("cells") > 1)
        .unique(["quantity", "cells", "time_ratio"], keep="first", maintain_order=True)
        .with_columns(panel=pl.lit("all programs").cast(said.schema["panel"]))
    )
    return _by_place(pl.concat([cells, of_one, means, over_all]), own)


def _lines(asked: Statement) -> str:
    """Write the number of lines that a proposal adds and removes, for a cell of a table.

    Words: the proposal's folder below `findings/`; or `FOLDER/NAME`, for the edits in `findings/FOLDER/NAME.toml`.
    """
    folder, _, name = asked.words[0].partition("/")
    edits = CHECKOUT / "findings" / folder / f"{name or 'edits'}.toml"
    return lines_of(edits)


def lines_of(edits: Path) -> str:
    """Count the lines that edits of `RELEASE` add and remove, separately for code and tests: `+14 −1 lines, tests +46`.

    `cargo xtask test --only findings` compares the numbers of each `edits.toml` with a line diff of the edited files.
    """
    of_code, of_tests = [0, 0], [0, 0]
    for script in tomllib.loads(edits.read_text(encoding="utf-8"))["file"]:
        if RELEASE not in script["sha256"]:
            continue
        path = script["path"]
        is_test = path.startswith("tests/") or path.endswith("/test.rs")
        for edit in script["edit"]:
            added = edit["text"].splitlines()
            first, _, last = edit.get("lines", "1-0").partition("-")
            counts = of_tests if is_test or "#[cfg(test)]" in added[:2] else of_code
            counts[0] += len(added)
            counts[1] += int(last or first) - int(first) + 1
    tests = _signed(of_tests)
    return f"{_signed(of_code)} lines" + (f", tests {tests}" if tests else "")


def _signed(counts: list[int]) -> str:
    """Format numbers of added and removed lines, without zeros: `+13 −1`."""
    signs = zip("+−", counts, strict=True)
    return " ".join(f"{sign}{number}" for sign, number in signs if number)


GAINS: dict[str, Callable[[Statement], str]] = {
    "parts": _parts,
    "balance": _gains_and_losses,
    "losses": _losses,
    "lines": _lines,
}
