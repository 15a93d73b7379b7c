"""Writes the significant results of a sweep's branches as sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.labels import count
from sweep_analysis.read.load import Sweep
from sweep_analysis.say.comparison import (
    counted_once,
    detectable,
    detectable_of,
    in_words,
    place_of,
)
from sweep_analysis.stats.compare import UNCLEAR, UNTESTED
from sweep_analysis.stats.decisions import Decisions
from sweep_analysis.stats.location import FEWEST_UNITS

SHOWN = 4
"""Maximum number of significant results of a kind that a text names; of the others, the text gives only the number."""
LEVELS = {
    "overall": "Over all programs",
    "threads": "By thread count",
    "workload": "By program",
    "cell": "By configuration",
}
"""Keys of `compare.SHARES` in sentences."""


def headline(decisions: Decisions) -> str:
    """All significant results of the branches, at every level and in every quantity."""
    return " ".join(headline_lines(decisions))


def headline_lines(decisions: Decisions) -> list[str]:
    """The sentences of `headline`: one per level, and one on the other comparisons."""
    rows = counted_once(decisions.rows)
    tested = rows.filter(pl.col("verdict") != UNTESTED)
    if tested.is_empty():
        return [f"No branch is tested: {why_untested(decisions)}."]
    baseline = decisions.baseline
    claims = tested.filter(pl.col("verdict") != UNCLEAR)
    untested = rows.height - tested.height
    verb = "is" if untested == 1 else "are"
    rest = f" {untested} of {rows.height} comparisons {verb} not tested." if untested else ""
    asked = f"{count(tested.height, 'comparison')}, corrected together"
    if claims.is_empty():
        none = (
            f"No branch differs significantly from {baseline} in wall time, CPU time or latency. "
            f"Tested: {asked}{detectable_of(tested)}.{rest}"
        )
        return [none]
    told = []
    for level, where in LEVELS.items():
        mine = claims.filter(level=level).sort("time_ratio")
        if mine.height:
            shown = "; ".join(claim(decisions, row) for row in mine.head(SHOWN).rows(named=True))
            more = f"; and {mine.height - SHOWN} more" if mine.height > SHOWN else ""
            told.append(f"{where}: {shown}{more}.")
    unclear = tested.height - claims.height
    verb = "is" if unclear == 1 else "are"
    others = (
        f"The other {unclear} of {asked}, {verb} {UNCLEAR}{detectable_of(tested)}."
        if unclear
        else ""
    )
    last = f"{others}{rest}".strip()
    return [*told, last] if last else told


def claim(decisions: Decisions, row: dict[str, Any]) -> str:
    """A significant comparison with the baseline as a clause. In: a row of `decisions.rows`."""
    place = place_of(decisions.comparisons, row)
    return in_words(row, str(decisions.baseline), place)


def result_of(row: dict[str, Any], sweep: Sweep, units: str = "") -> str:
    """Write the result of a row of `frames.COMPARISONS`.

    For an inconclusive row the text adds the detectable change. If the interval excludes 1, the text also adds
    the reason why the row is inconclusive, in which `units` replaces the number of builds.
    """
    low, high, band = row["ratio_low"], row["ratio_high"], row["band"]
    if row["is_bimodal"]:
        return f"{UNTESTED}: bimodal"
    if row["verdict"] != UNCLEAR:
        return str(row["verdict"])
    least = detectable(row)
    found = f"; {least}" if least else ""
    if low is None or low <= 1 <= high:
        return f"{UNCLEAR}{found}"
    if band is None or 1 / band <= row["time_ratio"] <= band:
        return f"{UNCLEAR}: within the noise floor{found}"
    units = units or count(row["units"], "seed" if sweep.machine else "build")
    return f"{UNCLEAR}: {units} are too few{found}"


def why_untested(decisions: Decisions) -> str:
    """The reason why no branch of this sweep is tested, as the end of a sentence."""
    rows = decisions.rows
    if decisions.baseline is None or rows.is_empty():
        return "no baseline was measured beside another branch"
    if not decisions.has_twin:
        return "the baseline did not run a second time (no A/A control), so the noise is unknown"
    most = int(rows.select(pl.col("units").max()).item())
    if most < FEWEST_UNITS and decisions.sweep.machine:
        return (
            f"each configuration ran with {count(most, 'seed')}, and the effect of chance is known from {FEWEST_UNITS} "
            "seeds on (`--trials 7`)"
        )
    if most < FEWEST_UNITS:
        return (
            f"each branch was measured in {count(most, 'build')}, and fewer than {FEWEST_UNITS} builds cannot separate "
            "the effect of a branch from that of link order (`--layouts 7 --trials 7`)"
        )
    if rows["is_bimodal"].all():
        return "each configuration is bimodal"
    return "ratios drifted over the sweep by more than they differ from 1"
