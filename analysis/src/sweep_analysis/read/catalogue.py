"""Reads the one fact about a workload that records lack: whether a clock sets its time."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from sweep_analysis.read.load import CHECKOUT

FILE = CHECKOUT / "workloads" / "workloads.toml"
"""Every workload, a row each; its first lines say what the fields mean."""


def is_paced(workload: str, size: str, parameters: Mapping[str, str]) -> bool:
    """Whether a clock sets how long an iteration takes, so that CPU time tells branches apart.

    A workload that the catalogue of today does not have is not paced.
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
