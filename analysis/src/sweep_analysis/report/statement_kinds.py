"""The kinds of statements: each makes one sentence, one table or one picture of committed sweeps.

Sentences end with where the number is from: the sweep, as a link, and its host. Tables stand beside an `evidence`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl

from sweep_analysis.draw import svg
from sweep_analysis.read.labels import count, percent, ranges, with_panel
from sweep_analysis.read.load import CHECKOUT, Sweep
from sweep_analysis.read.schema import PARALLEL
from sweep_analysis.report import hosts
from sweep_analysis.report.asked import Asked, Made, host, moment
from sweep_analysis.report.figures import figures
from sweep_analysis.report.statement_tables import by_threads, judged, parts
from sweep_analysis.say import tables
from sweep_analysis.say.advice import advice
from sweep_analysis.say.headline import QUANTITY_NAMES
from sweep_analysis.say.placements import placement_table
from sweep_analysis.say.validation import count_sentences, validation_sentences
from sweep_analysis.stats.calibration import CELL_MARGIN, EQUAL, MEAN_MARGIN, OFF, calibration
from sweep_analysis.stats.claims import UNTESTED
from sweep_analysis.stats.compare import UNCLEAR, UNJUDGED
from sweep_analysis.stats.events import writes_per_push
from sweep_analysis.stats.hangs import hangs
from sweep_analysis.stats.noise import second_look
from sweep_analysis.stats.simulated import line_wait_rates
from sweep_analysis.stats.validated_counts import by_event, validated_counts
from sweep_analysis.stats.validation import validation

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
            f"{link[0].upper()}{link[1:]}, {day.day} {day:%B %Y}, {host(analysis)}: "
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
    overall = claims.filter(level="overall").height
    rest = claims.height - overall
    where = f": {overall or 'none'} over all workloads together, {rest} on {_and(names)}" if claims.height else ""
    return (
        f"{branches[0].upper()}{branches[1:]} against `{judgement.baseline}` on {workloads}, wall and CPU time: "
        f"{claims.height or 'none'} of {rows.height} comparisons can be told from noise{where} {asked.source()}."
    )


def _changed(asked: Asked, workload: str, against: str, branches: list[str]) -> pl.DataFrame:
    """The comparisons of branches on one workload, with `panel`.

    `workload` is `all` for all together; `NAME@THREADS` for one number of threads, in the place of all of them.

    Raises:
        InputError: there are none.
    """
    name, _, threads = workload.partition("@")
    level = "overall" if name == "all" else "cell" if threads else "workload"
    rows = with_panel(
        asked.sweep.judgement.comparisons.filter(
            pl.col("level") == level, pl.col("baseline") == against, pl.col("branch").is_in(branches)
        )
    ).sort("mode", maintain_order=True)
    if name != "all":
        rows = rows.filter(workload=name)
    if threads:
        rows = rows.filter(threads=int(threads))
    if rows.is_empty():
        raise asked.refused(f"nothing is compared with `{against}` there", "name a workload and branches it has")
    return rows.with_columns(pl.col("branch").cast(pl.Enum(branches))).sort("branch", pl.col("quantity") == "cpu")


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
            "A/A band": _band(row),
            "verdict": row["verdict"],
        }
        for row in _changed(asked, workload, against, branches).rows(named=True)
    ]
    return tables.markdown(pl.DataFrame(made))


def _change(asked: Asked) -> str:
    """What one branch takes more or less of, in one sentence. Words: as for `changes`, and `cpu` for CPU time."""
    workload, against, branch, *rest = asked.words
    found = _changed(asked, workload, against, [branch]).filter(quantity=rest[0] if rest else "time")
    row = found.row(0, named=True)
    workloads = asked.sweep.times["workload"].n_unique()
    where = f"over {count(workloads, 'workload')} together" if workload == "all" else f"on `{row['workload']}`"
    where += f" with {count(row['threads'], 'thread')}" if row["threads"] else ""
    where += f" at {row['mode']} frequency" if found["mode"].n_unique() > 1 else ""
    doubt = "" if row["verdict"] not in (UNCLEAR, UNJUDGED) else f"; {row['verdict']}"
    size = percent(row["time_ratio"])[1:]
    equal = asked.sweep.sweep.replicates.equal
    return (
        f"`{branch}` takes {size} {'less' if row['time_ratio'] < 1 else 'more'} {QUANTITY_NAMES[row['quantity']]} than "
        f"`{against}` {where} (95 % interval {_interval(row)}; {equal} differ by up to {_band(row)}{doubt}; "
        f"{asked.source()[1:-1]})."
    )


def _place(row: dict[str, Any]) -> str:
    threads = f", {count(row['threads'], 'thread')}" if row["threads"] else ""
    return f"{row['panel'] or 'all together'}{threads}"


def _interval(row: dict[str, Any]) -> str:
    return "none" if row["ratio_low"] is None else f"{percent(row['ratio_low'])} to {percent(row['ratio_high'])}"


def _band(row: dict[str, Any]) -> str:
    return f"±{(row['band'] - 1) * 100:.1f} %" if row["band"] else "unknown"


def _sensitivity(asked: Asked) -> str:
    """A row a workload: the largest change seen, the A/A band, what would have been found."""
    rows = asked.sweep.judgement.rows.filter(pl.col("quantity") == "time", pl.col("level") != "cell")
    made = []
    for part in rows.partition_by("panel", maintain_order=True):
        furthest = part.sort(pl.col("time_ratio").log().abs(), descending=True).row(0, named=True)
        detectable = part["detectable"].median()
        made.append(
            {
                "workload": furthest["panel"] or "all together",
                "largest change": f"{percent(furthest['time_ratio'])} ({furthest['branch']})",
                "A/A band": _band(furthest),
                "found four times in five": f"from {(detectable - 1) * 100:.1f} %"
                if isinstance(detectable, float)
                else "not judged",
            }
        )
    return tables.markdown(pl.DataFrame(made))


def _calibration(asked: Asked) -> str:
    """A row a sweep: `packed` over the baseline, and the cells that are equal, and off."""
    made = []
    for analysis in asked.sweeps:
        row = {"sweep": f"`{moment(analysis)}`"}
        for quantity, name in (("time", "time"), ("cpu", "CPU time")):
            found = calibration(analysis.times.lazy(), str(analysis.judgement.baseline), "packed", quantity)
            if found is None:
                raise asked.refused("`packed` shares no cell with the baseline", "name another sweep")
            mean = found.mean.row(0, named=True)
            interval = f"{percent(mean['equal_low'])} to {percent(mean['equal_high'])}"
            row[f"{name}: mean (90 % interval), equal within ±{MEAN_MARGIN * 100:.0f} %"] = (
                f"{percent(mean['time_ratio'])} ({interval}), {mean['answer']}"
            )
            off = with_panel(found.cells.filter(answer=OFF))
            cells = [f"{it['panel']} on {it['threads']}: {percent(it['time_ratio'])}" for it in off.rows(named=True)]
            equal, told = found.cells.filter(answer=EQUAL).height, "; ".join(cells) or "none"
            row[f"{name}: cells equal within ±{CELL_MARGIN * 100:.0f} %, cells off"] = (
                f"{equal} of {found.cells.height}, {told}"
            )
        made.append(row)
    return tables.markdown(pl.DataFrame(made))


def _placements(asked: Asked) -> str:
    """A row a workload and quantity at a number of threads: what pinning changes, all branches together.

    Words: the threads.
    """
    placed = asked.sweep.placements
    shown = placed.filter(pl.col("level") == "workload", pl.col("threads") == int(asked.words[0]))
    table = placement_table(shown).select(
        "workload", "quantity", "pinned", "from", "to", pl.col("moved").alias("certain")
    )
    return tables.markdown(table)


def _hangs(asked: Asked) -> str:
    """A row a branch: who fences for a push, how many runs hung, and in how much finished work, for each sweep."""
    made: dict[str, dict[str, str]] = {}
    for analysis in asked.sweeps:
        for row in hangs(analysis.sweep).rows(named=True):
            of_branch = made.setdefault(row["branch"], {"branch": row["branch"], "who fences": row["fenced_by"]})
            runs, units = row["runs"], f"{row['units'] / 1e6:.1f} million {row['unit']}"
            of_branch[f"hung, `{moment(analysis)}`"] = f"{row['hung']} of {runs} runs, {units}"
    return tables.markdown(pl.DataFrame(list(made.values()), infer_schema_length=None).fill_null("not measured"))


def _hung(asked: Asked) -> str:
    """How many runs hung in how much work, in all sweeps together. Words: a branch, or none for all by who fences."""
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
    left_out = f" {count(aside, 'other run')} ended without a result and {'is' if aside == 1 else 'are'} left out."
    return f"{told[0].upper()}{told[1:]} {asked.source()}.{left_out if aside else ''}"


def _hung_in(rows: pl.DataFrame) -> str:
    """In: rows of `frames.HANGS`."""
    hung, runs, units = (int(rows[name].sum()) for name in ("hung", "runs", "units"))
    often = f"hung in {hung} of {count(runs, 'run')}" if hung else f"hung in none of {count(runs, 'run')}"
    return f"{often}, in {units / 1e6:.1f} million {rows['unit'].drop_nulls()[0]}"


def _writes(asked: Asked) -> str:
    """A row a workload: how often the line that every push reads is written, for each push.

    Words: the threads, and the branches.
    """
    threads, *branches = asked.words
    rows = with_panel(writes_per_push(asked.sweep.sweep)).filter(pl.col("threads") == int(threads))
    wide = rows.pivot("branch", index="panel", values="writes_per_push")
    if missing := [name for name in branches if name not in wide.columns]:
        raise asked.refused(f"`{missing[0]}` was not counted on {threads} threads", "name branches and threads it has")
    names = {name: f"{name}, writes per push" for name in branches}
    shown = [pl.col(name).map_elements(_two_digits, return_dtype=pl.String).alias(told) for name, told in names.items()]
    return tables.markdown(wide.select(pl.col("panel").alias("workload"), *shown))


def _two_digits(value: float) -> str:
    """A number below one with two digits, without an exponent."""
    return f"{value:.{1 - math.floor(math.log10(value))}f}" if value > 0 else "0"


def _waits(asked: Asked) -> str:
    """The source lines that waited longest on a simulated machine, a row for each and the line that wrote before it.

    Words: workload, threads, branch, and how many rows.
    """
    workload, threads, branch, most = asked.words
    cell = {"workload": workload, "threads": int(threads), "branch": branch}
    rates = with_panel(line_wait_rates(asked.sweep.sweep)).filter(**cell)
    if rates.is_empty():
        raise asked.refused(f"no simulated trial of `{branch}` on {threads} threads", "name a cell that it has")
    shown = tables.line_wait_table(rates, int(most))
    return tables.markdown(shown.select("source line", "written by", "of waiting", "of all time", "transfers per unit"))


def _latency(asked: Asked) -> str:
    """How long work waits until it is done, in µs: a row for each setting and number of threads, a column a branch.

    Words: workload, or workload/kind of its waits where it has others than `latency`; quantile (p50, p90, …), and the
    branches.
    """
    workload, quantile, *branches = asked.words
    workload, _, kind = workload.partition("/")
    rows = with_panel(asked.sweep.waits).filter(
        pl.col("branch").is_in(branches), workload=workload, quantile=quantile, kind=kind or "latency"
    )
    if rows.is_empty():
        raise asked.refused(
            f"no {quantile} of `{workload}` there", "name a workload that tells how long its work waits"
        )
    rows = rows.pivot("branch", index=["panel", "threads"], values="wait_us", maintain_order=True)
    titles = {"panel": "workload"} | {branch: f"{branch}: {quantile}, µs" for branch in branches}
    return tables.markdown(rows.select("panel", "threads", pl.col(branches).round(0).cast(pl.Int64)).rename(titles))


def _prices(asked: Asked) -> str:
    """What becomes of simulated comparisons when one price is halved or doubled, a row a branch and quantity.

    Words: workloads; none: all.
    """
    rows = with_panel(asked.sweep.sensitivity)
    if asked.words:
        rows = rows.filter(pl.col("workload").is_in(asked.words))
    if rows.is_empty():
        raise asked.refused("no price was changed there", "name a sweep of the experiment `sensitivity`")
    return tables.markdown(tables.sensitivity_table(rows))


def _validated(asked: Asked) -> str:
    """How near a prediction of a host is, a row a workload and a number of threads. Two sweeps: simulated, measured."""
    simulated, measured = (analysis.sweep for analysis in asked.sweeps)
    found = validation(simulated, measured)
    ratio = pl.col("ratio")
    rows = (
        with_panel(found.cells)
        .group_by("workload", "threads")
        .agg(
            pl.col("is_near").sum().alias("near"),
            pl.len().alias("cells"),
            ratio.log().mean().exp().round(2).alias("simulated over measured"),
            pl.col("predicted_scaling").log().mean().exp().round(2).alias("simulated, against 1 thread"),
            pl.col("measured_scaling").log().mean().exp().round(2).alias("measured, against 1 thread"),
        )
        .sort("workload", "threads")
    )
    sentence = validation_sentences(found, simulated, measured)[-1]
    return f"Times {simulated.label}, beside measured ones: {sentence}\n\n{tables.markdown(rows)}"


def _validated_counts(asked: Asked) -> str:
    """How near predicted counts are, a row an event and a number of threads. Two sweeps: simulated, measured."""
    simulated, measured = (analysis.sweep for analysis in asked.sweeps)
    counts = validated_counts(simulated, measured)
    if counts.is_empty():
        raise asked.refused("one of the sweeps has no counts", "name two that were swept with `--instrument`")
    table = tables.markdown(tables.validated_counts_table(by_event(counts)))
    return f"Counts {simulated.label}, beside measured ones: {count_sentences(counts)[-1]}\n\n{table}"


def _claims(asked: Asked) -> str:
    """What became of the claims of `branches.toml` that the sweep tests, a row each.

    Words: ranges of threads, as claims write them; none: all claims.
    """
    rows = asked.sweep.claims.filter(pl.col("verdict") != UNTESTED)
    if asked.words:
        rows = rows.filter(pl.col("threads").is_in(asked.words))
    if rows.is_empty():
        raise asked.refused("no claim is about these threads", "write the range as branches.toml does")
    workloads = sorted(asked.sweep.times["workload"].unique())
    shown = tables.claim_table(rows, workloads)
    return tables.markdown(shown.drop("p corrected", "reason"))


def _second_look(asked: Asked) -> str:
    """What became, in the second sweep, of the largest change that the first showed, one row a workload."""
    once, again = asked.sweeps
    looked = second_look(once, again)
    size = pl.col("first").str.extract(r"([\d.]+)").cast(pl.Float64)
    return tables.markdown(looked.sort(size, descending=True).unique("workload", keep="first", maintain_order=True))


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
    "change": _change,
    "changes": _changes,
    "sensitivity": _sensitivity,
    "calibration": _calibration,
    "placements": _placements,
    "hung": _hung,
    "hangs": _hangs,
    "writes": _writes,
    "waits": _waits,
    "latency": _latency,
    "prices": _prices,
    "claims": _claims,
    "validated": _validated,
    "validated-counts": _validated_counts,
    "second-look": _second_look,
    "hosts": _hosts,
    "by-threads": by_threads,
    "parts": parts,
    "judged": judged,
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
