"""Published figures beside simulated ones: values, the threshold, and the order within a series."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import polars as pl
import pytest

import synthetic
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.stats import published
from sweep_analysis.stats.analysis import Analysis, analyse

EPOCHS = {
    "at": "crossbeam-epoch-0.9.21/src/i.rs:1:1 (Global::try_advance)",
    "transfers": 10,
    "waited_ns": 1_000_000,
}
"""Times that the cores of a synthetic trial wait in crossbeam's epochs; trial n waits n times as long."""


def test_the_committed_file_names_experiments_machines_and_positive_figures() -> None:
    told = published.read()
    experiments = (CHECKOUT / "experiments.toml").read_text(encoding="utf-8")
    assert 0 < told.threshold.share <= 1 < told.threshold.factor
    branches = (CHECKOUT / "branches.toml").read_text(encoding="utf-8")
    every: list[published.Series | published.Sign] = [*told.series, *told.sign]
    for one in every:
        assert f'name = "{one.experiment}"' in experiments
        assert (CHECKOUT / "machines" / f"{one.machine}.toml").is_file()
        assert one.source
    # If some of these fifty figures were deleted, no other test would fail.
    assert sum(len(one.figures) for one in told.series if one.machine == "zen2-64") == 50
    assert all(
        f'name = "{branch}"' in branches
        for sign in told.sign
        for branch in (sign.branch, sign.over)
    )
    for series in told.series:
        quantity, _, named = series.quantity.partition(":")
        assert quantity in {"wall", "cpus", "break-even"} or (
            quantity in {"times", "share"} and named
        )
        assert all(figure.published > 0 for figure in series.figures)


def test_a_figure_that_no_sweep_has_is_given_with_the_command_that_makes_it() -> None:
    with pytest.raises(
        InputError,
        match="cargo runner sweep --experiment published-threadteam --machine zen2-64",
    ):
        published.beside(published.read(), [])


def test_an_unknown_key_of_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "published.toml"
    file.write_text("[pass]\nfactor = 1.5\nshares = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="shares"):
        published.read(file)


def rows(*series: tuple[str, str, list[float], list[float]]) -> pl.DataFrame:
    """Figures of series: name, unit, published and simulated values. All have one program; each has a configuration."""
    return pl.concat(
        pl.DataFrame(
            {
                "series": name,
                "told": [f"figure {number}" for number in range(len(simulated))],
                "unit": unit,
                "published": told,
                "simulated": [[value] for value in simulated],
                "ratio": [one / other for one, other in zip(simulated, told, strict=True)],
                "cell": [f"{name} {number}" for number in range(len(simulated))],
                "program": "a program",
                "not_scored": "",
            }
        )
        for name, unit, told, simulated in series
    )


def test_a_score_counts_what_is_near_and_which_pairs_have_the_published_order() -> None:
    score = published.score(
        rows(("a", "µs", [1.0, 2.0, 4.0], [1.4, 3.8, 3.5]), ("b", "µs", [8.0, 1.0], [30.0, 40.0]))
    )
    assert (score.figures, score.within) == (5, [2, 3])
    # A constant is within a factor of 1.5 of 1, 1 and 2; another is within a factor of 2 of 1, 1, 2 and 4.
    assert score.constant == [3, 4]
    assert (score.order, score.directions) == ((2, 4), (1, 3))
    # Figure 0 of `b` is above figure 0 of `a`, published and simulated. Figure 1 of `b` is below
    # figure 1 of `a` in the publication, but above it in the simulation.
    assert score.contrasts == (1, 2)


def test_a_score_leaves_out_what_is_bimodal_or_not_scored_and_pairs_of_one_configuration() -> None:
    plain = rows(("a", "µs", [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 9.0]))
    bimodal = plain.with_columns(
        ratio=pl.when(pl.col("told") == "figure 3").then(None).otherwise("ratio")
    )
    assert published.score(bimodal).figures == 3
    refused = plain.with_columns(
        not_scored=pl.when(pl.col("told") == "figure 3").then(pl.lit("why")).otherwise("not_scored")
    )
    assert published.score(refused).figures == 3
    shared = refused.with_columns(pl.col("cell").str.replace("a 2", "a 1"))
    assert published.score(refused).order == (2, 3)
    assert published.score(shared).order == (2, 2)


def test_a_correlation_does_not_gain_by_units() -> None:
    score = published.score(
        rows(("a", "ns", [1.0, 2.0], [2.0, 1.0]), ("b", "ms", [1e6, 2e6], [2e6, 1e6]))
    )
    assert score.correlation == pytest.approx(-1)


def test_a_series_that_is_scored_says_how_it_was_measured_and_any_other_why_not() -> None:
    known = published.read().series[0]
    assert not known.not_scored
    for key in ("program", "machine_told", "governor_told", "clock"):
        with pytest.raises(ValueError, match=f"{known.name}.*or not-scored"):
            msgspec.structs.replace(known, **{key: ""})
        msgspec.structs.replace(known, **{key: ""}, not_scored="why")
    with pytest.raises(ValueError, match="or not-scored"):
        msgspec.structs.replace(known, not_scored="why")


def swept(workloads: dict[str, float]) -> Analysis:
    """`turned` takes half the time on `tsp`; with three seeds `master` is in a slow mode on `quicksort`."""
    truth = synthetic.Truth(
        branches=["master", "turned"],
        workloads=workloads,
        threads=[8],
        cpus=8,
        trials=7,
        trial_noise=0.002,
        block_noise=0.0,
        effects={("turned", "tsp"): 0.5},
        state=lambda branch, workload, _, seed: (
            5.0 if workload == "quicksort" and branch == "master" and seed < 3 else 1.0
        ),
        machine="synthetic-8",
        waits={"master": [EPOCHS]},
    )
    sweep = synthetic.swept(truth)
    experiment = {
        **dict.fromkeys(("shows", "source", "figure"), ""),
        "name": "synthetic",
        "sequential_ignores": [],
    }
    asked = sweep.manifest["asked"] | {"experiment": experiment}
    return analyse(synthetic.with_manifest(sweep, asked=asked))


PLACE = {"source": "a source", "machine": "synthetic-8", "experiment": "synthetic"}


def series(quantity: str, value: float, threads: int = 8, **more: Any) -> published.Series:  # noqa: ANN401
    fields: dict[str, Any] = {
        **PLACE,
        "name": "a series",
        "quantity": quantity,
        "per": 1,
        "unit": "ns",
        "figures": [published.Figure("a figure", threads, "", value)],
        "not_scored": "synthetic",
    }
    return published.Series(**(fields | more))


def beside(told: list[published.Series], *sweeps: Analysis) -> pl.DataFrame:
    return published.beside(
        published.Published(published.Threshold(1.5, 0.75), told, []), list(sweeps)
    )


def test_values_are_times_of_another_branch_and_shares_of_functions() -> None:
    told = [
        series("times:turned", 0.5),
        series("share:pin,try_advance", 25.0),
        series("share:steal", 1.0),
    ]
    times, share, none = beside(told, swept({"tsp": 0.1}))["simulated"].list.first()
    assert (times, none) == (pytest.approx(0.5, rel=0.01), 0.0)
    # Seven trials of three iterations of about 11.7 ms on eight cores; trial n waits n ms.
    assert share == pytest.approx(100 * 28 / (7 * 3 * 8 * 11.69), rel=0.01)


def test_a_scored_figure_is_of_the_last_sweep_and_one_that_is_not_scored_of_the_first() -> None:
    sweeps = [swept({"tsp": seconds}) for seconds in (0.1, 0.2)]
    how: dict[str, Any] = dict.fromkeys(
        ("program", "machine_told", "governor_told", "clock"), "known"
    )
    told = [
        series("wall", 1e6),
        series("wall", 1e6, name="scored", not_scored="", **how),
        series("wall", 1e6, name="less", less=1e6),
    ]
    first, last = (
        it.times.filter(branch="master", program="parallel")["elapsed_ns"].median() for it in sweeps
    )
    found = beside(told, *sweeps)["simulated"].list.first().to_list()
    assert found == [first, last, pytest.approx(first - 1e6)]  # type: ignore[operator]


def test_a_break_even_is_the_least_work_that_takes_longer_alone() -> None:
    """A region on two workers takes 100 ns and half of its work."""
    shares = [20.0, 40.0, 80.0, 160.0, 320.0]

    def analysis(shares: list[float]) -> Analysis:
        words = [f"jobs=0 share={share}" for share in shares]
        both = [100 + share for share in shares]
        parts = [
            {"program": "sequential", "threads": 1, "elapsed_ns": shares},
            {"program": "parallel", "threads": 2, "elapsed_ns": both},
        ]
        frames = [pl.DataFrame({"branch": "master", "parameters": words, **part}) for part in parts]
        sweep, experiment = (
            SimpleNamespace(machine="synthetic-8"),
            SimpleNamespace(name="synthetic"),
        )
        made = SimpleNamespace(times=pl.concat(frames), sweep=sweep, experiment=experiment)
        return cast("Analysis", made)

    told = [series("break-even", 320.0, threads=2)]
    assert beside(told, analysis(shares))["simulated"].to_list() == [[320.0]]
    with pytest.raises(InputError, match="no work gains on 2 threads"):
        beside(told, analysis(shares[:3]))


def test_a_figure_of_a_bimodal_configuration_is_neither_met_nor_missed() -> None:
    row = beside([series("wall", 1e6)], swept({"quicksort": 0.1})).row(0, named=True)
    assert (row["ratio"], row["is_met"]) == (None, None)
    low, high = row["simulated"]
    assert high / low == pytest.approx(5, rel=0.02)


def test_a_sign_is_right_if_what_was_seen_to_gain_gains_a_tenth_and_nothing_else_does() -> None:
    analysis = swept({"tsp": 0.1, "quicksort": 0.1})
    for gain, others, is_right in (("tsp", "quicksort", True), ("quicksort", "tsp", False)):
        sign = published.Sign(
            name="seen",
            branch="turned",
            over="master",
            threads=8,
            gain=[gain],
            others=[others],
            **PLACE,
        )
        told = published.Published(published.Threshold(1.5, 0.75), [], [sign])
        assert published.seen(told, [analysis])["is_right"].to_list() == [is_right] * 2
