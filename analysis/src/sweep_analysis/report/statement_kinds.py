"""Lists the kinds of generated results: each kind writes a sentence, a table or a picture from committed sweeps.

Each `statement_….py` in this folder has kinds on one topic; this file has the other kinds, and the list.
A sentence ends with its provenance: the sweep, as a link, and the host. A table needs a result of the kind
`evidence` in the same document.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache

import polars as pl

from sweep_analysis.read.labels import capital, count, listed
from sweep_analysis.read.load import CHECKOUT, Sweep
from sweep_analysis.read.schema import TWIN_SUFFIX
from sweep_analysis.report import hosts
from sweep_analysis.report.statement import Made, Statement, host
from sweep_analysis.report.statement_box import BOXES
from sweep_analysis.report.statement_changes import CHANGES
from sweep_analysis.report.statement_counts import COUNTS
from sweep_analysis.report.statement_gains import GAINS
from sweep_analysis.report.statement_predictions import PREDICTIONS
from sweep_analysis.report.statement_tables import TABLES
from sweep_analysis.report.statement_users import forest_of, host_cost
from sweep_analysis.report.statement_validation import VALIDATIONS
from sweep_analysis.say import tables
from sweep_analysis.say.comparison import counted_once
from sweep_analysis.stats.compare import UNCLEAR, UNTESTED, WAITS

_PROGRAMS = ("workloads/workloads.toml", "workloads/programs/programs.toml")
"""The files that list all programs."""


def _evidence(asked: Statement) -> str:
    """Write a row per sweep: its host, commit, builds and trials, and the command that repeats the sweep."""
    rows = []
    for analysis in asked.sweeps:
        sweep = analysis.sweep
        every = pl.concat([sweep.trials, sweep.counted])
        trials, failed = (
            every.select(pl.len(), (pl.col("outcome") != "ok").sum().alias("failed"))
            .collect()
            .row(0)
        )
        unit = "seed" if sweep.machine else "build"
        of_sweep = Statement(asked.where, asked.folder, [analysis], [])
        rows.append(
            {
                "sweep": of_sweep.each_link()[0],
                "on": host(analysis),
                "commit": f"`{sweep.manifest['checkout']['commit'][:7]}`",
                "each branch in": count(sweep.layouts, unit),
                "trials": f"{trials}{f', {failed} failed' if failed else ''}",
                "command": _command(sweep),
            }
        )
    return tables.markdown(pl.DataFrame(rows))


def _command(sweep: Sweep) -> str:
    """Write the command that repeats a sweep.

    If the sweep has one build per branch, the command gets `--layouts 1`, which was the default earlier. If a
    file, a branch or a program of the command no longer exists, the text adds the sweep's commit.
    """
    words = ["cargo", "runner", *sweep.manifest["command_line"]]
    if "--shard" in words:  # The command is that of one part of the sweep.
        for option in ("--shard", "--output"):
            place = words.index(option) if option in words else len(words)
            del words[place : place + 2]
    words += (
        [] if sweep.machine or sweep.layouts > 1 or "--layouts" in words else ["--layouts", "1"]
    )
    is_gone = any(word.endswith(".toml") and not (CHECKOUT / word).exists() for word in words)
    branches = {name.split("-without-")[0].removesuffix(TWIN_SUFFIX) for name in sweep.branches}
    programs = set(sweep.trials.select("workload").unique().collect()["workload"])
    is_gone |= not (branches <= _names("branches.toml") and programs <= _names(*_PROGRAMS))
    at = f", at `{sweep.manifest['checkout']['commit'][:12]}`" if is_gone else ""
    return f"`{' '.join(words)}`{at}"


@cache
def _names(*files: str) -> frozenset[str]:
    read = [tomllib.loads((CHECKOUT / file).read_text(encoding="utf-8")) for file in files]
    tables = [
        table for file in read for rows in file.values() if isinstance(rows, list) for table in rows
    ]
    return frozenset(table["name"] for table in tables)


def _tally(asked: Statement) -> str:
    """Write a sentence with the number of significant comparisons with the baseline; `brief` fits a cell of a table."""
    decisions = asked.sweep.decisions
    rows = counted_once(decisions.rows.filter(pl.col("verdict") != UNTESTED))
    if asked.words == ["brief"]:
        return _told(rows)
    claims = rows.filter(pl.col("verdict") != UNCLEAR)
    branches = count(rows["branch"].n_unique(), "branch", "branches")
    workloads = count(
        decisions.sweep.trials.select(pl.col("workload").n_unique()).collect().item(), "program"
    )
    names = [f"`{name}`" for name in dict.fromkeys(claims["workload"].drop_nulls())]
    overall = claims["workload"].null_count()
    where = [f"{overall or 'none'} over all programs together"] if claims.height else []
    where += [f"{claims.height - overall} on {listed(names)}"] if names else []
    has_latency = rows["quantity"].is_in(WAITS).any()
    quantities = "wall time, CPU time and latency" if has_latency else "wall and CPU time"
    told = ": ".join([_told(rows), *([", ".join(where)] if where else [])])
    return f"{capital(branches)} against `{decisions.baseline}` on {workloads}, {quantities}: {told} {asked.source()}."


def _told(rows: pl.DataFrame) -> str:
    claims = rows.filter(pl.col("verdict") != UNCLEAR).height
    verb = "is" if claims == 1 else "are"
    return f"{claims} of {count(rows.height, 'comparison')} {verb} significant"


def _hosts(asked: Statement) -> str:
    """Write the results of all hosts in `results/hosts`, one row per host; the comment names no sweep."""
    return hosts.table(hosts.HOSTS, asked.analysis, asked.link)


_TEXTS: dict[str, Callable[[Statement], str]] = {
    "evidence": _evidence,
    "tally": _tally,
    "hosts": _hosts,
    "host-cost": host_cost,
    **BOXES,
    **CHANGES,
    **COUNTS,
    **GAINS,
    **PREDICTIONS,
    **TABLES,
    **VALIDATIONS,
}


def _without_pictures(make: Callable[[Statement], str]) -> Callable[[Statement], Made]:
    return lambda asked: (make(asked), {})


KINDS: dict[str, Callable[[Statement], Made]] = {
    **{name: _without_pictures(make) for name, make in _TEXTS.items()},
    "forest": forest_of,
}
"""The functions by kind. The docstring of a function explains the words that follow the sweeps in a comment."""

WITHOUT_BOX = {"evidence", "validated", "published"}
"""Kinds that may be about one simulated machine: `evidence` states no size, the others compare sizes with measurements."""

TABLES_WITHOUT_BOX = {"box-waits", "line-waits", "spent"}
"""Tables of simulations that need no statement over a box: source lines that wait, and activities of cores."""

WITHOUT_SWEEPS = {"hosts", "host-cost", "lines", "losses", "predictions"}
"""Kinds that find their sweeps by themselves."""
