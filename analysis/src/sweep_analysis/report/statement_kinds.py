"""The kinds of statements: each makes one sentence, one table or one picture of committed sweeps.

Those that are about one thing stand together in a `statement_….py` beside this file; here are the others, and the list.
Sentences end with where the number is from: the sweep, as a link, and its host. Tables stand beside an `evidence`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import polars as pl

from sweep_analysis.draw import svg
from sweep_analysis.read.labels import capital, count, ranges
from sweep_analysis.read.load import CHECKOUT, Sweep
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.report import hosts
from sweep_analysis.report.asked import Asked, Made, host, moment
from sweep_analysis.report.figures import figures
from sweep_analysis.report.statement_changes import CHANGES
from sweep_analysis.report.statement_counts import COUNTS
from sweep_analysis.report.statement_tables import TABLES
from sweep_analysis.report.statement_validation import VALIDATIONS
from sweep_analysis.say.advice import advice
from sweep_analysis.stats.compare import UNCLEAR, UNJUDGED, WAITS

PICTURES = CHECKOUT / "results" / "figures"
"""Where the pictures of statements lie."""


def _evidence(asked: Asked) -> str:
    """A line a sweep: what it has, where and when it was measured, and the command that measures it again."""
    lines = []
    for analysis in asked.sweeps:
        sweep = analysis.sweep
        every = pl.concat([sweep.trials, sweep.counted])
        trials, failed, workloads = (
            every.select(pl.len(), (pl.col("outcome") != "ok").sum().alias("failed"), pl.col("workload").n_unique())
            .collect()
            .row(0)
        )
        threads = every.filter(program=PARALLEL).select("threads").collect()["threads"].to_list()
        day = datetime.fromisoformat(str(sweep.manifest["created_at"])[:10])
        unit = "seed" if sweep.machine else "build"
        link = Asked(asked.where, asked.folder, [analysis], []).links()
        lines.append(
            f"{capital(link)}, {day.day} {day:%B %Y}, {host(analysis)}: "
            f"{count(len(sweep.branches), 'branch', 'branches')} in {count(sweep.layouts, unit)} each, "
            f"{count(workloads, 'workload')}, threads {ranges(threads)}, {count(trials, 'trial')}, "
            f"{failed or 'none'} failed. Again: `{_command(sweep)}`"
        )
    listed = "\n".join(f"- {line}" for line in lines)
    return f"**Evidence.** {lines[0]}" if len(lines) == 1 else f"**Evidence.**\n\n{listed}"


def _command(sweep: Sweep) -> str:
    """What measures a sweep again; one build is said, because it was once what one got without a word."""
    words = ["cargo", "runner", *sweep.manifest["command_line"]]
    return " ".join(words if sweep.machine or sweep.layouts > 1 or "--layouts" in words else [*words, "--layouts", "1"])


def _advice(asked: Asked) -> str:
    """Which branch to merge by this sweep, and where it might lose."""
    return f"Which to merge? {advice(asked.sweep.judgement).answer}"


def _tally(asked: Asked) -> str:
    """How many comparisons with the baseline say anything, in one sentence."""
    judgement = asked.sweep.judgement
    rows = judgement.rows.filter(pl.col("verdict") != UNJUDGED)
    claims = rows.filter(pl.col("verdict") != UNCLEAR)
    branches = count(rows["branch"].n_unique(), "branch", "branches")
    workloads = count(judgement.sweep.trials.select(pl.col("workload").n_unique()).collect().item(), "workload")
    names = [f"`{name}`" for name in dict.fromkeys(claims["workload"].drop_nulls())]
    overall = claims["workload"].null_count()
    rest = claims.height - overall
    where = f": {overall or 'none'} over all workloads together, {rest} on {_and(names)}" if claims.height else ""
    quantities = "wall and CPU time" + (" and waits" if rows["quantity"].is_in(WAITS).any() else "")
    return (
        f"{capital(branches)} against `{judgement.baseline}` on {workloads}, {quantities}: "
        f"{claims.height or 'none'} of {rows.height} comparisons can be told from noise{where} {asked.source()}."
    )


def _hosts(asked: Asked) -> str:
    """What all hosts of `results/hosts` say, a row a question, a column a host. Names no sweep."""
    return hosts.table(hosts.HOSTS, asked.analysis, asked.link)


def _figure(asked: Asked) -> Made:
    """A figure of the sweep's report, in light and dark. Words: the name of its file."""
    name = asked.words[0]
    for figure in figures(asked.sweep):
        if figure.missing is None and name.startswith(figure.name) and name in (charts := figure.whole()):
            drawn = svg.draw(charts[name])
            light, dark = (PICTURES / f"{moment(asked.sweep)}-{name}{theme}.svg" for theme in ("", "-dark"))
            text = (
                "<picture>\n"
                f'  <source media="(prefers-color-scheme: dark)" srcset="{asked.link(dark)}">\n'
                f'  <img alt="{figure.title}" src="{asked.link(light)}">\n'
                "</picture>\n"
            )
            return text, {light: drawn, dark: svg.dark(drawn)}
    raise asked.refused(f"no figure `{name}`", "name a file of the report's `figures/`, without its ending")


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


_TEXTS: dict[str, Callable[[Asked], str]] = {
    "evidence": _evidence,
    "advice": _advice,
    "tally": _tally,
    "hosts": _hosts,
    **CHANGES,
    **COUNTS,
    **TABLES,
    **VALIDATIONS,
}


def _without_pictures(make: Callable[[Asked], str]) -> Callable[[Asked], Made]:
    return lambda asked: (make(asked), {})


KINDS: dict[str, Callable[[Asked], Made]] = {
    **{name: _without_pictures(make) for name, make in _TEXTS.items()},
    "figure": _figure,
}
"""By name. What each takes besides sweeps is in its docstring."""

WITHOUT_SWEEPS = {"hosts"}
"""Kinds that find their sweeps by themselves."""
