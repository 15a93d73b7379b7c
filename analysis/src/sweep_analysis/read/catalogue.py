"""Reads from `workloads.toml` whether a clock sets the time of a workload. Only this fact is not in the records."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from sweep_analysis.read.load import CHECKOUT

FILE = CHECKOUT / "workloads" / "workloads.toml"
"""The file with one row per workload; its first lines explain the fields."""


def is_paced(workload: str, size: str, parameters: Mapping[str, str]) -> bool:
    """Whether a clock sets the time of an iteration, so that branches can only differ in CPU time.

    A workload that the current catalogue lacks counts as not paced.
    """
    row = _rows().get(workload, {})
    sized = row.get("sizes", {}).get(size, {})

    def value(parameter: dict[str, Any]) -> str:
        name = parameter["name"]
        return str(parameters.get(name, sized.get(name, parameter.get("default"))))

    return bool(row.get("paced")) and all(
        value(parameter) != str(parameter["unpaced-if"])
        for parameter in row.get("parameters", [])
        if "unpaced-if" in parameter
    )


@cache
def _rows() -> dict[str, dict[str, Any]]:
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["workload"]
    return {row["name"]: row for row in rows}
