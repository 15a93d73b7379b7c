"""The parts of a row's estimate: its builds, and the variance of its neighbours."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sweep_analysis.read.schema import CELL_SET
from sweep_analysis.stats.location import Floats, Location, shared_spread
from sweep_analysis.stats.units import Units, of_builds


def builds_of(*cells: list[float]) -> list[list[float]]:
    keys = {name: ["same"] * len(cells) for name in CELL_SET}
    table = pl.DataFrame(keys).with_columns(threads=pl.Series(range(len(cells))))
    values = np.array(cells)[:, None, :]
    return [row[0].tolist() for row in of_builds(Units(table, ["a"], values, np.ones((2, 1))))]


def test_a_slow_build_is_slow_in_two_configurations() -> None:
    slow, slower = [0.0, 0.0, 0.1], [0.0, 0.0, 0.3]
    assert builds_of(slow, slower) == [slow, slow]


def test_a_slow_configuration_alone_is_no_slow_build() -> None:
    assert builds_of([0.0, 0.0, 0.1], [0.0, 0.0, -0.3]) == [[0.0] * 3] * 2


def location(variances: list[float]) -> Location:
    rows = len(variances)
    influence: Floats = np.sqrt(np.array(variances) / 7)[None, :, None].repeat(7, axis=2)
    units = np.full((1, rows), 7)
    return Location(np.zeros((1, rows)), influence, units, np.full((1, rows), 4.0))


def test_a_quiet_row_among_noisy_ones_is_no_surer_than_half_of_what_they_suggest() -> None:
    noisy = 1e-4
    found = shared_spread(location([*[noisy] * 6, noisy / 1000]))
    # The row's own variance is `noisy` / 1000; its neighbours raise the estimate to about 0.2 of
    # `noisy`.
    assert found.error[0, 6] ** 2 > 0.1 * noisy


def test_a_row_that_is_noisier_than_its_neighbours_keeps_its_own_spread() -> None:
    found = shared_spread(location([*[1e-4] * 6, 1.0]))
    assert found.error[0, 6] == pytest.approx(1.0)
    assert found.degrees[0, 6] == pytest.approx(4.0)
