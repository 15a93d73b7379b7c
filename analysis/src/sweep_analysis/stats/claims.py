"""Tests the pre-registered hypotheses of a sweep, which are the `claims` of `branches.toml`.

`faster` and `slower` pool the configurations that they name (`compare.POOLED`). Such a hypothesis is
held if the comparison finds this sign, and falsified if it finds the opposite sign.

`equal`, `no-slower` and `no-faster` have a part for each workload and each of its thread counts, because in
a mean a gain on one workload could hide a loss on another. A part is held if the whole interval lies within
the margin on the sides that the hypothesis names. A part is falsified if the interval lies beyond the
margin and the comparison is significant. The hypothesis is held if all parts are held, and falsified
if any part is falsified. Such a hypothesis about wall time also covers the latencies that a workload reports.

The hypotheses were written down before the sweep, so they are a separate family of tests, and the
correction covers only hypotheses and their parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.frames import CLAIM_DETAILS, CLAIMS, COMPARISONS
from sweep_analysis.read.labels import QUANTITY_NAMES, count, percent, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, PLACE
from sweep_analysis.read.written import wrong_field
from sweep_analysis.stats.compare import (
    ALPHA,
    UNTESTED,
    WAITS,
    Comparisons,
    detectable_ratio,
    differs,
    drifts,
    holm,
)
from sweep_analysis.stats.location import FEWEST_UNITS

HELD = "held"
FALSIFIED = "falsified"
OPEN = "inconclusive"
RESULTS = (HELD, FALSIFIED, OPEN, UNTESTED)

_Expectation = Literal["faster", "slower", "equal", "no-faster", "no-slower"]
_Quantity = Literal["time", "cpu", "p50", "p99", "cycles"]

OF_EACH = ("equal", "no-slower", "no-faster")
"""Expectations that are about each workload and thread count."""

MARGIN = 1.02
"""Ratio up to which a workload counts as equal."""
CELL_MARGIN = 1.05
"""Ratio up to which a workload at one thread count counts as equal."""

MOST_THREADS = 1 << 30
"""Upper end of a range of threads that names no upper end."""

_COLUMNS = pl.Schema(
    CLAIMS
    | CLAIM_DETAILS
    | {
        name: COMPARISONS[name]
        for name in ("units", "ratio_drift", "p_drift", "degrees", "is_bimodal")
    }
    | {"error": pl.Float64}
)
"""Columns that the test of a hypothesis uses."""

_Row = dict[str, Any]


class Claim(msgspec.Struct):
    """One entry of `branches[].claims` in the manifest."""

    expect: _Expectation
    against: str | None = None
    workloads: list[str] = []
    threads: str | None = None
    quantity: _Quantity = "time"
    figure: _Quantity | None = None

    def __post_init__(self) -> None:
        """Accept `figure`, the name of `quantity` in older manifests."""
        self.quantity = self.figure or self.quantity


def claims_of(sweep: Sweep) -> list[tuple[str, str, Claim]]:
    """List every claim of the manifest with its branch and that branch's `hypothesis`.

    Raises:
        InputError: a claim does not have the form that `branches.toml` describes.
    """
    found = []
    for entry in sweep.manifest.get("branches", []):
        for index, written in enumerate(entry.get("claims", [])):
            where = f"{sweep.path / 'manifest.json'}: branch `{entry['name']}`, `claims[{index}]`"
            try:
                claim = msgspec.convert(written, Claim)
            except msgspec.ValidationError as error:
                remedy = "see the first lines of branches.toml for the format"
                raise InputError(where, wrong_field(error, written), remedy) from error
            if claim.threads is not None:
                thread_range(claim.threads, {"cpus": 1, "cores": 1}, f"{where}, field `threads`")
            found.append((entry["name"], entry.get("hypothesis") or "", claim))
    return found


@dataclass(frozen=True)
class Checked:
    """Results of the pre-registered hypotheses of a sweep.

    Attributes:
        claims: rows of `frames.CLAIMS`, in the order of the manifest; empty if the sweep has no hypothesis.
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
    compared = Comparisons(times, sweep.baseline, simulated=simulated)

    def comparisons(
        claim: Claim, branch: str, against: str, quantity: str, level: str
    ) -> list[_Row]:
        own = compared.against(against, quantity)
        named = own.units.cells.select(_named(sweep, claim)).to_series().to_numpy()
        found = own.rows(level, own.groups(level, named))
        return found.filter(branch=branch).rows(named=True)

    rows: list[_Row] = []
    parts: list[tuple[int, Claim, list[_Row]]] = []
    for number, (branch, hypothesis, claim) in enumerate(claims_of(sweep), start=1):
        against = claim.against or sweep.baseline
        row: _Row = {
            "claim": number,
            "branch": branch,
            "expect": claim.expect,
            "against": against,
            "workloads": ",".join(claim.workloads),
            "threads": claim.threads or "",
            "quantity": claim.quantity,
            "hypothesis": hypothesis,
        }
        why = _untestable(sweep, frame, branch, claim)
        if why is None and against is not None:
            found = comparisons(claim, branch, against, claim.quantity, "overall")
            if found:
                rows.append(row | _measured(sweep, found[0]))
                of_each = claim.expect in OF_EACH
                waits = WAITS if claim.quantity == "time" and of_each else ()
                each = [
                    row | _measured(sweep, it)
                    for level in (("workload", "cell") if of_each else ("workload",))
                    for quantity in (claim.quantity, *waits)
                    for it in comparisons(claim, branch, against, quantity, level)
                ]
                parts.append((len(rows) - 1, claim, each))
                continue
            each = comparisons(claim, branch, against, claim.quantity, "cell")
            why = f"no configuration has good trials of `{branch}` and `{against}`"
            if each and all(it["is_bimodal"] for it in each):
                why = "every configuration is bimodal"
        rows.append(row | {"verdict": UNTESTED, "reason": why or "the sweep has no baseline"})
    tested = sum(row.get("verdict") is None for row in rows)
    details = [pl.DataFrame(schema=CLAIM_DETAILS)]
    for at, claim, each in parts:
        of_each = claim.expect in OF_EACH
        part = _decided(each, tested if of_each else 1, simulated=simulated)
        details.append(part.select(CLAIM_DETAILS.names()))
        if of_each and rows[at].get("verdict") is None:
            rows[at] |= _of_parts(sweep, claim, part)
    claims = _decided(rows, 1, simulated=simulated).select(CLAIMS.names())
    return Checked(claims, pl.concat(details))


def _of_parts(sweep: Sweep, claim: Claim, parts: pl.DataFrame) -> dict[str, str]:
    """Result and reason of a hypothesis with parts; the reason names the largest change that is not ruled out."""
    planned = sweep.trials.filter(_named(sweep, claim) & (pl.col("program") == PARALLEL)).collect()
    cells = parts.filter(pl.col("at_threads").is_not_null(), quantity=claim.quantity).height
    number = {verdict: parts.filter(verdict=verdict).height for verdict in RESULTS}
    number[UNTESTED] += planned.select(PLACE).n_unique() - cells
    counts = ", ".join(f"{parts} {verdict}" for verdict, parts in number.items())
    reason = f"of each workload and thread count {counts}"
    above, below = pl.col("ratio_high"), 1 / pl.col("ratio_low")
    sides = {"equal": pl.max_horizontal(above, below), "no-slower": above, "no-faster": below}
    not_held = parts.filter(pl.col("verdict") != HELD).with_columns(worst=sides[claim.expect])
    not_held = with_panel(not_held.drop_nulls("worst")).sort("worst", descending=True)
    for worst in not_held.head(1).rows(named=True):
        side = worst["ratio_low"] if worst["worst"] != worst["ratio_high"] else worst["ratio_high"]
        threads = f", {count(worst['at_threads'], 'thread')}" if worst["at_threads"] else ""
        reason += f"; not ruled out: {percent(side)} {QUANTITY_NAMES[worst['quantity']]} on {worst['panel']}{threads}"
    verdict = HELD
    if number[FALSIFIED]:
        verdict = FALSIFIED
    elif number[UNTESTED] == sum(number.values()):
        verdict = UNTESTED
    elif number[OPEN] or number[UNTESTED]:
        verdict = OPEN
    return {"verdict": verdict, "reason": reason}


def _decided(rows: list[_Row], claims: int, *, simulated: bool) -> pl.DataFrame:
    """Correct the p-values of `rows` for the number of rows and of `claims`, and fill in missing results."""
    table = pl.DataFrame(rows, schema=_COLUMNS)
    is_bimodal = pl.col("is_bimodal").fill_null(value=False)
    is_known = pl.col("p_value").is_not_null() & pl.col("band").is_not_null() & ~is_bimodal
    known = table.select(is_known).to_series().to_numpy()
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
    ratio = pl.col("time_ratio")
    difference = differs("p_holm", simulated=simulated)
    margin = pl.when(pl.col("at_threads").is_null()).then(MARGIN).otherwise(CELL_MARGIN)
    not_above, not_below, above, below = beside_margin(margin, simulated=simulated)
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


def beside_margin(margin: pl.Expr, *, simulated: bool) -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Where the interval of a row lies: not above the margin, not below 1/margin, above the margin, below 1/margin.

    The last two also require a significant difference (`p_holm`).
    """
    low, high = pl.col("ratio_low"), pl.col("ratio_high")
    difference = differs("p_holm", simulated=simulated)
    return (
        high < margin,
        low > 1 / margin,
        difference & (low > margin),
        difference & (high < 1 / margin),
    )


def _measured(sweep: Sweep, found: _Row) -> _Row:
    """The columns of a hypothesis from its comparison, and its result if it cannot be tested."""
    row = {name: found[name] for name in _COLUMNS if name in found}
    row = {name: value for name, value in row.items() if name not in ("branch", "threads")}
    row["at_threads"] = found["threads"]
    why = reason_untested(sweep, found)
    return row if why is None else row | {"verdict": UNTESTED, "reason": why}


def reason_untested(sweep: Sweep, found: _Row) -> str | None:
    """The reason why a row of `Comparison.rows` cannot be tested; None if it can."""
    if found["p_value"] is None:
        units = count(found["units"], sweep.replicates.unit)
        return f"{units} of each branch are too few, {FEWEST_UNITS} are needed"
    if found["band"] is None:
        return "no A/A control ran, so the noise is unknown"
    return "it is bimodal" if found["is_bimodal"] else None


def _untestable(sweep: Sweep, times: pl.DataFrame, branch: str, claim: Claim) -> str | None:
    """The reason why a hypothesis cannot be tested, if this is known before the comparison."""
    against = claim.against or sweep.baseline
    if branch == against:
        return f"`{branch}` is the branch that this sweep compares with"
    for name in (branch, against):
        if name is not None and name not in times["branch"]:
            return f"`{name}` has no good trial in this sweep"
    if claim.workloads:
        times = times.filter(pl.col("workload").is_in(claim.workloads))
        if times.is_empty():
            return "none of its workloads is in this sweep"
    first, last = _threads(sweep, claim)
    if first > last:
        return f"`{claim.threads}` is empty on this host, whose CPUs are {sweep.host.get('cpus_usable')}"
    if times.filter(pl.col("threads").is_between(first, last)).is_empty():
        return f"no thread count in `{claim.threads}` was measured"
    return None


def _named(sweep: Sweep, claim: Claim) -> pl.Expr:
    named = pl.col("workload").is_in(claim.workloads) if claim.workloads else pl.lit(value=True)
    return named & pl.col("threads").is_between(*_threads(sweep, claim))


def _threads(sweep: Sweep, claim: Claim) -> tuple[int, int]:
    cpus, cores = sweep.host.get("cpus_usable"), sweep.host.get("cores")
    # If the host reports no topology, the runner counts each CPU as a core.
    has = {"cpus": cpus, "cores": cpus if cores is None else cores}
    return thread_range(claim.threads or "1..", has, str(sweep.path / "host.json"))


def thread_range(text: str, has: Mapping[str, int | None], where: str) -> tuple[int, int]:
    """The minimum and maximum threads of a range like `8`, `8..`, `..=cpus` or `16..=cores`, both ends included.

    Raises:
        InputError: the text is not a range, or names a fact that is missing in `has`, the host's facts.
    """
    end = r"[1-9][0-9]*|cpus|cores"
    found = re.fullmatch(rf"({end})|({end})?\.\.(?:=({end}))?", text)
    if found is None or text == "..":
        remedy = "write for example 8, 8.., ..=cpus or 16..=cores"
        raise InputError(where, f"`{text}` is not a range of threads", remedy)
    one, first, last = found.groups()
    ends = []
    for word in (one or first or "1", one or last or str(MOST_THREADS)):
        number = int(word) if word.isdecimal() else has[word]
        if number is None:
            what = f"a hypothesis names the host's `{word}`, which is unknown"
            raise InputError(where, what, "sweep again on that host")
        ends.append(number)
    return ends[0], ends[1]
