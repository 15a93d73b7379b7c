"""Computes all frames of one sweep: each frame once, when a reader first needs it.

To add a frame, add a method here: report, command line and figures take frames from `FRAMES`, by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sweep_analysis.read.frames import CALIBRATION, PREDICTIONS
from sweep_analysis.read.load import Sweep
from sweep_analysis.read.predictions import EXPERIMENT, costs_of, read_predictions
from sweep_analysis.read.request import experiment_of
from sweep_analysis.read.written import Experiment
from sweep_analysis.stats.boxes import box_signs, longest_waits
from sweep_analysis.stats.calibration import calibrations
from sweep_analysis.stats.claims import Checked, check_claims
from sweep_analysis.stats.clocks import clocks
from sweep_analysis.stats.costs import costs
from sweep_analysis.stats.decisions import Decisions, decisions_of
from sweep_analysis.stats.drift import Drift, drift, residuals
from sweep_analysis.stats.events import event_rates, headline_rates, line_rates, writes_per_push
from sweep_analysis.stats.latency import latencies
from sweep_analysis.stats.ledger import ledger
from sweep_analysis.stats.placements import placements
from sweep_analysis.stats.predictions import judged
from sweep_analysis.stats.simulated import line_wait_rates, spent_shares
from sweep_analysis.stats.speedup import DEFINITIONS, speedups, trial_times, with_time_outs

_Compute = Callable[["Analysis"], pl.DataFrame]

FRAMES: dict[str, _Compute] = {}
"""The method of `Analysis` that computes each frame, by the name of its table."""


def _frame(name: str) -> Callable[[_Compute], cached_property[pl.DataFrame]]:
    def entered(compute: _Compute) -> cached_property[pl.DataFrame]:
        FRAMES[name] = compute
        return cached_property(compute)

    return entered


@dataclass(frozen=True)
class Analysis:
    """All frames of one sweep.

    Attributes:
        sweep: the records.
        baseline: the branch that other branches are compared with; None if the sweep names no baseline.
    """

    sweep: Sweep
    baseline: str | None

    def frame(self, name: str) -> pl.DataFrame:
        """Return the frame of `FRAMES` with this name."""
        found: pl.DataFrame = getattr(self, FRAMES[name].__name__)
        return found

    @_frame("trials")
    def times(self) -> pl.DataFrame:
        """One time for each good trial: rows of `frames.TIMES`."""
        return trial_times(self.sweep).collect()

    @_frame("speedups")
    def speedups(self) -> pl.DataFrame:
        """Speed-ups by every definition: rows of `frames.SPEEDUPS`."""
        ignored = self.experiment.sequential_ignores if self.experiment else frozenset[str]()
        return speedups(self.times.lazy(), self.baseline, ignored)

    @_frame("comparisons")
    def compared(self) -> pl.DataFrame:
        """The decisions against the baseline, all quantities and levels: rows of `frames.COMPARISONS`."""
        return self.decisions.comparisons.filter(baseline=self.baseline)

    @property
    def comparisons(self) -> pl.DataFrame:
        """The comparisons in wall time."""
        return self.decisions.of("time")

    @property
    def cpu_comparisons(self) -> pl.DataFrame:
        """The comparisons in CPU time; empty if the runner did not record CPU time."""
        return self.decisions.of("cpu")

    @_frame("failures")
    def failures(self) -> pl.DataFrame:
        """Trials whose outcome is not `ok`: rows of `schema.TRIALS`."""
        return self.sweep.trials.filter(pl.col("outcome") != "ok").collect()

    @_frame("events")
    def events(self) -> pl.DataFrame:
        """Events that instrumented builds counted, per unit of work: rows of `frames.EVENT_RATES`."""
        return event_rates(self.sweep).collect()

    @_frame("lines")
    def lines(self) -> pl.DataFrame:
        """Accesses to each cache line of the counters, per unit of work.

        Rows of `frames.LINE_RATES`.
        """
        return line_rates(self.sweep).collect()

    @_frame("writes-per-push")
    def writes(self) -> pl.DataFrame:
        """Writes per push of the cache line that every push reads."""
        return writes_per_push(self.sweep)

    @_frame("spent")
    def spent(self) -> pl.DataFrame:
        """Shares of the cores' time by activity, on a simulated machine: rows of `frames.SPENT_SHARES`."""
        return spent_shares(self.sweep)

    @_frame("line-waits")
    def line_waits(self) -> pl.DataFrame:
        """Source lines that waited for cache lines on a simulated machine: rows of `frames.LINE_WAIT_RATES`."""
        return line_wait_rates(self.sweep)

    @_frame("box")
    def box(self) -> pl.DataFrame:
        """Signs over a box of machines: rows of `frames.BOX`."""
        return box_signs(self.sweep, self.times, self.baseline)

    @_frame("box-waits")
    def box_waits(self) -> pl.DataFrame:
        """Source lines with the longest waits, over a box of machines: rows of `frames.BOX_WAITS`."""
        return longest_waits(self.line_waits)

    @_frame("latencies")
    def waits(self) -> pl.DataFrame:
        """Quantiles of latencies: rows of `frames.LATENCIES`."""
        return latencies(self.sweep).collect()

    @_frame("clocks")
    def clocks(self) -> pl.DataFrame:
        """The measured clock by threads: rows of `frames.CLOCKS`."""
        return clocks(self.sweep).collect()

    @_frame("residuals")
    def residuals(self) -> pl.DataFrame:
        """Each block's time relative to the mean of all blocks of the same configurations: rows of `frames.RESIDUALS`."""
        return residuals(self.times.lazy())

    @_frame("claims")
    def claims(self) -> pl.DataFrame:
        """Pre-registered hypotheses and their results: rows of `frames.CLAIMS`."""
        return self._checked.claims

    @_frame("claim-details")
    def claim_details(self) -> pl.DataFrame:
        """Pre-registered hypotheses by workload: rows of `frames.CLAIM_DETAILS`."""
        return self._checked.details

    @_frame("calibration")
    def calibration(self) -> pl.DataFrame:
        """Whether each branch is equivalent to the baseline: rows of `frames.CALIBRATION`.

        Empty for a simulated sweep, whose times depend on cost parameters that are not exact.
        """
        if self.baseline is None or self.sweep.machine is not None:
            return pl.DataFrame(schema=CALIBRATION)
        return calibrations(self.times, self.baseline)

    @_frame("predictions")
    def predicted(self) -> pl.DataFrame:
        """Registered predictions and their results: rows of `frames.PREDICTIONS`.

        Empty if the sweep did not run their experiment.
        """
        if self.experiment is None or self.experiment.name != EXPERIMENT:
            return pl.DataFrame(schema=PREDICTIONS)
        times = with_time_outs(self.sweep, self.times)
        return judged(read_predictions(), self.sweep, times, costs_of(self.sweep))

    @_frame("costs")
    def costs(self) -> pl.DataFrame:
        """Wall time, CPU time, cycles, CPUs busy and idle per configuration: rows of `frames.COSTS`."""
        return costs(self.times.lazy(), self.cpus)

    @_frame("placements")
    def placements(self) -> pl.DataFrame:
        """Changes by pinning: rows of `frames.PLACEMENTS`.

        Empty if the sweep lacks one placement.
        """
        return placements(self.times)

    @_frame("ledger")
    def ledger(self) -> pl.DataFrame:
        """Data that figures leave out, with reasons: rows of `frames.LEDGER`."""
        return ledger(self.sweep, self.times.lazy(), self.sweep.baseline)

    @cached_property
    def drawn_events(self) -> pl.DataFrame:
        """The rows of `events` that `events.HEADLINE` names: rows of `frames.EVENT_RATES`."""
        return headline_rates(self.sweep).collect()

    @cached_property
    def uncounted(self) -> pl.DataFrame:
        """Trials of instrumented builds that failed: rows of `schema.TRIALS`."""
        return self.sweep.counted.filter(pl.col("outcome") != "ok").collect()

    @cached_property
    def decisions(self) -> Decisions:
        """All tests of this sweep."""
        return decisions_of(self.sweep, self.times, self.baseline)

    @cached_property
    def trend(self) -> Drift | None:
        """Drift of the whole sweep; None with too few blocks."""
        return drift(self.residuals)

    @cached_property
    def experiment(self) -> Experiment | None:
        """The named experiment of the sweep."""
        return experiment_of(self.sweep)

    @property
    def cpus(self) -> int | None:
        """CPUs that the trials could use: the host's number, or else the most threads without oversubscription.

        None if the host's number is unknown and no trial was oversubscribed.
        """
        usable = self.sweep.host.get("cpus_usable")
        if isinstance(usable, int):
            return usable
        known = self.times.filter(pl.col("oversubscribed"))
        within = self.times.filter(~pl.col("oversubscribed"))["threads"].to_list()
        return max(within) if known.height and within else None

    @property
    def definition(self) -> str | None:
        """The first definition of speed-up in `DEFINITIONS` whose reference was measured; None without data."""
        present = set(self.speedups["definition"])
        return next((name for name in DEFINITIONS if name in present), None)

    @cached_property
    def _checked(self) -> Checked:
        return check_claims(self.sweep, with_time_outs(self.sweep, self.times).lazy())


def analyse(sweep: Sweep, baseline: str | None = None) -> Analysis:
    """The analysis of a sweep; `baseline` replaces the baseline that the sweep names."""
    return Analysis(sweep, baseline or sweep.baseline)
