"""Computes the scheduler's events per unit of work from instrumented builds, whose times are not used.

A count is summed over all threads and divided by the work of its trial; the result is the median over
trials. Instrumented trials are few, so the spread is given as the smallest and the largest count.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from sweep_analysis.read.frames import EVENT_RATES, LINE_RATES, cast_to
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import POOL_CELL

LOADS, WRITES, CAS_FAILURES = "_loads", "_rmws", "_cas_failures"
"""Suffixes of events that are accesses to a counter word; the prefix is the name of the word."""

HEADLINE = {
    "writes": "counter writes",
    "loads": "counter loads",
    "steals_tried": "steals tried",
    "steals_won": "steals won",
    "searches": "searches",
    "sleeps": "sleeps",
    "wakes_sent": "wakes",
    "wakes_in_vain": "spurious wakes",
    "wakes_stacked": "wakes onto a busy CPU",
}
"""Names of the events in charts and tables. The first two are sums over all counter words."""

_KEPT = [*POOL_CELL, "oversubscribed", "work_unit"]


def event_rates(sweep: Sweep) -> pl.LazyFrame:
    """Compute the number of events of each kind per unit of work. Out: rows of `frames.EVENT_RATES`."""
    return _medians(_trial_rates(sweep))


def headline_rates(sweep: Sweep) -> pl.LazyFrame:
    """Compute the events of `HEADLINE`, whose keys are in the column `event`. Out: rows of `frames.EVENT_RATES`."""
    rates = _trial_rates(sweep)
    words = [
        rates.filter(pl.col("event").str.ends_with(ending)).with_columns(
            pl.lit(name).alias("event")
        )
        for name, ending in (("writes", WRITES), ("loads", LOADS))
    ]
    # A build that does not count an event gets no row for it: a zero would say that the event did not occur.
    single = rates.filter(pl.col("event").is_in(list(HEADLINE)))
    summed = (
        pl.concat([*words, single])
        .group_by([*_KEPT, "trial", "event"])
        .agg(pl.col("per_unit").sum())
    )
    return _medians(summed)


def line_rates(sweep: Sweep) -> pl.LazyFrame:
    """Compute the accesses of threads to each cache line of the counters, per unit of work.

    In a build with the feature `cache-padded` each counter word has its own line; otherwise all words share one line.
    Out: rows of `frames.LINE_RATES`.
    """
    padded = pl.col("branch").is_in(_padded(sweep))
    word = pl.col("event").str.extract(f"^(.+?)(?:{LOADS}|{WRITES}|{CAS_FAILURES})$")
    accesses = (
        _trial_rates(sweep).with_columns(word.alias("word")).filter(pl.col("word").is_not_null())
    )
    trial = [*_KEPT, "trial"]
    together = pl.col("word").unique(maintain_order=True).str.join(" + ").over(trial)
    lines = accesses.sort([*trial, "word"]).with_columns(
        pl.when(padded).then(pl.col("word")).otherwise(together).alias("line")
    )
    per_trial = lines.group_by([*trial, "line"]).agg(
        *(
            pl.col("per_unit").filter(pl.col("event") == pl.col("word") + ending).sum().alias(name)
            for name, ending in (
                ("loads", LOADS),
                ("writes", WRITES),
                ("cas_failures", CAS_FAILURES),
            )
        )
    )
    return (
        per_trial.group_by([*_KEPT, "line"])
        .agg(
            pl.len().alias("trials"),
            pl.col("loads", "writes", "cas_failures").median(),
            pl.col("writes").min().alias("writes_low"),
            pl.col("writes").max().alias("writes_high"),
        )
        .select(cast_to(LINE_RATES))
        .sort([*POOL_CELL, "line"], nulls_last=True)
    )


def writes_per_push(sweep: Sweep) -> pl.DataFrame:
    """Compute the writes per push of the cache line that every push reads, which has the count of sleepers.

    Out: `schema.POOL_CELL`, `oversubscribed`, `writes_per_push`; rows without a push are left out.
    """
    read = line_rates(sweep).filter(pl.col("line").str.contains("sleeping|packed_word"))
    pushes = event_rates(sweep).filter(pl.col("event") == "pushes", pl.col("per_unit") > 0)
    return (
        read.join(pushes.select(*POOL_CELL, "per_unit"), on=POOL_CELL, nulls_equal=True)
        .select(*POOL_CELL, "oversubscribed", writes_per_push=pl.col("writes") / pl.col("per_unit"))
        .sort(POOL_CELL)
        .collect()
    )


def scale(per_unit: pl.Series) -> tuple[int, str]:
    """The number of units of work (and its name) for which the largest of these rates is at least 1."""
    largest: Any = per_unit.max()
    for factor, words in ((1, ""), (10**3, "1 000 "), (10**6, "million ")):
        if not largest or largest * factor >= 1:
            return factor, words
    return 10**9, "billion "


def _trial_rates(sweep: Sweep) -> pl.LazyFrame:
    """Make a row per counted trial and event, with `per_unit` summed over all threads."""
    totals = sweep.events.group_by("trial", "event", "work_units").agg(pl.col("count").sum())
    places = sweep.counted.with_columns(pl.col("input").fill_null("")).select([*_KEPT, "trial"])
    return places.join(totals, on="trial").select(
        *_KEPT, "trial", "event", (pl.col("count") / pl.col("work_units")).alias("per_unit")
    )


def _medians(rates: pl.LazyFrame) -> pl.LazyFrame:
    per_unit = pl.col("per_unit")
    return (
        rates.group_by([*_KEPT, "event"])
        .agg(
            pl.len().alias("trials"),
            per_unit.median(),
            per_unit.min().alias("per_unit_low"),
            per_unit.max().alias("per_unit_high"),
        )
        .select(cast_to(EVENT_RATES))
        .sort([*POOL_CELL, "event"])
    )


def _padded(sweep: Sweep) -> list[str]:
    """Branches whose counter words have cache lines of their own."""
    return [
        branch["name"]
        for branch in sweep.manifest.get("branches", [])
        if "cache-padded" in (branch.get("source") or {}).get("features", [])
    ]
