"""Published figures beside simulated ones: values, the threshold, and the order within a series."""

from pathlib import Path

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
"""Waits of a synthetic trial's cores in crossbeam's epochs; in the second trial twice as long, and so on."""


def test_the_committed_file_names_experiments_machines_and_positive_figures() -> None:
    told = published.read()
    experiments = (CHECKOUT / "experiments.toml").read_text(encoding="utf-8")
    assert 0 < told.mark.share <= 1 < told.mark.factor
    branches = (CHECKOUT / "branches.toml").read_text(encoding="utf-8")
    for one in (*told.series, *told.sign):
        assert f'name = "{one.experiment}"' in experiments
        assert (CHECKOUT / "machines" / f"{one.machine}.toml").is_file()
        assert one.source
    assert all(
        f'name = "{branch}"' in branches
        for sign in told.sign
        for branch in (sign.branch, sign.over)
    )
    for series in told.series:
        quantity, _, named = series.quantity.partition(":")
        assert quantity in {"wall", "cpus"} or (quantity in {"times", "share"} and named)
        assert all(figure.published > 0 for figure in series.figures)


def test_a_figure_that_no_sweep_has_is_told_with_the_command_that_makes_it() -> None:
    with pytest.raises(
        InputError,
        match="cargo runner sweep --experiment published-nbody --machine sapphire-rapids-16",
    ):
        published.beside(published.read(), [])


def test_an_unknown_key_of_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "published.toml"
    file.write_text("[pass]\nfactor = 1.5\nshares = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="shares"):
        published.read(file)


def test_signs_count_the_pairs_of_each_series_that_have_the_published_order() -> None:
    rows = pl.DataFrame(
        {
            "series": ["a", "a", "a", "b", "a"],
            "published": [1.0, 2.0, 3.0, 1.0, 4.0],
            "simulated": [[5.0], [9.0], [6.0], [7.0], [1.0, 8.0]],
            "ratio": [5.0, 4.5, 2.0, 7.0, None],
        }
    )
    assert published.signs(rows) == (3, 2)


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
        "a series", "a source", "synthetic-8", "synthetic", quantity, 1, "ns", told
    )


def test_values_are_times_of_another_branch_and_shares_of_functions() -> None:
    analysis = swept({"tsp": 0.1})
    mark, no_signs = published.Mark(1.5, 0.75), list[published.Sign]()
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


def test_a_figure_whose_cell_has_two_states_is_neither_met_nor_missed() -> None:
    analysis = swept({"quicksort": 0.1})
    told = [series("wall", 1e6)]
    row = published.beside(
        published.Published(published.Mark(1.5, 0.75), told, []), [analysis]
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
    rows = published.seen(published.Published(published.Mark(1.5, 0.75), [], [sign]), [analysis])
    assert rows["is_right"].to_list() == [True, True]
    swapped = published.Sign(
        "seen",
        "a source",
        "synthetic-8",
        "synthetic",
        "turned",
        "master",
        8,
        ["quicksort"],
        ["tsp"],
    )
    rows = published.seen(published.Published(published.Mark(1.5, 0.75), [], [swapped]), [analysis])
    assert rows["is_right"].to_list() == [False, False]
