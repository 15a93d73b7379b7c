"""Tests the pre-registered hypotheses of a sweep, which are the `claims` of `branches.toml`.

`faster` and `slower` pool the configurations that they name and the sweep has (`compare.POOLED`).
Such a hypothesis is held if the comparison finds this sign, after correction for the number of
hypotheses, and falsified if it finds the opposite sign.

`equal`, `no-slower` and `no-faster` are hypotheses about each workload and each of its thread counts,
because in a mean a gain on one could hide a loss on another. Each part is held if the whole interval
lies within the margin on the sides that the hypothesis names: an inconclusive comparison proves
nothing. A part is falsified if the interval lies beyond the margin and the comparison is significant.
The hypothesis is held if all parts are held, and falsified if one is. A hypothesis about wall time
covers latencies as well, where a workload reports them.

The hypotheses were written down before the sweep, so they are a family of tests of their own,
corrected for their number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import CLAIM_DETAILS, CLAIMS, COMPARISONS
from sweep_analysis.read.labels import QUANTITY_NAMES, count, percent, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, PLACE, TWIN_SUFFIX
from sweep_analysis.stats.compare import (
    ALPHA,
    QUANTITIES,
    WAITS,
    Comparison,
    detectable_ratio,
    differs,
    drifts,
    holm,
    twin_of,
)
from sweep_analysis.stats.location import FEWEST_UNITS

HELD = "held"
FALSIFIED = "falsified"
OPEN = "inconclusive"
UNTESTED = "not tested"
RESULTS = (HELD, FALSIFIED, OPEN, UNTESTED)

EXPECTATIONS = ("faster", "slower", "equal", "no-faster", "no-slower")

MARGIN = 1.02
"""Ratio up to which a workload counts as equal; the calibration has the same margin for a mean."""
CELL_MARGIN = 1.05
"""Ratio up to which a workload at one thread count counts as equal, as in the calibration."""

OF_EACH = ("equal", "no-slower", "no-faster")
"""Expectations that are about each workload and thread count."""

MOST_THREADS = 1 << 30
"""End of a range of threads without an upper end."""


_COLUMNS = pl.Schema(
    CLAIMS
    | CLAIM_DETAILS
    | {name: COMPARISONS[name] for name in ("units", "ratio_drift", "p_drift", "degrees")}
    | {"error": pl.Float64}
)
"""Columns that the test of a hypothesis uses."""


class Claim(msgspec.Struct):
    """One entry of `branches[].claims` in the manifest."""

    expect: str
    against: str | None = None
    workloads: list[str] = []
    threads: str | None = None
    quantity: str = "time"
    figure: str | None = None

    def __post_init__(self) -> None:
        """Accept `figure`, the name of `quantity` in older manifests."""
        self.quantity = self.figure or self.quantity


def claims_of(sweep: Sweep) -> list[tuple[str, str, Claim]]:
    """Every claim of the manifest with its branch and that branch's `hypothesis`.

    Raises:
        InputError: a claim does not have the form that `branches.toml` describes.
    """
    found = []
    for entry in sweep.manifest.get("branches", []):
        for index, written in enumerate(entry.get("claims", []) if isinstance(entry, dict) else []):
            where = f"{sweep.path / 'manifest.json'}: branch `{entry.get('name')}`, field `claims[{index}]"
            try:
                claim = msgspec.convert(written, Claim)
            except msgspec.ValidationError as error:
                raise InputError(
                    where + "`", str(error), "see the first lines of branches.toml for the format"
                ) from error
            for name, value, known in (
                ("expect", claim.expect, EXPECTATIONS),
                ("quantity", claim.quantity, QUANTITIES),
            ):
                if value not in known:
                    raise InputError(
                        f"{where}.{name}`", f"unknown value `{value}`", f"known: {', '.join(known)}"
                    )
            if claim.threads is not None:
                thread_range(claim.threads, {"cpus": 1, "cores": 1}, f"{where}.threads`")
            found.append((str(entry["name"]), str(entry.get("hypothesis") or ""), claim))
    return found


@dataclass(frozen=True)
class Checked:
    """Results of the pre-registered hypotheses of a sweep.

    Attributes:
        claims: rows of `frames.CLAIMS`, in the order of the manifest; empty if it has no hypothesis.
        details: rows of `frames.CLAIM_DETAILS`: a separate test of each workload of a hypothesis.
    """

    claims: pl.DataFrame
    details: pl.DataFrame


def check_claims(sweep: Sweep, times: pl.LazyFrame) -> Checked:
    """Test every hypothesis of the sweep's manifest against the trials.

    In: rows of `frames.TIMES` of the same sweep.

    Raises:
        InputError: a claim does not have the form that `branches.toml` describes.
    """
    frame = times.collect()
    simulated = sweep.machine is not None
    twin = twin_of(times, sweep.baseline)
    compared: dict[tuple[str, str], Comparison] = {}
    rows: list[dict[str, Any]] = []
    parts: list[tuple[int, Claim, list[dict[str, Any]]]] = []
    details = []
    for number, (branch, hypothesis, claim) in enumerate(claims_of(sweep), start=1):
        against = claim.against or sweep.baseline
        row = {
            "claim": number,
            "branch": branch,
            "expect": claim.expect,
            "against": against,
            "workloads": ",".join(claim.workloads),
            "threads": claim.threads or "",
            "quantity": claim.quantity,
            "hypothesis": hypothesis,
        }
        compared_with_itself = f"`{branch}` is the branch that this sweep compares with"
        why = (
            compared_with_itself if branch == against else _untestable(sweep, frame, branch, claim)
        )
        if why or against is None:
            rows.append(row | {"verdict": UNTESTED, "reason": why or "the sweep has no baseline"})
            continue
        # The noise floor comes from the branch that ran twice, which may not be `against`.
        twinned = twin.removesuffix(TWIN_SUFFIX) if twin else against
        quantities = (
            claim.quantity,
            *(WAITS if claim.quantity == "time" and claim.expect in OF_EACH else ()),
        )
        for quantity in quantities:
            for base in (twinned, against):
                noise = compared.get((twinned, quantity))
                if (base, quantity) not in compared:
                    compared[base, quantity] = Comparison(
                        times, base, quantity, noise, simulated=simulated
                    )
        found = _asked(sweep, claim, compared[against, claim.quantity], "overall", branch)
        if not found:
            reason = f"no configuration has good trials of `{branch}` and `{against}`"
            rows.append(row | {"verdict": UNTESTED, "reason": reason})
            continue
        rows.append(row | _told(sweep, found[0]))
        each = [
            it for level in (("workload", "cell") if claim.expect in OF_EACH else ("workload",))
            for quantity in quantities
            for it in _asked(sweep, claim, compared[against, quantity], level, branch)
        ]  # fmt: skip
        parts.append((len(rows) - 1, claim, [row | _told(sweep, it) for it in each]))
    tested = sum(row.get("verdict") is None for row in rows)
    for at, claim, each in parts:
        of_each = claim.expect in OF_EACH
        part = _decided(each, tested if of_each else 1, simulated=simulated)
        details.append(part.select(CLAIM_DETAILS.names()))
        if of_each and rows[at].get("verdict") is None:
            rows[at] |= _tallied(sweep, claim, part)
    return Checked(
        _decided(rows, 1, simulated=simulated).select(CLAIMS.names()),
        pl.concat(details) if details else pl.DataFrame(schema=CLAIM_DETAILS),
    )


def _tallied(sweep: Sweep, claim: Claim, parts: pl.DataFrame) -> dict[str, str]:
    """Result and reason of a hypothesis about each workload.

    The reason has the number of parts with each result, and the largest change that is not ruled out.
    """
    planned = sweep.trials.filter(_named(sweep, claim) & (pl.col("program") == PARALLEL)).collect()
    cells = planned.select(PLACE).n_unique()
    missing = (
        cells - parts.filter(pl.col("at_threads").is_not_null(), quantity=claim.quantity).height
    )
    number = {verdict: parts.filter(verdict=verdict).height for verdict in RESULTS}
    number[UNTESTED] += missing
    told = f"of each workload and thread count {', '.join(f'{count} {verdict}' for verdict, count in number.items())}"
    sides = {
        "equal": pl.max_horizontal(pl.col("ratio_high"), 1 / pl.col("ratio_low")),
        "no-slower": pl.col("ratio_high"),
        "no-faster": 1 / pl.col("ratio_low"),
    }
    open_parts = (
        parts.filter(pl.col("verdict") != HELD)
        .with_columns(worst=sides[claim.expect])
        .drop_nulls("worst")
    )
    if open_parts.height:
        worst = with_panel(open_parts).sort("worst", descending=True).row(0, named=True)
        side = worst["ratio_low"] if worst["worst"] != worst["ratio_high"] else worst["ratio_high"]
        threads = f", {count(worst['at_threads'], 'thread')}" if worst["at_threads"] else ""
        told += f"; not ruled out: {percent(side)} {QUANTITY_NAMES[worst['quantity']]} on {worst['panel']}{threads}"
    verdict = (
        FALSIFIED if number[FALSIFIED]
        else UNTESTED if number[UNTESTED] == sum(number.values())
        else OPEN if number[OPEN] or number[UNTESTED]
        else HELD
    )  # fmt: skip
    return {"verdict": verdict, "reason": told}


def _decided(rows: list[dict[str, Any]], claims: int, *, simulated: bool) -> pl.DataFrame:
    """Correct the p-values of these rows for their number and that of `claims`; fill in missing results."""
    table = pl.DataFrame(rows, schema=_COLUMNS)
    known = table["p_value"].is_not_null().to_numpy() & table["band"].is_not_null().to_numpy()
    p_holm, detectable = np.full((2, table.height), np.nan)
    if known.any():
        p_holm[known] = np.minimum(claims * holm(table["p_value"].to_numpy()[known]), 1.0)
        detectable[known] = detectable_ratio(
            table.filter(known), ALPHA / (claims * int(known.sum()))
        )
    is_open = pl.col("verdict").is_null()
    drifted = pl.lit("the ratio drifted over the sweep by more than it differs from 1")
    return table.with_columns(
        pl.Series("p_holm", p_holm, dtype=pl.Float64).fill_nan(None),
        pl.Series("detectable", detectable, dtype=pl.Float64).fill_nan(None),
    ).with_columns(
        pl.when(is_open)
        .then(_result(simulated=simulated))
        .otherwise(pl.col("verdict"))
        .alias("verdict"),
        pl.when(drifts(simulated=simulated) & is_open)
        .then(drifted)
        .otherwise(pl.col("reason"))
        .alias("reason"),
    )


def _result(*, simulated: bool) -> pl.Expr:
    """The result of a tested hypothesis, or of a part, from its corrected comparison."""
    ratio, low, high = pl.col("time_ratio"), pl.col("ratio_low"), pl.col("ratio_high")
    difference = differs("p_holm", simulated=simulated)
    margin = pl.when(pl.col("at_threads").is_null()).then(MARGIN).otherwise(CELL_MARGIN)
    not_above, not_below = high < margin, low > 1 / margin
    above, below = difference & (low > margin), difference & (high < 1 / margin)
    outcomes = {
        "faster": (difference & (ratio < 1), difference & (ratio > 1)),
        "slower": (difference & (ratio > 1), difference & (ratio < 1)),
        "equal": (not_above & not_below, above | below),
        "no-slower": (not_above, above),
        "no-faster": (not_below, below),
    }
    found = pl.lit(OPEN)
    for expect, (held, refuted) in outcomes.items():
        mine = pl.col("expect") == expect
        found = (
            pl.when(mine & held)
            .then(pl.lit(HELD))
            .when(mine & refuted)
            .then(pl.lit(FALSIFIED))
            .otherwise(found)
        )
    return pl.when(drifts(simulated=simulated)).then(pl.lit(UNTESTED)).otherwise(found)


def _told(sweep: Sweep, found: dict[str, Any]) -> dict[str, Any]:
    """The columns of a hypothesis from its comparison; if it is not testable, the result, too."""
    row: dict[str, Any] = {
        name: found[name]
        for name in found
        if name in _COLUMNS and name not in ("branch", "threads")
    } | {"at_threads": found["threads"]}
    if found["p_value"] is None:
        units = count(found["units"], sweep.replicates.unit)
        return row | {
            "verdict": UNTESTED,
            "reason": f"{units} of each branch are too few, {FEWEST_UNITS} are needed",
        }
    if found["band"] is None:
        return row | {"verdict": UNTESTED, "reason": "no A/A control ran, so the noise is unknown"}
    return row


def _untestable(sweep: Sweep, times: pl.DataFrame, branch: str, claim: Claim) -> str | None:
    """The reason why a hypothesis cannot be tested, if this is known before the comparison."""
    present = set(times["branch"])
    missing = [
        name
        for name in (branch, claim.against or sweep.baseline)
        if name is not None and name not in present
    ]
    if missing:
        return f"`{missing[0]}` has no good trial in this sweep"
    if claim.workloads:
        times = times.filter(pl.col("workload").is_in(claim.workloads))
        if times.is_empty():
            return "none of its workloads is in this sweep"
    if claim.threads is None:
        return None
    first, last = _threads(sweep, claim.threads)
    if first > last:
        return f"`{claim.threads}` is empty on this host, whose CPUs are {sweep.host.get('cpus_usable')}"
    if times.filter(pl.col("threads").is_between(first, last)).is_empty():
        return f"no thread count in `{claim.threads}` was measured"
    return None


def _named(sweep: Sweep, claim: Claim) -> pl.Expr:
    """The configurations of the hypothesis."""
    first, last = _threads(sweep, claim.threads) if claim.threads is not None else (1, MOST_THREADS)
    named = pl.col("workload").is_in(claim.workloads) if claim.workloads else pl.lit(value=True)
    return named & pl.col("threads").is_between(first, last)


def _asked(
    sweep: Sweep, claim: Claim, compared: Comparison, level: str, branch: str
) -> list[dict[str, Any]]:
    """The rows of one branch and level for the hypothesis."""
    if branch not in compared.branches:
        return []
    meant = compared.units.cells.select(_named(sweep, claim)).to_series().to_numpy()
    return (
        compared.rows(level, compared.groups(level, meant)).filter(branch=branch).rows(named=True)
    )


def _threads(sweep: Sweep, text: str) -> tuple[int, int]:
    cpus, cores = sweep.host.get("cpus_usable"), sweep.host.get("cores")
    # Where the host shows no topology, the runner counts a CPU as a core.
    has = {"cpus": cpus, "cores": cpus if cores is None else cores}
    return thread_range(text, has, str(sweep.path / "host.json"))


def thread_range(text: str, has: dict[str, Any], where: str) -> tuple[int, int]:
    """The minimum and maximum threads of a range like `8`, `8..`, `..=cpus` or `16..=cores`, both ends included.

    Raises:
        InputError: the text is not a range, or names a fact that `has`, the host's facts, lacks.
    """
    end = r"[1-9][0-9]*|cpus|cores"
    found = re.fullmatch(rf"(?P<one>{end})|(?P<first>{end})?\.\.(?:=(?P<last>{end}))?", text)
    if found is None or text == "..":
        raise InputError(
            where,
            f"`{text}` is not a range of threads",
            "write for example 8, 8.., ..=cpus or 16..=cores",
        )

    def number(name: str, default: int) -> int:
        word = found["one"] or found[name]
        if word is None:
            return default
        if word.isdecimal():
            return int(word)
        if not isinstance(has[word], int):
            raise InputError(
                where,
                f"a hypothesis names the host's `{word}`, which is unknown",
                "sweep again on that host",
            )
        return int(has[word])

    return number("first", 1), number("last", MOST_THREADS)
