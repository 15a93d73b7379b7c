"""What a sweep says in words: which branches differ from the baseline, how sure that is, and what it cannot tell.

Report and notebooks show these sentences, so that no conclusion is typed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sweep_analysis.read.labels import count, with_panel
from sweep_analysis.read.load import Sweep
from sweep_analysis.services import experiments
from sweep_analysis.services import servers as services
from sweep_analysis.services.experiments import Experiment, experiment_of
from sweep_analysis.stats.claims import VERDICTS as CLAIM_VERDICTS
from sweep_analysis.stats.claims import check_claims
from sweep_analysis.stats.clocks import clocks
from sweep_analysis.stats.compare import FASTER, SLOWER, UNCLEAR, UNJUDGED
from sweep_analysis.stats.costs import costs
from sweep_analysis.stats.drift import ClockEffect, Drift, clock_effect, drift, place_trend, places, residuals
from sweep_analysis.stats.events import event_rates, headline_rates, line_rates
from sweep_analysis.stats.judgement import Judgement, changes, judged_of
from sweep_analysis.stats.latency import latencies
from sweep_analysis.stats.ledger import ledger
from sweep_analysis.stats.modes import mode_values, modes
from sweep_analysis.stats.outliers import outliers, shares
from sweep_analysis.stats.placements import placements
from sweep_analysis.stats.scaling import scaling
from sweep_analysis.stats.speedup import DEFINITIONS, speedups, trial_times, with_time_outs


@dataclass(frozen=True)
class Analysis:
    """All frames of one sweep, each computed once; what only some readers need, when it is first asked for.

    Attributes:
        sweep: what was read.
        times: rows of `frames.TIMES`.
        speedups: rows of `frames.SPEEDUPS`, all definitions.
        judgement: all that is judged of this sweep.
        failures: rows of `schema.TRIALS` whose outcome is not `ok`.
        events: rows of `frames.EVENT_RATES`; empty if nothing was counted.
        drawn_events: the same for what `events.HEADLINE` names.
        lines: rows of `frames.LINE_RATES`.
        uncounted: rows of `schema.TRIALS`: trials of instrumented builds that failed.
        waits: rows of `frames.LATENCIES`.
        clocks: rows of `frames.CLOCKS`.
        residuals: rows of `frames.RESIDUALS`.
        trend: drift of the whole sweep; None with too few blocks.
        fits: rows of `frames.FITS`.
        fit_residuals: rows of `frames.RESIDUALS_OF_FITS`.
        claims: rows of `frames.CLAIMS`: what was claimed before the sweep, and what became of it.
        claim_details: rows of `frames.CLAIM_DETAILS`: the same by workload.
    """

    sweep: Sweep
    times: pl.DataFrame
    speedups: pl.DataFrame
    judgement: Judgement
    failures: pl.DataFrame
    events: pl.DataFrame
    drawn_events: pl.DataFrame
    lines: pl.DataFrame
    uncounted: pl.DataFrame
    waits: pl.DataFrame
    clocks: pl.DataFrame
    residuals: pl.DataFrame
    trend: Drift | None
    fits: pl.DataFrame
    fit_residuals: pl.DataFrame
    claims: pl.DataFrame
    claim_details: pl.DataFrame

    @property
    def comparisons(self) -> pl.DataFrame:
        """The judgement by wall time against the baseline, all levels; empty without a baseline."""
        return self.judgement.of("time")

    @property
    def cpu_comparisons(self) -> pl.DataFrame:
        """The same by CPU time; empty if none was told."""
        return self.judgement.of("cpu")

    @property
    def cpus(self) -> int | None:
        """CPUs that the trials could use: as the host says, else the most threads not marked oversubscribed."""
        return usable_cpus(self.sweep, self.times)

    @property
    def definition(self) -> str | None:
        """The first definition of speed-up, in the order of `DEFINITIONS`, that has its reference; None: no data."""
        present = set(self.speedups["definition"])
        return next((name for name in DEFINITIONS if name in present), None)

    @cached_property
    def experiment(self) -> Experiment | None:
        """The named experiment that the sweep is."""
        return experiment_of(self.sweep)

    @cached_property
    def points(self) -> pl.DataFrame:
        """The experiment's result as rows: answers, or the points of its figure; empty if it has no figure of its own.

        Rows of `experiments.answers`, `experiments.POINTS`, `wall_times.WALL_POINTS`, `services.SERVICE_POINTS` or
        `services.FORUM_POINTS`.
        """
        if self.experiment is None:
            return pl.DataFrame(schema=experiments.POINTS)
        if self.experiment.figure == experiments.ANSWERS:
            return experiments.answers(self.sweep, self.experiment)
        if self.experiment.figure in services.FIGURES:
            return services.points(self.sweep, self.experiment)
        return experiments.points(self.times, self.speedups, self.experiment)

    @cached_property
    def costs(self) -> pl.DataFrame:
        """Rows of `frames.COSTS`."""
        return costs(self.times.lazy(), self.cpus)

    @cached_property
    def outliers(self) -> pl.DataFrame:
        """Rows of `frames.OUTLIERS`: trials that are labelled, and stay."""
        return outliers(self.times.lazy()).collect()

    @cached_property
    def outlier_shares(self) -> pl.DataFrame:
        """Rows of `frames.OUTLIER_SHARES`: how many trials of each branch are labelled."""
        return shares(self.outliers, self.times)

    @cached_property
    def modes(self) -> pl.DataFrame:
        """Rows of `frames.MODES`: which cells have several typical times."""
        return modes(self.times.lazy(), self.sweep.iterations)

    def mode_values(self, found: pl.DataFrame) -> pl.DataFrame:
        """The values behind flagged rows of `modes`: rows of `frames.MODE_VALUES`."""
        return mode_values(found, self.times.lazy(), self.sweep.iterations)

    @cached_property
    def places(self) -> pl.DataFrame:
        """Rows of `frames.PLACES`: times by place in the block."""
        return places(self.times.lazy())

    @cached_property
    def place_trend(self) -> Drift | None:
        """Trend from the first trial of a block to its last; None with too few blocks."""
        return place_trend(self.times.lazy())

    @cached_property
    def clock_effect(self) -> ClockEffect | None:
        """How far times follow the measured clock; None if that cannot be told."""
        return clock_effect(self.times.lazy())

    @cached_property
    def placements(self) -> pl.DataFrame:
        """Rows of `frames.PLACEMENTS`: what pinning changes; empty if the sweep has not both placements."""
        return placements(self.sweep, self.times)

    @cached_property
    def ledger(self) -> pl.DataFrame:
        """Rows of `frames.LEDGER`: what the figures leave out, and why."""
        return ledger(self.sweep, self.times.lazy(), self.sweep.baseline)


def usable_cpus(sweep: Sweep, times: pl.DataFrame) -> int | None:
    """CPUs that the trials could use: as the host says, else the most threads not marked oversubscribed."""
    usable = sweep.host.get("cpus_usable")
    if isinstance(usable, int):
        return usable
    known = times.filter(pl.col("oversubscribed"))
    within = times.filter(~pl.col("oversubscribed"))["threads"].to_list()
    return max(within) if known.height and within else None


def analyse(sweep: Sweep, baseline: str | None = None) -> Analysis:
    """Compute everything that is shown; `baseline` replaces the one that the sweep names."""
    base = baseline or sweep.baseline
    times = trial_times(sweep).collect()
    experiment = experiment_of(sweep)
    ignored = experiment.sequential_ignores if experiment else frozenset[str]()
    failed = pl.col("outcome") != "ok"
    fits, fit_residuals = scaling(times.lazy())
    checked = check_claims(sweep, with_time_outs(sweep, times).lazy())
    return Analysis(
        sweep,
        times,
        speedups(times.lazy(), base, ignored),
        judged_of(sweep, times, base),
        failures=sweep.trials.filter(failed).collect(),
        events=event_rates(sweep).collect(),
        drawn_events=headline_rates(sweep).collect(),
        lines=line_rates(sweep).collect(),
        uncounted=sweep.counted.filter(failed).collect(),
        waits=latencies(sweep).collect(),
        clocks=clocks(sweep).collect(),
        residuals=residuals(times.lazy()).collect(),
        trend=drift(times.lazy()),
        fits=fits,
        fit_residuals=fit_residuals,
        claims=checked.claims,
        claim_details=checked.details,
    )


def claims_sentence(analysis: Analysis) -> str:
    """How many claims were held, refuted and so on; empty if nothing was claimed."""
    found = [(verdict, analysis.claims.filter(verdict=verdict).height) for verdict in CLAIM_VERDICTS]
    told = ", ".join(f"{number} {verdict}" for verdict, number in found if number)
    return f"Of {count(analysis.claims.height, 'claim')} written down before the sweep: {told}." if told else ""


def verdict_sentences(analysis: Analysis) -> list[str]:
    """One sentence per workload and verdict: which branches differ from the baseline there, and by how much."""
    return _verdict_sentences(analysis.judgement.rows, analysis.judgement.baseline)


def counter_sentences(analysis: Analysis) -> list[str]:
    """What the counters alone do, per workload: branches of the fork against the fork with upstream's counters.

    Against the baseline, every branch of the fork also shows what the rest of the scheduler does, alike in all.
    """
    plain = analysis.judgement.plain
    return _verdict_sentences(analysis.judgement.over_plain, plain) if plain else []


def _verdict_sentences(comparisons: pl.DataFrame, baseline: str | None) -> list[str]:
    rows = comparisons.filter(pl.col("level") == "workload")
    sentences = []
    for part in rows.partition_by("panel", maintain_order=True):
        claims = [
            f"{word} than {baseline}: {changes(part.filter(pl.col('verdict') == word))}"
            for word in (FASTER, SLOWER)
            if word in part["verdict"]
        ]
        claimed = part.filter(pl.col("verdict").is_in([FASTER, SLOWER]))["branch"]
        rest = part.filter(~pl.col("branch").is_in(claimed.implode()))
        for verdict in (UNCLEAR, UNJUDGED):
            # A branch is named once, and what could be told of it in either figure counts.
            names = set(rest.filter(verdict=verdict)["branch"])
            names -= set(rest.filter(verdict=UNCLEAR)["branch"]) if verdict == UNJUDGED else set()
            if names:
                claims.append(f"{count(len(names), 'branch', 'branches')} {verdict}")
        sentences.append(f"{part['panel'][0]}: {'; '.join(claims)}.")
    return sentences


def noise_sentences(analysis: Analysis) -> list[str]:
    """How large a difference has to be before it means anything, per workload."""
    twin = analysis.sweep.twin
    cells = with_panel(analysis.comparisons.filter(pl.col("level") == "cell"))
    sentences = []
    for part in cells.partition_by("panel", maintain_order=True):
        bands = part["band"].drop_nulls()
        others = part.filter(pl.col("branch") != twin)["detectable"].drop_nulls().median()
        if bands.is_empty() or not isinstance(others, float):
            sentences.append(f"{part['panel'][0]}: the noise is unknown.")
            continue
        sentences.append(
            f"{part['panel'][0]}: one build against itself differs by up to {(max(bands) - 1) * 100:.1f} % at one "
            f"thread count; a true difference there must be about {(others - 1) * 100:.1f} % to be found."
        )
    return sentences
