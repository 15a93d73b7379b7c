"""Fixtures: one synthetic sweep, which many tests share and no test changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import synthetic


@pytest.fixture(scope="session")
def ordinary_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    truth = synthetic.Truth(
        workloads={"quicksort": 0.2, "tsp": 0.05},
        effects={("split-counters-cache-padded", "tsp"): 0.9},
    )
    return synthetic.write_sweep(
        tmp_path_factory.mktemp("sweeps") / "2026-01-01-synthetic-0000000", truth
    )
