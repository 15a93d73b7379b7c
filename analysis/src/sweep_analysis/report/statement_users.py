"""Writes generated results for users of a branch: one picture of all programs, and costs of operations on a host."""

from __future__ import annotations

import tomllib

import polars as pl

from sweep_analysis.draw.forest_plots import Part, forest
from sweep_analysis.draw.plots import QUANTITIES
from sweep_analysis.read.labels import count, listed, with_panel
from sweep_analysis.report.hosts import HOSTS
from sweep_analysis.report.statement import Made, Statement, host
from sweep_analysis.say.comparison import threads_of

NANOSECONDS = 1000.0


def forest_of(asked: Statement) -> Made:
    """Draw a forest plot of one branch against another: wall and CPU time of every program of every sweep.

    Words: the other branch, the branch, and for each sweep one word that names its programs.
    """
    against, branch, *kinds = asked.words
    if len(kinds) != len(asked.sweeps):
        raise asked.refused(
            f"{count(len(kinds), 'word')} for the programs of {count(len(asked.sweeps), 'sweep')}",
            "name the programs of each sweep by one word",
        )
    parts, shown, threads = [], [], set()
    for kind, analysis in zip(kinds, asked.sweeps, strict=True):
        rows = with_panel(analysis.decisions.comparisons).filter(
            pl.col("quantity").is_in(list(QUANTITIES)),
            level="workload",
            baseline=against,
            branch=branch,
        )
        if rows.is_empty():
            raise asked.refused(
                f"`{branch}` is not compared with `{against}` in {analysis.sweep.path.name}",
                "name branches that each sweep has",
            )
        told = {threads_of(analysis.decisions.comparisons, row) for row in rows.rows(named=True)}
        threads |= told
        programs = f"{rows['panel'].n_unique()} {kind}"
        place = f"{host(analysis)}, {analysis.sweep.path.name[: len('2026-11-20')]}"
        shown.append(f"{programs}, {place}")
        parts.append(Part([f"{programs}: {branch} against {against}", place], rows))
    width = " or ".join(sorted(threads))
    alone = f"Change of wall and CPU time of {branch} against {against} with {width}: {'; '.join(shown)}"
    text, files = asked.picture(f"forest-{branch}", alone, forest(parts))
    about = (
        f"`{branch}` against `{against}` with {width}, with 95\N{NO-BREAK SPACE}% intervals: left of zero is less. "
        "A full point is significant, a hollow one is inconclusive; grey is the noise floor. "
        f"Each part ran on the host in its title (sweeps {listed(asked.each_link())})."
    )
    return f"{text}\n{about}\n", files


def host_cost(asked: Statement) -> str:
    """Write a cost parameter that was measured on a host. Words: the host, and the key in the host's `here.toml`."""
    name, key = asked.words
    file = HOSTS / name / "here.toml"
    if not file.exists():
        raise asked.refused(f"host `{name}` was not calibrated", f"name a folder of {HOSTS.name}/")
    costs = [
        table[key] for table in tomllib.loads(file.read_text()).values() if key in (table or {})
    ]
    if not costs or not str(costs[0]["source"]).startswith("measured"):
        raise asked.refused(f"`{key}` was not measured there", "name a measured cost of its file")
    value = costs[0]["value"]
    return f"{value / NANOSECONDS:.1f} µs" if value >= NANOSECONDS else f"{value:.0f} ns"
