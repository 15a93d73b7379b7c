"""Makes the table of hosts that `cargo runner on-this-host` measured, with a row for each host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.labels import count
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.say import tables
from sweep_analysis.say.comparison import in_words
from sweep_analysis.say.headline import result_of
from sweep_analysis.stats.analysis import Analysis
from sweep_analysis.stats.predictions import RESULTS
from sweep_analysis.stats.validation import MARGIN, validation

HOSTS = CHECKOUT / "results" / "hosts"

NOBODY = "No host has been measured yet."

COMPARED = "champion"
"""The branch whose change over all programs the table shows."""

STEPS = ("predict", "study", "classics", "predictions", "validate")


def table(folder: Path, analysis: Callable[[Path], Analysis], link: Callable[[Path], str]) -> str:
    """Write the Markdown table of hosts, sorted by the time at which the measurement began.

    Hosts that were measured with `on-this-host --quick` are left out.

    `analysis` analyses the sweep in a folder; `link` formats a path as seen from the document.

    Raises:
        InputError: a record is damaged, or a sweep that it names is missing.
    """
    rows = {}
    for file in folder.glob("*/record.json"):
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            doctor = json.loads((file.parent / "doctor.json").read_text(encoding="utf-8"))
            if not record["is_quick"]:
                rows[record["begun_at"]] = _row(file, record, doctor, analysis, link)
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"not a record of a host: {error!r}"
            raise InputError(file.parent, what, "restore the folder from a copy") from error
    return tables.markdown(pl.DataFrame([rows[at] for at in sorted(rows)])) if rows else NOBODY


def _row(
    file: Path,
    record: dict[str, Any],
    doctor: dict[str, Any],
    analysis: Callable[[Path], Analysis],
    link: Callable[[Path], str],
) -> dict[str, str]:
    made = {done["step"]: file.parents[2] / "sweeps" / done["made"] for done in record["steps"]}
    sweeps = {step: made[step] for step in STEPS if step in made}
    for sweep in sweeps.values():
        if not sweep.is_dir():
            raise InputError(file, f"its sweep {sweep.name} is missing", "merge its bundle again")
    found = [it for it in doctor["findings"] if it["severity"] != "note"]
    is_unfit = any(it["severity"] == "unfit" for it in found)
    kind = "virtual CPU" if record["is_virtual"] else "CPU"
    classics = analysis(sweeps["classics"]) if "classics" in sweeps else None
    return {
        "host": f"`{record['host']}`{', UNFIT' if is_unfit else ''}",
        "machine": f"{record['cpu'].replace('(R)', '')}; {count(record['cores'], 'core')}, "
        f"{count(record['cpus'], kind)}",
        "sweeps": ", ".join(f"[{step}]({link(sweep)})" for step, sweep in sweeps.items()),
        "the doctor found": ", ".join(it["id"] for it in found) or "nothing",
        f"`{COMPARED}` over the published crate": _change(classics) if classics else "",
        "registered predictions": _counts(analysis(sweeps["predictions"]))
        if "predictions" in sweeps
        else "",
        f"simulated beforehand, within {MARGIN:.0%}": _near(
            *(analysis(sweeps[step]) for step in ("predict", "validate"))
        )
        if {"predict", "validate"} <= set(sweeps)
        else "",
    }


def _near(predicted: Analysis, measured: Analysis) -> str:
    found = validation(predicted.sweep, measured.sweep)
    near = found.cells.height - found.missed.height
    when = "" if found.is_prediction else "; simulated AFTER it was measured"
    return f"{near} of {found.cells.height} configurations{when}"


def _counts(analysis: Analysis) -> str:
    found = analysis.frame("predictions")["verdict"]
    return ", ".join(f"{(found == result).sum()} {result}" for result in RESULTS)


def _change(analysis: Analysis) -> str:
    rows = analysis.decisions.rows.filter(level="overall", branch=COMPARED).sort("quantity")
    told = [
        f"{in_words(row)}, {result_of(row, analysis.sweep)}"
        for row in rows.filter(pl.col("quantity").is_in(["time", "cpu"])).rows(named=True)
    ]
    return ". ".join(told) or "not measured"
