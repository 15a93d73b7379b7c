"""Results of the hosts that `cargo runner on-this-host` measured, side by side.

One table with a column for each host.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import QUANTITY_NAMES, count, listed, percent
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.say import tables
from sweep_analysis.say.averages import beside_the_mean
from sweep_analysis.say.comparison import counted_once, in_words
from sweep_analysis.say.headline import verdict
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.calibration import MEAN_MARGIN, calibration
from sweep_analysis.stats.compare import UNCLEAR, UNJUDGED
from sweep_analysis.stats.validation import MARGIN, validation

HOSTS = CHECKOUT / "results" / "hosts"
"""Where the records of hosts are, a folder each."""

NOBODY = "No host is here yet."
"""Replaces the table while no host was measured."""

_COMPARED = ["champion", "split-counters-cache-padded"]
"""Branches whose change over all programs the table shows."""

_ABSENT = "not measured"


@dataclass(frozen=True)
class Host:
    """One host: its record, and its sweeps by the step that made them."""

    folder: Path
    record: dict[str, Any]
    sweeps: dict[str, Analysis]


def hosts(folder: Path, analysis: Callable[[Path], Analysis]) -> list[Host]:
    """The hosts in a folder, in the order in which they were begun.

    Those that only tried the command out are none.

    Raises:
        InputError: a record is damaged, or a sweep that it names is missing.
    """
    found = []
    for file in folder.glob("*/record.json"):
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            made = {done["step"]: done["made"] for done in record["steps"]}
            is_quick = bool(record["is_quick"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                file, f"no record of a host: {error!r}", "put back a copy of it"
            ) from error
        if is_quick:
            continue
        sweeps = {}
        for step in ("predict", "study", "classics", "validate"):
            if step in made:
                sweep = folder.parent / "sweeps" / str(made[step])
                if not sweep.is_dir():
                    raise InputError(
                        file, f"its sweep {made[step]} is missing", "merge the host's file again"
                    )
                sweeps[step] = analysis(sweep)
        found.append(Host(file.parent, record, sweeps))
    return sorted(found, key=lambda host: str(host.record["begun_at"]))


def table(folder: Path, analysis: Callable[[Path], Analysis], link: Callable[[Path], str]) -> str:
    """A row a question, a column a host, in Markdown.

    `link` says how a path is written into the file.
    """
    found = hosts(folder, analysis)
    if not found:
        return NOBODY
    columns = {
        f"host `{host.record['host']}`{', UNFIT' if _is_unfit(host) else ''}": _answers(host, link)
        for host in found
    }
    questions = list(next(iter(columns.values())))
    rows = [
        {"": question} | {name: told[question] for name, told in columns.items()}
        for question in questions
    ]
    return tables.markdown(pl.DataFrame(rows))


def _answers(host: Host, link: Callable[[Path], str]) -> dict[str, str]:
    """Answers of one host, by question; every host has the same questions."""
    classics, study = host.sweeps.get("classics"), host.sweeps.get("study")
    told = {
        "machine": _machine(host.record),
        "measured": _measured(host, link),
        "the doctor found": _doctor(host),
    }
    for branch in _COMPARED:
        for quantity in ("time", "cpu"):
            question = f"`{branch}` against the published crate, sixteen programs: {QUANTITY_NAMES[quantity]}"
            told[question] = _change(classics, branch, quantity) if classics else _ABSENT
    for quantity in ("time", "cpu"):
        margin = f"equivalent within ±{MEAN_MARGIN * 100:.0f} %?"
        question = f"`packed` against the published crate: {QUANTITY_NAMES[quantity]}, {margin}"
        told[question] = _equal(classics, quantity) if classics else _ABSENT
    told["programs of the 2022 study: comparisons that are significant"] = (
        _tally(study) if study else _ABSENT
    )
    told[f"simulated beforehand: cells within {MARGIN * 100:.0f} % of what was measured"] = _near(
        host
    )
    return told


def _machine(record: dict[str, Any]) -> str:
    kind = "virtual CPU" if record["is_virtual"] else "CPU"
    model = str(record["cpu"]).replace("(R)", "")
    return f"{model}; {count(record['cores'], 'core')}, {count(record['cpus'], kind)}"


def _measured(host: Host, link: Callable[[Path], str]) -> str:
    day = datetime.fromisoformat(str(host.record["begun_at"])[:10])
    sweeps = [f"[`{step}`]({link(analysis.sweep.path)})" for step, analysis in host.sweeps.items()]
    manifests = [analysis.sweep.manifest for analysis in host.sweeps.values()]
    commits = dict.fromkeys(f"`{it['checkout']['commit'][:7]}`" for it in manifests)
    at = f", at {listed(list(commits))}" if commits else ""
    return f"{day.day} {day:%B %Y}{at}: {', '.join(sweeps) or 'nothing'}"


def _found(host: Host) -> list[tuple[str, str]]:
    """Names and severities of what the doctor found that is more than a note."""
    try:
        findings = json.loads((host.folder / "doctor.json").read_text(encoding="utf-8"))["findings"]
        return [(it["id"], it["severity"]) for it in findings if it["severity"] != "note"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            host.folder / "doctor.json", f"cannot be read: {error!r}", "put back a copy of it"
        ) from error


def _is_unfit(host: Host) -> bool:
    """Whether the doctor says that times of this host do not show the branches."""
    return any(severity == "unfit" for _, severity in _found(host))


def _doctor(host: Host) -> str:
    """The findings of `cargo runner doctor`; the worst are marked."""
    named = [f"{name} (unfit)" if severity == "unfit" else name for name, severity in _found(host)]
    return ", ".join(named) or "nothing"


def _change(analysis: Analysis, branch: str, quantity: str) -> str:
    rows = analysis.judgement.comparisons.filter(
        level="overall", baseline=analysis.judgement.baseline, branch=branch, quantity=quantity
    )
    if rows.is_empty():
        return _ABSENT
    row = rows.row(0, named=True)
    hidden = beside_the_mean(analysis.judgement.comparisons, row)
    return "; ".join([f"{in_words(row)}, {verdict(row, analysis.sweep)}", *hidden])


def _equal(analysis: Analysis, quantity: str) -> str:
    found = calibration(analysis.times.lazy(), str(analysis.judgement.baseline), "packed", quantity)
    if found is None:
        return _ABSENT
    mean = found.mean.row(0, named=True)
    low, high = mean["equal_low"], mean["equal_high"]
    interval = "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"
    return f"{percent(mean['time_ratio'])}{interval}, {mean['answer']}"


def _tally(analysis: Analysis) -> str:
    judged = counted_once(analysis.judgement.rows.filter(pl.col("verdict") != UNJUDGED))
    claims = judged.filter(pl.col("verdict") != UNCLEAR)
    names = [f"`{name}`" for name in dict.fromkeys(claims["branch"])]
    return f"{claims.height} of {judged.height}{': ' if names else ''}{', '.join(names)}"


def _near(host: Host) -> str:
    predicted, measured = host.sweeps.get("predict"), host.sweeps.get("validate")
    if predicted is None or measured is None:
        return _ABSENT
    found = validation(predicted.sweep, measured.sweep)
    near = found.cells.height - found.missed.height
    when = "" if found.is_prediction else "; simulated AFTER it was measured"
    return f"{near} of {found.cells.height}, geometric mean {found.mean_ratio:.2f}{when}"
