"""Published figures beside simulated ones: values, the threshold, and the order within a series."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

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
"""Waits of a synthetic trial's cores in crossbeam's epochs; trial n waits n times as long."""


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
    # A loss of some of the fifty figures of one program would be hard to see.
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
    """Figures of series: name, unit, published and simulated values; one program, a configuration each."""
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
    # One number is within 1.5 of both ones and two, and within 2 of four, too.
    assert score.constant == [3, 4]
    assert (score.order, score.directions) == ((2, 4), (1, 3))
    # Of the figures 0, b is above a in both; of the figures 1, published below and simulated above.
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
    """`tsp` is steady; `quicksort` of the published crate is in a second state by three seeds.

    `turned` takes half.
    """
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


def series(quantity: str, *figures: float) -> published.Series:
    told = [
        published.Figure(f"figure {number}", 8, "", value) for number, value in enumerate(figures)
    ]
    return published.Series(
        "a series",
        "a source",
        "synthetic-8",
        "synthetic",
        quantity,
        1,
        "ns",
        told,
        not_scored="synthetic",
    )


def test_values_are_times_of_another_branch_and_shares_of_functions() -> None:
    analysis = swept({"tsp": 0.1})
    mark, no_signs = published.Threshold(1.5, 0.75), list[published.Sign]()
    told = [
        series("times:turned", 0.5),
        series("share:pin,try_advance", 25.0),
        series("share:steal", 1.0),
    ]
    rows = published.beside(published.Published(mark, told, no_signs), [analysis])
    times, share, none = rows["simulated"].list.first()
    assert (times, none) == (pytest.approx(0.5, rel=0.01), 0.0)
    # Seven trials of three iterations of some 11.7 ms on eight cores; the n-th trial waits n
    # milliseconds.
    assert share == pytest.approx(100 * 28 / (7 * 3 * 8 * 11.69), rel=0.01)


def test_a_figure_may_be_less_than_a_time_by_what_its_work_takes() -> None:
    analysis = swept({"tsp": 0.1})
    whole, rest = (
        published.beside(
            published.Published(published.Threshold(1.5, 0.75), [one], []), [analysis]
        ).row(0, named=True)["simulated"][0]
        for one in (series("wall", 1e6), msgspec.structs.replace(series("wall", 1e6), less=1e6))
    )
    assert rest == pytest.approx(whole - 1e6)


def test_a_scored_figure_is_of_the_last_sweep_and_what_was_wrong_of_the_first() -> None:
    sweeps = [swept({"tsp": seconds}) for seconds in (0.1, 0.2)]
    wrong = series("wall", 1e6)
    scored = msgspec.structs.replace(
        wrong,
        name="scored",
        program="p",
        machine_told="m",
        governor_told="g",
        clock="c",
        not_scored="",
    )

    def values(told: list[published.Series], of: list[Analysis]) -> list[float]:
        rows = published.beside(published.Published(published.Threshold(1.5, 0.75), told, []), of)
        return rows["simulated"].list.first().to_list()

    each = [values([wrong], [sweep])[0] for sweep in sweeps]
    assert each[0] < each[1]
    assert values([wrong, scored], sweeps) == each


def test_a_break_even_is_the_least_work_that_takes_longer_alone() -> None:
    """A region on two workers takes 100 ns and half of its work."""
    shares = [20.0, 40.0, 80.0, 160.0, 320.0]
    words = [f"jobs=0 share={share}" for share in shares]
    alone = {"program": "sequential", "threads": 1, "elapsed_ns": shares}
    both = {"program": "parallel", "threads": 2, "elapsed_ns": [100 + share for share in shares]}
    times = pl.concat(
        pl.DataFrame({"branch": "master", "parameters": words, **part}) for part in (alone, both)
    )
    analysis = SimpleNamespace(
        times=times,
        sweep=SimpleNamespace(machine="synthetic-8"),
        experiment=SimpleNamespace(name="synthetic"),
    )
    told = msgspec.structs.replace(
        series("break-even"), figures=[published.Figure("2 workers", 2, "", 320.0)]
    )
    found = published.beside(
        published.Published(published.Threshold(1.5, 0.75), [told], []),
        [cast("Analysis", analysis)],
    )
    assert found.row(0, named=True)["simulated"] == [320.0]
    never = SimpleNamespace(
        times=times.filter(
            ~pl.col("parameters").str.ends_with("320.0")
            & ~pl.col("parameters").str.ends_with("160.0")
        ),
        sweep=analysis.sweep,
        experiment=analysis.experiment,
    )
    with pytest.raises(InputError, match="no work gains on 2 threads"):
        published.beside(
            published.Published(published.Threshold(1.5, 0.75), [told], []),
            [cast("Analysis", never)],
        )


def test_a_figure_of_a_bimodal_configuration_is_neither_met_nor_missed() -> None:
    analysis = swept({"quicksort": 0.1})
    told = [series("wall", 1e6)]
    row = published.beside(
        published.Published(published.Threshold(1.5, 0.75), told, []), [analysis]
    ).row(0, named=True)
    assert (row["ratio"], row["is_met"]) == (None, None)
    low, high = row["simulated"]
    assert high / low == pytest.approx(5, rel=0.02)


def test_a_sign_is_right_if_what_was_seen_to_gain_gains_a_tenth_and_nothing_else_does() -> None:
    analysis = swept({"tsp": 0.1, "quicksort": 0.1})
    sign = published.Sign(
        "seen",
        "a source",
        "synthetic-8",
        "synthetic",
        "turned",
        "master",
        8,
        ["tsp"],
        ["quicksort"],
    )
    rows = published.seen(
        published.Published(published.Threshold(1.5, 0.75), [], [sign]), [analysis]
    )
    assert rows["is_right"].to_list() == [True, True]
    swapped = msgspec.structs.replace(sign, gain=["quicksort"], others=["tsp"])
    rows = published.seen(
        published.Published(published.Threshold(1.5, 0.75), [], [swapped]), [analysis]
    )
    assert rows["is_right"].to_list() == [False, False]
