"""Checks what `branches.toml` claimed before the sweep against what the sweep shows.

A claim pools all cells that it names and the sweep has. `faster` and `slower` are held if the comparison finds just
that, after correction for the number of claims, and refuted if it finds the opposite. `equal`, `no-slower` and
`no-faster` are held only if the whole interval lies within `MARGIN` on the sides that they name (not being able to
tell proves nothing), and refuted if it lies beyond and the comparison finds a difference.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import polars as pl

from sweep_analysis.compare import FEWEST_PAIRS, FIGURES, compare, differs, drifts, holm
from sweep_analysis.errors import InputError
from sweep_analysis.frames import CLAIMS
from sweep_analysis.load import Sweep
from sweep_analysis.schema import TWIN_SUFFIX

HELD = "held"
REFUTED = "refuted"
OPEN = "not distinguishable"
UNTESTED = "not tested"
VERDICTS = (HELD, REFUTED, OPEN, UNTESTED)

EXPECTATIONS = ("faster", "slower", "equal", "no-faster", "no-slower")

MARGIN = 1.02
"""Ratio up to which branches count as equal: what the calibration allows a mean, too."""


class Claim(msgspec.Struct):
    """One entry of `branches[].claims` in the manifest."""

    expect: str
    against: str | None = None
    workloads: list[str] = []
    threads: str | None = None
    figure: str = "time"


def claims_of(sweep: Sweep) -> list[tuple[str, str, Claim]]:
    """Every claim of the manifest with its branch and that branch's hypothesis.

    Raises:
        InputError: a claim is not of the form of `results/README.md`.
    """
    found = []
    for entry in sweep.manifest.get("branches", []):
        for index, written in enumerate(entry.get("claims", []) if isinstance(entry, dict) else []):
            where = f"{sweep.path / 'manifest.json'}: branch `{entry.get('name')}`, field `claims[{index}]"
            try:
                claim = msgspec.convert(written, Claim)
            except msgspec.ValidationError as error:
                raise InputError(where + "`", str(error), "see results/README.md for the format") from error
            for name, value, known in (("expect", claim.expect, EXPECTATIONS), ("figure", claim.figure, FIGURES)):
                if value not in known:
                    raise InputError(f"{where}.{name}`", f"unknown value `{value}`", f"known: {', '.join(known)}")
            if claim.threads is not None:
                thread_range(claim.threads, {"cpus": 1, "cores": 1}, f"{where}.threads`")
            found.append((str(entry["name"]), str(entry.get("hypothesis") or ""), claim))
    return found


def check_claims(sweep: Sweep, times: pl.LazyFrame) -> pl.DataFrame:
    """Say of every claim of the sweep's manifest what the trials say.

    In:  rows of `frames.TIMES` of the same sweep.
    Out: rows of `frames.CLAIMS`, in the order of the manifest; empty if nothing was claimed.

    Raises:
        InputError: a claim is not of the form of `results/README.md`.
    """
    frame = times.collect()
    rows = [_row(sweep, frame, branch, hypothesis, claim) for branch, hypothesis, claim in claims_of(sweep)]
    table = pl.DataFrame(
        rows,
        schema=CLAIMS | {"units": pl.Int64, "ratio_drift": pl.Float64, "p_drift": pl.Float64, "p_rank": pl.Float64},
    )
    tested = table["verdict"].is_null().to_numpy()
    p_holm = np.full(table.height, np.nan)
    if tested.any():
        p_holm[tested] = holm(table["p_t"].to_numpy()[tested])
    return (
        table.with_columns(pl.Series("p_holm", p_holm, dtype=pl.Float64).fill_nan(None))
        .with_columns(
            pl.when(pl.col("verdict").is_null()).then(_verdict()).otherwise(pl.col("verdict")).alias("verdict"),
            pl.when(drifts() & pl.col("verdict").is_null())
            .then(pl.lit("the ratio drifted over the sweep by more than it differs from 1"))
            .otherwise(pl.col("reason"))
            .alias("reason"),
        )
        .select(CLAIMS.names())
    )


def _verdict() -> pl.Expr:
    """The verdict of a tested claim, from its corrected comparison."""
    ratio, low, high = pl.col("time_ratio"), pl.col("ratio_low"), pl.col("ratio_high")
    difference = differs(pl.col("p_holm"))
    not_above, not_below = high < MARGIN, low > 1 / MARGIN
    above, below = difference & (low > MARGIN), difference & (high < 1 / MARGIN)
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
        found = pl.when(mine & held).then(pl.lit(HELD)).when(mine & refuted).then(pl.lit(REFUTED)).otherwise(found)
    return pl.when(drifts()).then(pl.lit(UNTESTED)).otherwise(found)


def _row(sweep: Sweep, times: pl.DataFrame, branch: str, hypothesis: str, claim: Claim) -> dict[str, Any]:
    """One claim with its comparison; `verdict` is None where it can be given, else `UNTESTED` with the reason."""
    against = claim.against or sweep.baseline
    row: dict[str, Any] = {
        "branch": branch,
        "expect": claim.expect,
        "against": against,
        "workloads": ",".join(claim.workloads),
        "threads": claim.threads or "",
        "figure": claim.figure,
        "hypothesis": hypothesis,
    }
    cells, why = _cells(sweep, times, claim)
    missing = [name for name in (branch, against) if name not in set(times["branch"])]
    if missing:
        why = f"`{missing[0]}` has no good trial in this sweep"
    if why or against is None:
        return row | {"verdict": UNTESTED, "reason": why or "the sweep has no baseline"}
    names = [branch, against, *(name for name in set(times["branch"]) if _is_twin_or_twinned(name, times))]
    compared = compare(cells.filter(pl.col("branch").is_in(names)).lazy(), against, claim.figure)
    mine = compared.filter((pl.col("level") == "overall") & (pl.col("branch") == branch))
    if mine.is_empty():
        return row | {"verdict": UNTESTED, "reason": f"no cell has good trials of `{branch}` and `{against}`"}
    found = mine.row(0, named=True)
    figures = ("cells", "pairs", "units", "time_ratio", "ratio_low", "ratio_high", "band", "p_t", "p_rank")
    row |= {name: found[name] for name in (*figures, "ratio_drift", "p_drift")}
    if found["band"] is None:
        return row | {"verdict": UNTESTED, "reason": "no A/A twin ran, so the noise is unknown"}
    if found["pairs"] < FEWEST_PAIRS:
        return row | {"verdict": UNTESTED, "reason": f"{found['pairs']} pairs are too few, {FEWEST_PAIRS} are needed"}
    return row


def _is_twin_or_twinned(name: str, times: pl.DataFrame) -> bool:
    return name.endswith(TWIN_SUFFIX) or name + TWIN_SUFFIX in set(times["branch"])


def _cells(sweep: Sweep, times: pl.DataFrame, claim: Claim) -> tuple[pl.DataFrame, str | None]:
    """The trials that a claim is about, and why there are none."""
    if claim.workloads:
        times = times.filter(pl.col("workload").is_in(claim.workloads))
        if times.is_empty():
            return times, "none of its workloads is in this sweep"
    if claim.threads is None:
        return times, None
    has = {"cpus": sweep.host.get("cpus_usable"), "cores": sweep.host.get("cores")}
    first, last = thread_range(claim.threads, has, str(sweep.path / "host.json"))
    if first > last:
        return times.clear(), f"`{claim.threads}` is empty on this host, whose CPUs are {has['cpus']}"
    chosen = times.filter(pl.col("threads").is_between(first, last))
    return chosen, f"no thread count in `{claim.threads}` was measured" if chosen.is_empty() else None


def thread_range(text: str, has: dict[str, Any], where: str) -> tuple[int, int]:
    """Least and most threads of a range like `8`, `8..`, `..=cpus` or `16..=cores`, both ends included.

    Raises:
        InputError: it is no range, or names what `has`, the host's facts, do not tell.
    """
    end = r"[1-9][0-9]*|cpus|cores"
    found = re.fullmatch(rf"(?P<one>{end})|(?P<first>{end})?\.\.(?:=(?P<last>{end}))?", text)
    if found is None or text == "..":
        raise InputError(where, f"`{text}` is no range of threads", "write for example 8, 8.., ..=cpus or 16..=cores")

    def number(name: str, default: int) -> int:
        word = found["one"] or found[name]
        if word is None:
            return default
        if word.isdecimal():
            return int(word)
        if not isinstance(has[word], int):
            raise InputError(where, f"the host's `{word}` is unknown, which a claim names", "sweep again on that host")
        return int(has[word])

    return number("first", 1), number("last", 1 << 30)
