"""Statements on what branches change, as the judge says it, and on what a sweep could have found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from sweep_analysis.read.labels import QUANTITY_NAMES, capital, count, listed, percent, with_panel
from sweep_analysis.report.asked import Asked, moment
from sweep_analysis.say.averages import beside_the_mean, gained_and_lost, pooled_threads
from sweep_analysis.say.detectable import builds
from sweep_analysis.say.headline import verdict
from sweep_analysis.stats.calibration import CELL_MARGIN, EQUAL, MEAN_MARGIN, OFF, calibration
from sweep_analysis.stats.compare import FASTER, JUDGED, SLOWER, UNCLEAR, UNJUDGED
from sweep_analysis.stats.two_sweeps import Pooled, unlike


def _change(asked: Asked) -> str:
    """What one branch takes more or less of, and what the mean hides.

    Words: as for `changes`, and a quantity.

    Of several sweeps: all together, with what sweeps differ by.
    """
    workload, against, branch, *rest = asked.words
    quantity = rest[0] if rest else "time"
    row = _changed(asked, workload, against, [branch]).filter(quantity=quantity).row(0, named=True)
    hidden = beside_the_mean(asked.comparisons, row)
    where = _where(asked, row)
    row, days, doubt = _of_days(asked, row)
    which = "in the first sweep, " if days else ""
    more = f" {capital(which + '; '.join(hidden))}." if hidden else ""
    days = days or ("" if asked.sweep.sweep.machine else "one sweep")
    notes = "".join(f"; {note}" for note in (doubt, days) if note)
    size = percent(row["time_ratio"])[1:]
    replicates = asked.sweep.sweep.replicates
    equal, unit = replicates.equal, "seed" if asked.sweep.sweep.machine else "build"
    return (
        f"`{branch}` takes {size} {'less' if row['time_ratio'] < 1 else 'more'} {QUANTITY_NAMES[row['quantity']]} than "
        f"`{against}` {where} (95 % interval {_interval(row)}; "
        f"{unit}s {builds(row)}; {equal} differ by up to {_band(row)}{notes}; "
        f"{asked.source()[1:-1]}).{more}"
    )


def _effect(asked: Asked) -> str:
    """A change in a few words, for a cell of a table. Words: as for `change`."""
    workload, against, branch, *rest = asked.words
    quantity = rest[0] if rest else "time"
    row = _changed(asked, workload, against, [branch]).filter(quantity=quantity).row(0, named=True)
    hidden = gained_and_lost(asked.comparisons, row) if workload == "all" else []
    where = _where(asked, row)
    row, days, doubt = _of_days(asked, row)
    if days:
        hidden[:1] = [f"in the first, {it}" for it in hidden[:1]]
    each = f"; {days}" if days else ""
    told = (
        f"{percent(row['time_ratio'])} {QUANTITY_NAMES[quantity]} {where} ({_interval(row)}{each})"
    )
    return "; ".join([told, *hidden, *([doubt] if doubt else [])])


def _of_days(asked: Asked, row: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """A row of the first sweep, pooled with all others; then their days.

    And what doubt is left.
    """
    if len(asked.sweeps) == 1:
        return (
            row,
            "",
            verdict(row, asked.sweep.sweep) if row["verdict"] in (UNCLEAR, UNJUDGED) else "",
        )
    comparisons = [asked.of_mode(it.judgement.comparisons) for it in asked.sweeps]
    apart = unlike([it.sweep for it in asked.sweeps], comparisons, row)
    if apart:
        raise asked.refused(apart, "name sweeps of the same programs, threads and machine")
    sweep = asked.sweep.sweep
    pooled = Pooled(comparisons, simulated=sweep.machine is not None).row(row)
    if pooled is None:
        raise asked.refused("a sweep does not judge that", "name sweeps that all do")
    each = listed([_alone(ratio, said) for ratio, said in pooled["each"]])
    on = {str(it.sweep.manifest.get("created_at"))[:10] for it in asked.sweeps}
    number = count(len(asked.sweeps), "sweep")
    doubt = verdict(pooled, sweep, number) if pooled["verdict"] in (UNCLEAR, UNJUDGED) else ""
    return pooled, f"{number} on {count(len(on), 'day')}: {each}", doubt


def _alone(ratio: float, said: str) -> str:
    """What one of several sweeps shows, and says by itself."""
    return percent(ratio) + (f" ({said} alone)" if said in (FASTER, SLOWER) else "")


def _source(asked: Asked) -> str:
    """Whether sweeps were measured or simulated, and which they are, for a cell of a table."""
    return f"{asked.sweep.sweep.label or 'measured'}, {asked.links().partition(' ')[2]}"


def _where(asked: Asked, row: dict[str, Any]) -> str:
    """What a row of `_changed` is about."""
    comparisons = asked.comparisons
    own = comparisons.filter(
        baseline=row["baseline"], branch=row["branch"], quantity=row["quantity"]
    )
    workloads = own.filter(level="workload").height
    name, parameters, _ = _asked_of(asked.words[0])
    named = ", ".join([name, *parameters])
    where = f"on `{named}`" if row["workload"] else f"over {count(workloads, 'workload')} together"
    pooled = count(row["threads"], "thread") if row["threads"] else pooled_threads(comparisons, row)
    where += f" with {pooled}" if pooled else ""
    has_modes = (
        row["mode"] and asked.sweep.judgement.comparisons["mode"].drop_nulls().n_unique() > 1
    )
    return f"{where} at {row['mode']} frequency" if has_modes else where


def _changes(asked: Asked) -> str:
    """Rows of branches on one workload: change, interval, band and verdict.

    Words: the workload as for `_changed`, what the branches are compared with, and the branches.
    """
    workload, against, *branches = asked.words
    made = [
        {
            "branch": row["branch"],
            "workload": _place(row),
            "quantity": QUANTITY_NAMES[row["quantity"]],
            f"against {against}": percent(row["time_ratio"]),
            "95 % interval": _interval(row),
            "seeds" if asked.sweep.sweep.machine else "builds": builds(row),
            "A/A band": _band(row),
            "verdict": verdict(row, asked.sweep.sweep),
        }
        for row in _changed(asked, workload, against, branches).rows(named=True)
    ]
    where = "over all workloads" if workload == "all" else f"on {made[0]['workload']}"
    table = asked.table(pl.DataFrame(made), f"what branches change against {against} {where}")
    comparisons = asked.comparisons
    rows = _changed(asked, workload, against, branches).filter(quantity="time").rows(named=True)
    hidden = {
        row["branch"]: "; ".join(beside_the_mean(comparisons, row))
        for row in rows
        if workload == "all"
    }
    beside = [f"`{branch}`: {told}." for branch, told in hidden.items() if told]
    return "\n\n".join([table.rstrip("\n"), *beside]) + "\n" if beside else table


def _changed(asked: Asked, workload: str, against: str, branches: list[str]) -> pl.DataFrame:
    """The comparisons of branches on one workload, with `panel`.

    `workload` is as in `_asked_of`, or `all` for all together.

    Raises:
        InputError: there are none.
    """
    name, parameters, threads = _asked_of(workload)
    pooled = "threads" if threads else "overall"
    level = pooled if name == "all" else "cell" if threads else "workload"
    rows = with_panel(
        asked.comparisons.filter(
            pl.col("level") == level,
            pl.col("baseline") == against,
            pl.col("branch").is_in(branches),
        )
    ).sort("mode", maintain_order=True)
    if name != "all":
        has = [
            pl.col("parameters").cast(pl.String).str.contains(it, literal=True) for it in parameters
        ]
        rows = rows.filter(pl.col("workload") == name, *has)
    if threads:
        rows = rows.filter(threads=int(threads))
    if rows.is_empty():
        raise asked.refused(
            f"nothing is compared with `{against}` there", "name a workload and branches it has"
        )
    return rows.with_columns(pl.col("branch").cast(pl.Enum(branches))).sort(
        "branch", pl.col("quantity").cast(pl.Enum(JUDGED))
    )


def _asked_of(workload: str) -> tuple[str, list[str], str]:
    """The name, the parameters by which one of several is meant, and the number of threads.

    Without it, all of them.

    In: `NAME`, `NAME@THREADS`, `NAME+PARAMETER=VALUE`, or `NAME+PARAMETER=VALUE@THREADS`.
    """
    place, _, threads = workload.partition("@")
    name, *parameters = place.split("+")
    return name, parameters, threads


def _place(row: dict[str, Any]) -> str:
    threads = f", {count(row['threads'], 'thread')}" if row["threads"] else ""
    return f"{row['panel'] or 'all together'}{threads}"


def _interval(row: dict[str, Any]) -> str:
    return (
        "none"
        if row["ratio_low"] is None
        else f"{percent(row['ratio_low'])} to {percent(row['ratio_high'])}"
    )


def _band(row: dict[str, Any]) -> str:
    return f"±{(row['band'] - 1) * 100:.1f} %" if row["band"] else "unknown"


def _calibration(asked: Asked) -> str:
    """A row a sweep: `packed` over the baseline, and the cells that are equal, and off."""
    made = []
    for analysis in asked.sweeps:
        row = {"sweep": f"`{moment(analysis)}`"}
        for quantity, name in (("time", "time"), ("cpu", "CPU time")):
            found = calibration(
                analysis.times.lazy(), str(analysis.judgement.baseline), "packed", quantity
            )
            if found is None:
                raise asked.refused(
                    "`packed` shares no cell with the baseline", "name another sweep"
                )
            mean = found.mean.row(0, named=True)
            interval = f"{percent(mean['equal_low'])} to {percent(mean['equal_high'])}"
            row[f"{name}: mean (90 % interval), equal within ±{MEAN_MARGIN * 100:.0f} %"] = (
                f"{percent(mean['time_ratio'])} ({interval}), {mean['answer']}"
            )
            off = with_panel(found.cells.filter(answer=OFF))
            cells = [
                f"{it['panel']} on {it['threads']}: {percent(it['time_ratio'])}"
                for it in off.rows(named=True)
            ]
            equal, told = found.cells.filter(answer=EQUAL).height, "; ".join(cells) or "none"
            row[f"{name}: cells equal within ±{CELL_MARGIN * 100:.0f} %, cells off"] = (
                f"{equal} of {found.cells.height}, {told}"
            )
        made.append(row)
    return asked.table(pl.DataFrame(made), "whether packed equals the baseline, by sweep")


CHANGES: dict[str, Callable[[Asked], str]] = {
    "change": _change,
    "effect": _effect,
    "source": _source,
    "changes": _changes,
    "calibration": _calibration,
}
"""These statements, by kind."""
