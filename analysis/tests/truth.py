"""Calibrates the real functions on synthetic sweeps of known truth.

This program counts how often intervals cover the truth, results are false, and recommendations are wrong.

`cargo xtask truth` prints the table; `test_truth.py` tests the same on fewer sweeps. There are
no measurements: every time follows from a `Case`. By default a sweep has ten branches and the A/A
control, and three workloads on four thread counts. As in the runner, a branch by default has as many
builds as trials, and the control runs the baseline's builds in another order.

Run in `analysis/`: `PYTHONPATH=src:tests python tests/truth.py [--sweeps N] [CASE ...]`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

import synthetic
from sweep_analysis.read.frames import COMPARISONS, TIMES
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.schema import PARALLEL, TRIALS
from sweep_analysis.say.recommendation import recommendation
from sweep_analysis.stats.calibration import EQUAL, OFF, OPEN, calibration
from sweep_analysis.stats.claims import HELD, check_claims
from sweep_analysis.stats.compare import FASTER, SLOWER, UNTESTED
from sweep_analysis.stats.decisions import decisions_of
from sweep_analysis.stats.drift import DRIFT_ALPHA
from sweep_analysis.stats.location import Floats
from sweep_analysis.stats.two_sweeps import Pooled

Rng: TypeAlias = np.random.Generator
Bools: TypeAlias = npt.NDArray[np.bool_]

BASELINE, TWIN = "master", "master-again"
TRIED = "tried"
"""The branch with effects and `Case.fails`; the true times of all other branches equal the baseline's."""
WORKLOADS = ["quicksort", "tsp", "packets"]
THREADS = [1, 2, 4, 8]
LIMIT_S = 60.0
NOISE = 0.02
"""Default standard deviation of a trial's log-time."""
LAYOUT_OFFSETS = 0.05
"""Largest slow-down of a build by its link order; the slow-down differs between workloads."""


def normal(rng: Rng, shape: tuple[int, ...], deviation: float = NOISE) -> Floats:
    return rng.normal(0, deviation, shape)


quiet = normal


def pareto(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """15 % of the trials run beside another program, and some of these take many times as long."""
    return quiet(rng, shape) + (rng.random(shape) < 0.15) * np.log1p(0.05 * rng.pareto(1.1, shape))


def all_pareto(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """Each trial is slower by a Pareto-distributed share, whose variance is infinite."""
    return np.log1p(0.02 * rng.pareto(1.5, shape))


def modes(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """20 % of the trials run in a slow mode, which takes 35 % longer."""
    return quiet(rng, shape) + (rng.random(shape) < 0.2) * 0.3


def even_modes(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """A random half of the trials runs in a slow mode, which takes 10 % longer."""
    return quiet(rng, shape) + (rng.random(shape) < 0.5) * 0.1


def bursts(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """In 15 % of the blocks, half of the trials meet a burst of other work and take 1.5 times as long."""
    return (
        quiet(rng, shape)
        + (rng.random((*shape[:1], 1, *shape[2:])) < 0.15) * (rng.random(shape) < 0.5) * 0.4
    )


def autocorrelated(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """Each trial keeps 0.9 of the noise of the trial before it, in the order of measurement."""
    flat = rng.normal(0, 2 * NOISE * np.sqrt(1 - 0.9**2), int(np.prod(shape)))
    for at in range(1, flat.size):
        flat[at] += 0.9 * flat[at - 1]
    order = rng.permuted(
        np.tile(np.arange(shape[1]), (shape[2] * shape[0], 1)), axis=1
    )  # random order in each block
    inside = np.take_along_axis(flat.reshape(-1, shape[1]), order, axis=1).reshape(
        shape[2], shape[0], shape[1]
    )
    return np.moveaxis(inside, 0, 2)


def drifting(rng: Rng, shape: tuple[int, ...]) -> Floats:
    return quiet(rng, shape) + np.linspace(0, 0.2, shape[2])


def far_modes(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """A random half of the trials runs in a slow mode, which takes 80 % longer."""
    return quiet(rng, shape) + (rng.random(shape) < 0.5) * float(np.log(1.8))


def outliers(rng: Rng, shape: tuple[int, ...]) -> Floats:
    return quiet(rng, shape) + (rng.random(shape) < 0.05) * float(np.log(3))


def lone_noise(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """`TRIED` is four times as noisy as every other branch, including the A/A control."""
    noise = quiet(rng, shape)
    noise[:, 2] *= 4
    return noise


def none(_: Rng, shape: tuple[int, ...]) -> Floats:
    """No noise, as on a simulated machine without an effect of chance."""
    return np.zeros(shape)


def even_builds(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """Each build is slower by a random share of 0 to 5 %, which is drawn anew for each workload."""
    return rng.uniform(0, LAYOUT_OFFSETS, shape)


def builds_of_two_modes(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """A random half of the builds runs in a slow mode, which takes 80 % longer; each workload has its own half."""
    return even_builds(rng, shape) + (rng.random(shape) < 0.5) * float(np.log(1.8))


def whole_builds_of_two_modes(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """A random half of the builds runs in a slow mode, which takes 20 % longer, in all workloads."""
    return even_builds(rng, shape) + (rng.random((1, *shape[1:])) < 0.5) * float(np.log(1.2))


SIX_OF_SEVEN = 0.9
"""Factor on the time of `TRIED` in six of seven builds; in the seventh build the factor is 2."""
WITH_A_SLOW_ONE = (SIX_OF_SEVEN**6 * 2) ** (1 / 7)
"""Geometric mean of the factors of all seven builds."""


def one_slow_build(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """One build of `TRIED` is slow in all configurations; the factors of all builds have the geometric mean 1."""
    offsets = even_builds(rng, shape)
    offsets[:, 2] += np.log(SIX_OF_SEVEN / WITH_A_SLOW_ONE)
    offsets[:, 2, rng.integers(shape[2])] += np.log(2 / SIX_OF_SEVEN)
    return offsets


def one_slow_build_here_and_there(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """A build of `TRIED` is slow, a different build in each workload."""
    return np.concatenate([one_slow_build(rng, (1, *shape[1:])) for _ in range(shape[0])])


def twofold_states(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """Each seed of a branch is in a slow mode with a probability of 1/2, and then takes twice as long."""
    return quiet(rng, shape) + (rng.random(shape) < 0.5) * float(np.log(2))


def unlike(rng: Rng, shape: tuple[int, ...]) -> Floats:
    """Branches and configurations differ in how noisy they are, by up to six times."""
    scale: Floats = rng.choice([0.5, 1.0, 3.0], (*shape[:2], 1))
    return quiet(rng, shape) * scale


@dataclass(frozen=True)
class Case:
    """The known truth of a synthetic sweep.

    Attributes:
        name: the name of the case on the command line.
        noise: noise of every trial's log-time; configurations by branches by replicates.
        layouts: number of builds of each branch, between which replicates alternate.
        trials: replicates.
        builds: log-time that a build costs; workloads by branches by builds.
        effect: factor on the time of `TRIED`, by workload, or by workload and threads; 1 where
            absent.
        waits: factor on the latencies of `TRIED`, by workload; other workloads report none.
        claims: false hypotheses about `TRIED` on all workloads.
        crash: branches all of whose trials of `tsp` fail, with the outcome `failure`.
        is_simulated: whether the trials ran on a simulated machine, where builds are seeds.
        fails: whether trials of `TRIED` fail, configurations by replicates; drawn after the times are known.
        failure: the outcome of the trials that fail.
        others: branches beside the baseline, its A/A control and `TRIED`, all equal to the
            baseline.
        zeros: share of the latencies of all branches but `TRIED` that are zero; the others are longer, so that
            the mean is the same.
        kept: the only configurations that were measured; empty: all.
    """

    name: str
    noise: Callable[[Rng, tuple[int, ...]], Floats] = quiet
    layouts: int = 7
    trials: int = 7
    builds: Callable[[Rng, tuple[int, ...]], Floats] = even_builds
    effect: dict[str | tuple[str, int], float] = field(default_factory=dict)
    waits: dict[str, float] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    crash: tuple[str, ...] = ()
    is_simulated: bool = False
    fails: Callable[[Rng, Floats], Bools] | None = None
    failure: str = "timeout"
    others: int = 8
    zeros: float = 0.0
    kept: tuple[tuple[str, int], ...] = ()

    def factor(self, workload: str, threads: int, quantity: str = "time") -> float:
        """The truth about `TRIED` in one configuration."""
        if quantity in ("p50", "p99"):
            return self.waits.get(workload, 1.0)
        return self.effect.get((workload, threads), self.effect.get(workload, 1.0))


def slowest_fail(_: Rng, times: Floats) -> Bools:
    """The three slowest trials of each configuration fail, so that the rest looks fast."""
    late: Bools = np.argsort(np.argsort(times, axis=1), axis=1) >= times.shape[1] - 3
    return late


def tsp_hangs(_: Rng, times: Floats) -> Bools:
    rows = np.zeros(times.shape, dtype=bool)
    rows[len(THREADS) : 2 * len(THREADS)] = True
    return rows


def now_and_then(rng: Rng, times: Floats) -> Bools:
    rows = tsp_hangs(rng, times)
    return rows & (rng.random(times.shape) < 1 / 14)


NULLS = [
    Case("quiet"),
    Case("pareto", pareto),
    Case("all-pareto", all_pareto),
    Case("modes", modes),
    Case("even-modes", even_modes),
    Case("bursts", bursts),
    Case("autocorrelated", autocorrelated),
    Case("drift", drifting),
    Case("unlike", unlike),
    Case("more-trials", layouts=7, trials=14),
    Case("few-layouts", layouts=3, trials=9),
    Case("one-layout", layouts=1, trials=7),
    Case("four-layouts", layouts=4, trials=8),
    Case("eleven-layouts", layouts=11, trials=11),
    Case("one-trial", layouts=7, trials=1),
    Case("two-trials", layouts=7, trials=2),
    Case("three-trials", layouts=7, trials=3),
    Case("far-modes", far_modes),
    Case("builds-of-two-modes", builds=builds_of_two_modes),
    Case("whole-builds-of-two-modes", builds=whole_builds_of_two_modes),
    Case("outliers", outliers),
    Case("lone-noise", lone_noise),
    Case("two-branches-lone-noise", lone_noise, others=0),
    Case("waits", waits=dict.fromkeys(WORKLOADS, 1.0)),
    Case("two-branches", others=0),
    Case("two-branches-pareto", all_pareto, others=0),
    Case("two-branches, one cell", others=0, kept=(("quicksort", 2),)),
    Case("simulated, every name bimodal", twofold_states, builds=none, is_simulated=True),
]


def everywhere(
    factor: float, at: int | None = None, otherwise: float = 1.0
) -> dict[str | tuple[str, int], float]:
    """The effect `factor` on each workload. With `at`, only that thread count has it; the others have `otherwise`."""
    if at is None:
        return dict.fromkeys(WORKLOADS, factor)
    return {
        (name, threads): factor if threads == at else otherwise
        for name in WORKLOADS
        for threads in THREADS
    }


LOSS_ELSEWHERE = everywhere(0.9) | {"tsp": 1.05}
"""A gain of 10 % on all workloads except one, which loses."""


EFFECTS = [
    Case("1 % faster", effect=everywhere(0.99)),
    Case("2 % faster", effect=everywhere(0.98)),
    Case("3 % faster", effect=everywhere(0.97)),
    Case("5 % faster", effect=everywhere(0.95)),
    Case("10 % faster", effect=everywhere(0.9)),
    Case("5 % faster, pareto", pareto, effect=everywhere(0.95)),
    Case("5 % faster, all-pareto", all_pareto, effect=everywhere(0.95)),
    Case("5 % faster, even-modes", even_modes, effect=everywhere(0.95)),
    Case("5 % faster, bursts", bursts, effect=everywhere(0.95)),
    Case("5 % faster, drift", drifting, effect=everywhere(0.95)),
    Case("5 % faster, bursts, 14 layouts", bursts, layouts=14, trials=14, effect=everywhere(0.95)),
    Case("5 % faster, 14 trials", trials=14, effect=everywhere(0.95)),
    Case("5 % slower", effect=everywhere(1.05)),
    Case(
        "10 % faster on one, 3 % slower on two",
        effect={"quicksort": 0.9, "tsp": 1.03, "packets": 1.03},
    ),
    Case("5 % faster, hangs on one workload", effect=everywhere(0.95), fails=tsp_hangs),
    Case(
        "10 % faster, crashes on one workload",
        effect=everywhere(0.9),
        fails=tsp_hangs,
        failure="crash",
    ),
    Case(
        "10 % faster, now and then a crash",
        effect=everywhere(0.9),
        fails=now_and_then,
        failure="crash",
    ),
    Case("equal, the slowest trials time out", fails=slowest_fail),
    Case("equal, the slowest trials crash", fails=slowest_fail, failure="crash"),
    Case("10 % faster in one trial", trials=1, effect=everywhere(0.9)),
    Case("10 % faster in two trials", trials=2, effect=everywhere(0.9)),
    Case("5 % faster, outliers", outliers, effect=everywhere(0.95)),
    Case("5 % slower on one", effect=LOSS_ELSEWHERE),
    Case(
        "5 % slower on one, another branch crashes there",
        effect=LOSS_ELSEWHERE,
        crash=("equal-0",),
        failure="crash",
    ),
    Case(
        "5 % slower on one, the baseline crashes there",
        effect=LOSS_ELSEWHERE,
        crash=(BASELINE,),
        failure="crash",
    ),
    Case(
        "5 % slower on one, the A/A control crashes there",
        effect=LOSS_ELSEWHERE,
        crash=(TWIN,),
        failure="crash",
    ),
    Case("10 % faster, but 4 % slower at 4 threads", effect=everywhere(1.04, 4, 0.9)),
    Case(
        "10 % faster, but 6 % slower on one at 4 threads",
        effect=everywhere(0.9) | {("tsp", 4): 1.06},
    ),
    Case(
        "10 % faster, waits 20 % more on one",
        effect=everywhere(0.9),
        waits={"tsp": 1.2, "packets": 1.0},
    ),
    Case(
        "10 % faster, and waits 10 % less",
        effect=everywhere(0.9),
        waits={"tsp": 0.9, "packets": 0.9},
    ),
    Case(
        "gains pay for losses",
        effect={"quicksort": 0.9, "tsp": 1.11},
        claims=("equal", "no-slower", "no-faster"),
        layouts=14,
        trials=14,
    ),
    Case(
        "gains at 2 threads pay for losses at 4",
        effect=everywhere(1.0) | {("tsp", 2): 0.9, ("tsp", 4): 1.11},
        claims=("equal", "no-slower"),
        layouts=14,
        trials=14,
    ),
    Case("equal, but waits 18 % more on one", waits={"tsp": 1.18}, claims=("equal", "no-slower")),
    Case(
        "simulated, exactly 20 % faster",
        none,
        builds=none,
        effect=everywhere(0.8),
        is_simulated=True,
    ),
    Case("simulated, exactly equal", none, builds=none, is_simulated=True),
    Case(
        "10 % faster in six builds, twice as slow in one",
        builds=one_slow_build,
        effect=everywhere(WITH_A_SLOW_ONE),
    ),
    Case(
        "10 % faster in six builds, twice as slow in another one of each workload",
        builds=one_slow_build_here_and_there,
        effect=everywhere(WITH_A_SLOW_ONE),
    ),
    Case(
        "10 % faster, waits 20 % more, and half of the baseline's are zero",
        effect=everywhere(0.9),
        waits={"tsp": 1.2, "packets": 1.2},
        zeros=0.5,
    ),
    Case(
        "6 % faster, two branches, one cell",
        effect=everywhere(0.94),
        others=0,
        kept=(("quicksort", 2),),
    ),
]
CASES = {case.name: case for case in [*NULLS, *EFFECTS]}


def sweep_of(case: Case, seed: int) -> tuple[Sweep, pl.DataFrame]:
    rng = np.random.default_rng([seed, *case.name.encode()])
    names = [BASELINE, TWIN, TRIED, *(f"equal-{number}" for number in range(case.others))]
    cells = [(workload, threads) for workload in WORKLOADS for threads in THREADS]
    shape = (len(cells), len(names), case.trials)
    layout = np.arange(case.trials) % case.layouts
    builds = case.builds(rng, (len(WORKLOADS), len(names), case.layouts)).repeat(
        len(THREADS), axis=0
    )
    offsets = builds[:, :, layout]
    offsets[:, 1] = builds[:, 0][:, (layout + 1) % case.layouts]
    shared = rng.normal(
        0, 0 if case.is_simulated else 0.05, (shape[0], 1, shape[2])
    )  # by all trials of a block
    logs = np.log(50e6) + shared + offsets + case.noise(rng, shape)
    logs[:, 2] += np.log([case.factor(*cell) for cell in cells])[:, None]
    failed = np.zeros(shape, dtype=bool)
    if case.fails is not None:
        failed[:, 2] = case.fails(rng, logs[:, 2])
    for name in case.crash:
        failed[:, names.index(name)] |= tsp_hangs(rng, logs[:, 2])
    cpu = logs + rng.normal(
        0, 0 if case.is_simulated else NOISE / 4, shape
    )  # CPU time is nearly proportional to wall time
    waits = np.log(1e5) + rng.normal(0, NOISE, shape)
    waits[:, 2] += np.log([case.factor(*cell, "p50") for cell in cells])[:, None]
    waits[[workload not in case.waits for workload, _ in cells]] = np.nan
    waits_ns = np.exp(waits)
    if case.zeros:
        are_zero = (rng.random(shape) < case.zeros) & (np.arange(len(names)) != 2)[None, :, None]
        waits_ns[:, np.arange(len(names)) != 2] /= 1 - case.zeros
        waits_ns[are_zero] = 0.0
    cell, branch, replicate = (part.ravel() for part in np.indices(shape))
    block = replicate * len(cells) + cell
    frame = pl.DataFrame(
        {
            "program": PARALLEL,
            "workload": pl.Series([workload for workload, _ in cells]).gather(cell),
            "size": "small",
            "parameters": "",
            "input": "",
            "mode": "dynamic",
            "placement": "free",
            "threads": pl.Series([threads for _, threads in cells]).gather(cell),
            "branch": pl.Series(names).gather(branch),
            "trial": [str(number) for number in range(cell.size)],
            "replicate": replicate,
            "layout": layout[replicate] + 1,
            "block": block,
            "position": branch,
            "oversubscribed": False,
            "outcome": pl.Series(["ok", case.failure]).gather(failed.ravel().astype(int)),
            "elapsed_ns": np.exp(logs).ravel(),
            "cpu_ns_per_unit": np.exp(cpu).ravel() / 1000,
            "p50_ns": pl.Series(waits_ns.ravel()).fill_nan(None),
            "p99_ns": pl.Series(
                3 * (waits_ns * np.exp(rng.normal(0, NOISE / 4, shape))).ravel()
            ).fill_nan(None),
        }
    ).with_columns(
        ns_per_unit=pl.col("elapsed_ns") / 1000,
        iterations=pl.lit(1),
        freq_state=pl.lit("uncontrolled"),
    )
    if case.kept:
        here = pl.struct("workload", "threads")
        frame = frame.filter(
            here.is_in([dict(zip(("workload", "threads"), it, strict=True)) for it in case.kept])
        )
    times = synthetic.with_schema(frame.filter(outcome="ok"), TIMES)
    machine = {"machine": {"name": "synthetic"}} if case.is_simulated else {}
    manifest = {
        "asked": {"timeout_s": LIMIT_S, "layouts": case.layouts, **machine},
        "branches": [{"name": TRIED, "claims": [{"expect": expect} for expect in case.claims]}],
    }
    sweep = Sweep(
        Path("synthetic"), manifest, {}, synthetic.with_schema(frame, TRIALS).lazy(), pl.LazyFrame(),
        [name for name in names if name != TWIN], BASELINE,
    )  # fmt: skip
    return sweep, times


LEVELS = ("cell", "workload", "overall")


@dataclass(frozen=True)
class Result:
    """The results of the analysis for one sweep.

    Attributes:
        covered: share of intervals that contain the truth, by level; NaN without intervals. With
            `lone_noise`, only intervals of `TRIED` count; with `Case.fails`, all intervals but those of `TRIED`.
        false_results: number of significant results that are false, or in the wrong direction.
        found: share of rows by level in which the effect of `TRIED` was significant.
        recommended: the branch that the analysis recommends to merge; None if it recommends none.
        fails: whether a trial failed, of a branch that is neither the baseline nor its A/A control.
        is_tested: whether any row was tested.
        detectable: the detectable ratio overall.
        is_held: whether the analysis holds a hypothesis of the case; all are false.
        drifts: share of pooled rows that drift by `drift.DRIFT_ALPHA`; NaN without that test.
    """

    covered: dict[str, float]
    false_results: int
    found: dict[str, float]
    recommended: str | None
    fails: bool
    is_tested: bool
    detectable: float
    is_held: bool
    drifts: float


def tried(case: Case, seed: int) -> Result:
    sweep, times = sweep_of(case, seed)
    decisions = decisions_of(sweep, times)
    rows = decisions.rows
    truth = [_truth(case, row) for row in rows.rows(named=True)]
    told = rows.with_columns(truth=pl.Series(truth, dtype=pl.Float64))
    inside = pl.col("truth").is_between("ratio_low", "ratio_high")
    kept = told if case.fails is None else told.filter(pl.col("branch") != TRIED)
    kept = kept.filter(branch=TRIED) if case.noise is lone_noise else kept
    right = ((pl.col("verdict") == FASTER) & (pl.col("truth") < 1)) | (
        (pl.col("verdict") == SLOWER) & (pl.col("truth") > 1)
    )
    wrong = told.filter(pl.col("verdict").is_in([FASTER, SLOWER]) & ~right)
    if case.fails is not None:  # A branch with time-outs is slower.
        wrong = wrong.filter((pl.col("branch") != TRIED) | (pl.col("verdict") == FASTER))
    by_time = told.filter(quantity="time")
    checked = check_claims(sweep, times.lazy()).claims
    return Result(
        _shares(kept, inside),
        wrong.height,
        _shares(by_time.filter(branch=TRIED), right),
        recommendation(decisions).merge,
        bool(decisions.failures.height),
        bool((rows["verdict"] != UNTESTED).any()),
        _number(by_time.filter(level="overall").select(pl.col("detectable").median())),
        HELD in checked["verdict"],
        _number(told.drop_nulls("p_drift").select((pl.col("p_drift") < DRIFT_ALPHA).mean())),
    )


def _truth(case: Case, row: dict[str, Any]) -> float:
    """The ratio that a row of `frames.COMPARISONS` should have.

    Pooled rows contain the configurations of several workers.
    """
    if row["branch"] != TRIED:
        return 1.0
    threads = THREADS[1:] if row["threads"] is None else [row["threads"]]
    names = [
        name
        for name in WORKLOADS
        if (row["quantity"] not in ("p50", "p99") or name in case.waits)
        and (name != "tsp" or not {BASELINE, TWIN} & {*case.crash})
    ]
    factors = [
        case.factor(name, at, row["quantity"])
        for name in ([row["workload"]] if row["workload"] else names)
        for at in threads
    ]
    return float(np.exp(np.log(factors).mean()))


def claims_of(sweep: Sweep, times: pl.DataFrame) -> int:
    return decisions_of(sweep, times).rows.filter(pl.col("verdict").is_in([FASTER, SLOWER])).height


def _shares(rows: pl.DataFrame, of: pl.Expr) -> dict[str, float]:
    """The mean of `of` over the rows of each level; NaN for a level without rows."""
    return {level: _number(rows.filter(level=level).select(of.mean())) for level in LEVELS}


def _number(frame: pl.DataFrame) -> float:
    value = frame.item()
    return float("nan") if value is None else float(value)


def results(case: Case, sweeps: int, workers: ProcessPoolExecutor | None = None) -> list[Result]:
    if workers is None:
        return [tried(case, seed) for seed in range(sweeps)]
    return list(workers.map(tried, repeat(case), range(sweeps), chunksize=10))


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def rates(found: list[Result]) -> dict[str, float]:
    """Rates over sweeps of one case, in per cent; NaN if no row was tested."""
    values: dict[str, list[float]] = {
        **{f"covered, {level}": [it.covered[level] for it in found] for level in LEVELS},
        "any false result": [float(it.false_results > 0) for it in found],
        **{f"found, {level}": [it.found[level] for it in found] for level in LEVELS},
        "recommended": [float(it.recommended == TRIED) for it in found],
        "recommended another": [float(it.recommended not in (None, TRIED)) for it in found],
        "recommended against a failure": [
            float(it.recommended == TRIED) for it in found if it.fails
        ],
        "held": [float(it.is_held) for it in found],
        "said to drift": [it.drifts for it in found],
    }
    return {name: 100 * _mean(of_sweeps) for name, of_sweeps in values.items()}


NOISES = (
    "quiet",
    "all-pareto",
    "bursts",
    "autocorrelated",
    "drift",
    "unlike",
    "four-layouts",
    "far-modes",
)
"""Cases that test how often the analysis finds a change that it calls detectable."""


LEAST_FOUND = 65
"""Per cent of sweeps in which the analysis must find a detectable change."""


def detectable_is_found(
    case: Case, equal: list[Result], workers: ProcessPoolExecutor | None = None
) -> tuple[float, float]:
    """The detectable change (with a probability of 80 %), and how often the analysis finds it, in per cent.

    `equal` are the results of the case, which has no effect.
    """
    ratio = _mean(it.detectable for it in equal)
    with_effect = replace(case, name=f"{case.name}, found", effect=everywhere(ratio))
    found = results(with_effect, len(equal), workers)
    return 100 * (ratio - 1), rates(found)["found, overall"]


BETWEEN = 0.04
"""Standard deviation of the effect of a recompilation, or of a day, on the log-time of a branch on a workload."""


SHIFTS = {
    "each branch on each workload": ["branch", "workload"],
    "each branch": ["branch"],
    "each workload": ["workload"],
    "all branches alike": [],
}
"""The sets of ratios to the baseline that a day moves together; the moves have the standard deviation `BETWEEN`."""


@dataclass(frozen=True)
class OfSweeps:
    """Results of several sweeps of equal branches.

    Attributes:
        one: share of the first sweep's intervals, by workload, that contain the truth.
        together: share of the pooled intervals that contain the truth.
        claims: whether any pooled row, of any level or quantity, is significant.
    """

    one: float
    together: float
    claims: bool


def of_sweeps(moves: str, sweeps: int, seed: int) -> OfSweeps:
    """Test sweeps of equal branches that differ as `SHIFTS[moves]` says."""
    tested = []
    for day in range(sweeps):
        sweep, times = sweep_of(Case(f"day {day}", others=4), seed)
        rng = np.random.default_rng([seed, day])
        key = SHIFTS[moves]
        luck = times.select(key or ["branch"]).unique(maintain_order=True)
        drawn = np.exp(rng.normal(0, BETWEEN, luck.height if key else 1))
        luck = luck.with_columns(luck=pl.Series(np.broadcast_to(drawn, luck.height)))
        is_base = pl.col("branch").is_in([BASELINE, TWIN])
        factor = pl.when(is_base).then(1.0).otherwise("luck")
        there = times.join(luck, on=key or ["branch"]).with_columns(
            pl.col("ns_per_unit", "cpu_ns_per_unit") * factor
        )
        tested.append(decisions_of(sweep, there.select(times.columns)).comparisons)
    columns = ("branch", "level", "quantity", "ratio_low", "ratio_high", "verdict")
    kinds = {name: COMPARISONS[name] for name in columns}
    pooled = pl.DataFrame(Pooled(tested).rows(), schema=kinds)
    others = [it.filter(~pl.col("branch").is_in([BASELINE, TWIN])) for it in (tested[0], pooled)]
    inside = pl.lit(1.0).is_between("ratio_low", "ratio_high")
    one, together = (
        _number(rows.filter(level="workload", quantity="time").select(inside.mean()))
        for rows in others
    )
    return OfSweeps(one, together, bool(others[1]["verdict"].is_in([FASTER, SLOWER]).any()))


CALIBRATIONS = {
    "equal, quiet": Case("calibration, equal", others=0, layouts=11, trials=11),
    "equal, 25 % noise": Case("calibration, noisy", partial(normal, deviation=0.25), others=0),
    "one workload +15 %, 10 % noise": Case(
        "calibration, off", partial(normal, deviation=0.1), effect={"tsp": 1.15}, others=0
    ),
    "one workload +15 %, quiet": Case("calibration, plainly off", effect={"tsp": 1.15}, others=0),
}


def calibrated(case: Case, seed: int) -> str:
    _, times = sweep_of(case, seed)
    found = calibration(times.lazy(), BASELINE, TRIED)
    return "none" if found is None else found.answer


def _most(target: float, size: int) -> float:
    """The rate in per cent that is three standard errors above the target, in `size` sweeps."""
    return target + 3 * float(np.sqrt(target * (100 - target) / size))


def targets_missed(name: str, found: list[Result], their_rates: dict[str, float]) -> list[str]:
    """The targets that a case misses; most limits allow three standard errors."""
    size, case = len(found), CASES[name]
    missed = []
    for level in LEVELS:
        shares = np.array([it.covered[level] for it in found if not np.isnan(it.covered[level])])
        if shares.size:
            least = 93 - 300 * shares.std() / np.sqrt(shares.size)
            if their_rates[f"covered, {level}"] < least:
                missed.append(f"intervals of a {level} contain the truth in less than 95 ± 2 %")
    is_null = name in NULL_NAMES
    limits = [
        ("any false result", _most(5, size), is_null or case.zeros > 0),
        ("recommended against a failure", 0, True),
        ("held", _most(5, size), bool(case.claims)),
        ("recommended", _most(2, size), name in NOT_TO_MERGE),
        ("said to drift", 2, is_null and name != "drift"),
    ]
    missed += [
        f"`{rate}` is {their_rates[rate]:.1f} %, above {limit:.1f} %"
        for rate, limit, applies in limits
        if applies and their_rates[rate] > limit
    ]
    least_power = 160 - _most(80, size)
    if name in FOUND and their_rates["found, overall"] < least_power:
        missed.append("found overall in less than 80 %")
    return [f"{name}: {it}" for it in missed]


def _of_days(found: list[OfSweeps]) -> tuple[float, float, float]:
    """How often the 95 % interval of one sweep, and the interval of all sweeps pooled, contain the truth, in per cent.

    Then the share of pools with any significant result, in per cent.
    """
    one, together, claims = 100 * np.array(
        [(it.one, it.together, it.claims) for it in found], dtype=float
    ).mean(axis=0)
    return one, together, claims


def days_missed(moves: str, found: list[OfSweeps]) -> list[str]:
    """The targets that the pooled sweeps miss by more than three standard errors."""
    _, both, claims = _of_days(found)
    spread = 300 * float(np.std([it.together for it in found])) / np.sqrt(len(found))
    missed = []
    if both < 93 - spread:
        missed.append(f"sweeps that differ by {moves}: two contain the truth in less than 95 ± 2 %")
    if claims > _most(5, len(found)):
        missed.append(f"sweeps that differ by {moves}: more than 5 % of equal ones have a result")
    return missed


NULL_NAMES = {case.name for case in NULLS}
FOUND = {
    "5 % faster", "5 % faster, pareto", "5 % faster, all-pareto", "5 % faster, bursts", "5 % faster, drift",
    "simulated, exactly 20 % faster", "6 % faster, two branches, one cell",
}  # fmt: skip
"""Effects with a target: the analysis finds them over all workloads in 80 % of sweeps."""
NOT_TO_MERGE = {
    case.name for case in EFFECTS
    if any(factor > 1 for factor in [*case.effect.values(), *case.waits.values()]) or case.crash
}  # fmt: skip
"""Cases in which `TRIED` is slower in some configuration, or all trials of another branch fail on `tsp`."""


def _table_of_cases(names: list[str], sweeps: int, workers: ProcessPoolExecutor) -> list[str]:
    print(f"{sweeps} synthetic sweeps a case; numbers in per cent; `–`: no value.\n")
    missed = []
    for number, name in enumerate(names):
        found = results(CASES[name], sweeps, workers)
        of_case = rates(found)
        if number == 0:
            print(f"| case | {' | '.join(of_case)} |\n|---|{'---:|' * len(of_case)}")
        cells = ["–" if np.isnan(rate) else f"{rate:.1f}" for rate in of_case.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        missed += targets_missed(name, found, of_case)
    return missed


def _other_tables(sweeps: int, workers: ProcessPoolExecutor) -> list[str]:
    """Print the tables of detectable changes, of several sweeps and of calibrations; returns the missed targets."""
    missed = []
    print("\n| case | detectable change (probability 80 %) | found |\n|---|---:|---:|")
    for name in NOISES:
        equal = results(CASES[name], sweeps, workers)
        change, found = detectable_is_found(CASES[name], equal, workers)
        print(f"| {name} | {change:.1f} | {found:.0f} |", flush=True)
        if found < LEAST_FOUND:
            missed.append(f"{name}: a detectable change is found in {found:.0f} %")
    print("\n| sweeps that differ by | one covers | two cover | two claim |\n|---|---:|---:|---:|")
    for moves in SHIFTS:
        seeds = range(sweeps // 2)
        of_days = list(workers.map(of_sweeps, repeat(moves), repeat(2), seeds, chunksize=10))
        one, both, claims = _of_days(of_days)
        print(f"| {moves} | {one:.0f} | {both:.1f} | {claims:.1f} |", flush=True)
        missed += days_missed(moves, of_days)
    print(f"\n| calibration of | {EQUAL} | {OFF} | {OPEN} |\n|---|---:|---:|---:|")
    for name, case in CALIBRATIONS.items():
        answers = list(workers.map(calibrated, repeat(case), range(sweeps), chunksize=10))
        shares = [100 * answers.count(answer) / len(answers) for answer in (EQUAL, OFF, OPEN)]
        print(f"| {name} | {' | '.join(f'{share:.0f}' for share in shares)} |")
    return missed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"default: all; known: {', '.join(CASES)}"
    )
    parser.add_argument(
        "--sweeps", type=int, default=200, metavar="N", help="sweeps a case (default: %(default)s)"
    )
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.cases if name not in CASES]
    if unknown:
        print(f"error: case `{unknown[0]}` is unknown; known: {', '.join(CASES)}", file=sys.stderr)
        return 2
    begin = time.monotonic()
    with ProcessPoolExecutor() as workers:
        missed = _table_of_cases(asked.cases or list(CASES), asked.sweeps, workers)
        if not asked.cases:
            missed += _other_tables(asked.sweeps, workers)
    print(f"\nTargets missed: {'; '.join(missed) or 'none'}.")
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
