"""Attributes the time of a simulated machine to activities of its cores, and to source lines that waited.

Shares are ratios of sums over the trials of a configuration, not averages of trials, so they add up to one.
"""

from __future__ import annotations

import math

import polars as pl

from sweep_analysis.read.frames import LINE_WAIT_RATES, SENSITIVITY, SPENT_SHARES
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PANEL, PARALLEL, PLACE, POOL_CELL
from sweep_analysis.stats.compare import LEAST_SIMULATED, QUANTITIES
from sweep_analysis.stats.states import of_cells

SPENT_ON = {
    "work": "work",
    "jobs": "push and pop",
    "search": "search",
    "lines": "waiting for lines",
    "system": "system",
    "waking": "waking up, and waiting for a core",
    "asleep": "asleep",
}
"""Names of a core's activities, in the order of the chart."""


def spent_shares(sweep: Sweep) -> pl.DataFrame:
    """Shares of the cores' time by activity.

    Out: rows of `frames.SPENT_SHARES`, one per configuration of the pool's program and key of
         `SPENT_ON`; none if the sweep was measured.
    """
    if sweep.machine is None:  # This saves a join of all trials with an empty frame.
        return pl.DataFrame(schema=SPENT_SHARES)
    spent = (
        sweep.spent.join(_trials(sweep), on="trial")
        .group_by([*POOL_CELL, "spent_on"])
        .agg(pl.col("spent_ns").sum())
    )
    found = spent.join(_cells(sweep), on=POOL_CELL, nulls_equal=True).with_columns(
        ns_per_unit=pl.col("spent_ns") / pl.col("units"),
        share=pl.col("spent_ns") / pl.col("spent_ns").sum().over(POOL_CELL),
    )
    order = pl.col("spent_on").cast(pl.Enum(list(SPENT_ON)))
    return (
        found.sort([*POOL_CELL, order])
        .select(pl.col(name).cast(kind) for name, kind in SPENT_SHARES.items())
        .collect()
    )


def line_wait_rates(sweep: Sweep) -> pl.DataFrame:
    """Source lines that waited for cache lines, with the lines that wrote these; the longest waits first.

    Out: rows of `frames.LINE_WAIT_RATES`, one per configuration of the pool's program and pair of
         source lines; none if the sweep was measured. Pairs without a wait are left out.
    """
    if sweep.machine is None:
        return pl.DataFrame(schema=LINE_WAIT_RATES)
    pair = [*POOL_CELL, "at", "written_at"]
    waits = (
        sweep.line_waits.join(_trials(sweep), on="trial")
        .group_by(pair)
        .agg(pl.col("waited_ns", "transfers").sum())
    )
    spent = (
        sweep.spent.join(_trials(sweep), on="trial")
        .group_by(POOL_CELL)
        .agg(all_ns=pl.col("spent_ns").sum())
    )
    waited, units = pl.col("waited_ns"), pl.col("units")
    found = (
        waits.filter(waited > 0)
        .join(_cells(sweep), on=POOL_CELL, nulls_equal=True)
        .join(spent, on=POOL_CELL, nulls_equal=True)
        .with_columns(
            share=waited / waited.sum().over(POOL_CELL),
            core_share=waited / pl.col("all_ns"),
            ns_per_unit=waited / units,
            transfers_per_unit=pl.col("transfers") / units,
            transfers_per_iteration=pl.col("transfers") / pl.col("iterations"),
        )
    )
    order = [*POOL_CELL, waited.neg(), "at", "written_at"]
    return (
        found.sort(order)
        .select(pl.col(name).cast(kind) for name, kind in LINE_WAIT_RATES.items())
        .collect()
    )


MODE_COSTS = ("as-written", "wake-ns*0.5", "wake-ns*2", "yield-ns*0.5", "yield-ns*2")
"""Changes of cost parameters among which two modes are searched: they decide whether a pool stays awake."""
MODES_APART = 2.0
"""Minimum ratio of two modes over `MODE_COSTS`. A time is a sum of costs, so doubling one cost at most
doubles the time."""


def sensitivity(times: pl.LazyFrame, baseline: str | None) -> pl.DataFrame:
    """Sensitivity of each comparison to changes of the machine's cost parameters.

    A configuration is not tested if the branch or the baseline is bimodal there (`states`), by seeds or
    over `MODE_COSTS`.

    In:  rows of `frames.TIMES` of a sweep whose loads have the parameter `price`. Out: rows of
    `frames.SENSITIVITY`, one per configuration and quantity; none if no cost parameter was changed.
    """
    words = pl.col("parameters").cast(pl.String)
    bare = words.str.replace(r" ?\bprice=\S+", "").str.strip_chars()
    priced = times.with_columns(bare, price=words.str.extract(r"(?:^| )price=(\S+)"))
    ratios = [_price_ratios(priced, baseline, quantity) for quantity in ("time", "cpu")]
    side = (
        pl.when(pl.col("log").abs() < math.log1p(LEAST_SIMULATED))
        .then(0)
        .otherwise(pl.col("log").sign())
    )
    cell = [*POOL_CELL, "quantity"]
    is_written = pl.col("price") == "as-written"
    logs = pl.concat(ratios).with_columns(side=side.cast(pl.Int8))
    logs = logs.with_columns(pl.col("side").filter(is_written).first().over(cell).alias("written"))
    changed, ratio = logs.filter(~is_written), pl.col("log").exp()
    found = changed.group_by(cell).agg(
        pl.len().alias("prices"),
        ratio.min().alias("least"),
        pl.col("price").sort_by("log").first().alias("least_price"),
        ratio.max().alias("most"),
        pl.col("price").sort_by("log").last().alias("most_price"),
        pl.col("price")
        .filter(pl.col("side") != pl.col("written"))
        .sort()
        .str.join(", ")
        .alias("flips"),
    )
    written = logs.filter(is_written).select(*cell, ratio.alias("ratio"))
    joined = found.join(written, on=cell, nulls_equal=True)
    bimodal = _bimodal(priced, baseline)
    joined = joined.join(bimodal, on=cell, how="left", nulls_equal=True).with_columns(
        pl.col("is_bimodal").fill_null(value=False)
    )
    return (
        joined.sort(cell)
        .select(pl.col(name).cast(kind) for name, kind in SENSITIVITY.items())
        .collect()
    )


def _bimodal(times: pl.LazyFrame, baseline: str | None) -> pl.LazyFrame:
    """Comparisons in which the branch or the baseline is bimodal.

    Out: their configuration, `quantity` and `is_bimodal`.
    """
    seen = times.filter(pl.col("price").is_in(MODE_COSTS))
    found = []
    for quantity in ("time", "cpu"):
        rows = of_cells(seen, QUANTITIES[quantity], POOL_CELL, MODES_APART).select(POOL_CELL)
        own = rows.filter(pl.col("branch") == (baseline or "")).drop("branch")
        branches = times.select("branch").unique().collect()
        each = pl.concat([rows, own.join(branches, how="cross").select(POOL_CELL)]).unique()
        found.append(each.with_columns(quantity=pl.lit(quantity), is_bimodal=True))
    return pl.concat(found).lazy()


def _price_ratios(times: pl.LazyFrame, baseline: str | None, quantity: str) -> pl.LazyFrame:
    """`log` of each branch's time over the baseline's, by configuration and `price`: a mean over replicates."""
    column = QUANTITIES[quantity]
    by = [*PLACE, "price"]
    known = times.filter(pl.col("program") == PARALLEL, pl.col("price").is_not_null())
    logs = known.group_by([*by, "branch"]).agg(pl.col(column).log().mean().alias("log"))
    base = logs.filter(pl.col("branch") == (baseline or "")).select(
        *by, pl.col("log").alias("base")
    )
    others = logs.filter(pl.col("branch") != (baseline or "")).join(base, on=by, nulls_equal=True)
    return others.with_columns(pl.col("log") - pl.col("base"), quantity=pl.lit(quantity))


def largest_threads(rates: pl.DataFrame) -> pl.DataFrame:
    """The rows with the most threads of their panel. In: rows with `schema.PANEL` and `threads`."""
    return rates.filter(pl.col("threads") == pl.col("threads").max().over(PANEL))


def _trials(sweep: Sweep) -> pl.LazyFrame:
    """The good trials of the pool's program: `trial` and their configuration."""
    good = sweep.trials.filter(pl.col("program") == PARALLEL, pl.col("outcome") == "ok")
    return good.with_columns(pl.col("input").fill_null("")).select("trial", "work_unit", *POOL_CELL)


def _cells(sweep: Sweep) -> pl.LazyFrame:
    """Every configuration with its `trials`, `iterations`, `units` of work and `work_unit`."""
    return (
        sweep.iterations.join(_trials(sweep), on="trial")
        .group_by(POOL_CELL)
        .agg(
            pl.col("work_unit").first(),
            pl.col("trial").n_unique().alias("trials"),
            pl.len().alias("iterations"),
            pl.col("work_units").sum().alias("units"),
        )
    )
