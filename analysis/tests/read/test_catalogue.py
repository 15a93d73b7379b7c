"""`workloads.toml` says which programs a clock paces."""

from __future__ import annotations

import pytest

from sweep_analysis.read import catalogue
from sweep_analysis.read.catalogue import is_paced

ROW = {
    "name": "hello",
    "paced": True,
    "parameters": [{"name": "gap-us", "default": 4, "unpaced-if": 0}, {"name": "hellos"}],
    "sizes": {"tiny": {"gap-us": 0}},
}


def test_a_clock_sets_the_time_unless_a_parameter_or_the_size_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = {"hello": ROW, "free": ROW | {"paced": False}}
    monkeypatch.setattr(catalogue, "_rows", lambda: rows)
    assert is_paced("hello", "small", {})
    assert not is_paced("hello", "small", {"gap-us": "0"})
    assert not is_paced("hello", "tiny", {})
    assert is_paced("hello", "tiny", {"gap-us": "7"})
    assert not is_paced("free", "small", {})
    assert not is_paced("of-another-commit", "small", {})


def test_the_catalogue_of_the_checkout_is_read() -> None:
    assert is_paced("idle", "small", {})
    assert not is_paced("quicksort", "small", {})
    assert not is_paced("ticks", "small", {"period-us": "0"})
