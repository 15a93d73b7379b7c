"""What others published beside simulations: values, the mark, and the order within a series."""

from pathlib import Path

import polars as pl
import pytest

from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT
from sweep_analysis.stats import published


def test_the_committed_file_names_experiments_machines_and_positive_figures() -> None:
    told = published.read()
    experiments = (CHECKOUT / "experiments.toml").read_text(encoding="utf-8")
    assert 0 < told.mark.share <= 1 < told.mark.factor
    branches = (CHECKOUT / "branches.toml").read_text(encoding="utf-8")
    for one in (*told.series, *told.sign):
        assert f'name = "{one.experiment}"' in experiments
        assert (CHECKOUT / "machines" / f"{one.machine}.toml").is_file()
        assert one.source
    assert all(f'name = "{branch}"' in branches for sign in told.sign for branch in (sign.branch, sign.over))
    for series in told.series:
        quantity, _, named = series.quantity.partition(":")
        assert quantity in {"wall", "cpus"} or (quantity in {"times", "share"} and named)
        assert all(figure.published > 0 for figure in series.figures)


def test_a_figure_that_no_sweep_has_is_told_with_the_command_that_makes_it() -> None:
    with pytest.raises(
        InputError, match="cargo runner sweep --experiment published-nbody --machine sapphire-rapids-16"
    ):
        published.beside(published.read(), [])


def test_an_unknown_key_of_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "published.toml"
    file.write_text("[pass]\nfactor = 1.5\nshares = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="shares"):
        published.read(file)


def test_signs_count_the_pairs_of_each_series_that_have_the_published_order() -> None:
    rows = pl.DataFrame(
        {"series": ["a", "a", "a", "b"], "published": [1.0, 2.0, 3.0, 1.0], "simulated": [5.0, 9.0, 6.0, 7.0]}
    )
    assert published.signs(rows) == (3, 2)
