"""Names panels by the parameters in which they differ, and writes numbers as text for people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

import polars as pl

from sweep_analysis.read.schema import PANEL

HERE = "measured in this laboratory"
PUBLISHED = "published"

QUANTITY_NAMES = {
    "time": "time",
    "cpu": "CPU time",
    "p50": "median latency",
    "p99": "p99 latency",
    "cycles": "cycles",
    "memory": "peak memory",
}
"""Names of `compare.QUANTITIES` in sentences, and of memory, which only `say.user_program` compares."""


_POOL = "rayon-fork/src/"
"""The folder of nearly all source lines that wait; tables for people omit this prefix of a path."""


@dataclass(frozen=True)
class Replicates:
    """Names of the sampling unit of a sweep.

    Attributes:
        unit: one sampling unit.
        equal: units of one branch, which differ only by noise; the subject of a sentence.
    """

    unit: str
    equal: str


LAYOUTS = Replicates("build", "equal builds")
SEEDS = Replicates("seed", "other seeds of one branch")


_RIVALS = ("workload", "size", "mode", "placement")
"""Columns of a panel: two panels with equal values in these columns differ only in input and parameters."""


def source_lines(waits: str) -> list[pl.Expr]:
    """The columns with the source line that waits, under the name `waits`, and with the line that wrote.

    In: `at` and `written_at` of `frames.LINE_WAIT_RATES`.
    """
    at, written_at = (pl.col(name).str.strip_prefix(_POOL) for name in ("at", "written_at"))
    return [at.alias(waits), written_at.fill_null("no thread").alias("written by")]


def with_panel(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a column `panel`: workload and size; and mode, placement, input and parameters where panels differ in these.

    In:  rows with the columns `schema.PANEL`; rows that pool all workloads get null.
         A frame that has the column `panel` keeps it, because a name depends on the other panels of the frame.
    """
    if "panel" in frame.columns:
        return frame
    keys = frame.select(PANEL).unique(maintain_order=True).drop_nulls("workload")
    rows = keys.rows(named=True)
    many_modes = len({key["mode"] for key in rows}) > 1
    many_placements = len({key["placement"] for key in rows}) > 1
    common: dict[tuple[str, ...], set[str]] = {}
    for key in rows:
        alike, own = tuple(key[name] for name in _RIVALS), set(key["parameters"].split())
        common[alike] = common.get(alike, own) & own
    named = []
    for key in rows:
        parts = [f"{key['workload']} · {key['size']}"]
        if key["input"]:
            parts.append(PurePath(key["input"]).name)
        shared = common[tuple(key[name] for name in _RIVALS)]
        parts += [word for word in key["parameters"].split() if word not in shared]
        if many_modes:
            parts.append(f"{key['mode']} frequency")
        if many_placements:
            parts.append(key["placement"])
        named.append(", ".join(parts))
    panels = keys.with_columns(pl.Series("panel", named, dtype=pl.String))
    return frame.join(panels, on=PANEL, how="left", nulls_equal=True, maintain_order="left")


def without_size(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove the size from the names in `panel` if all rows have the same size."""
    sizes = frame["size"].drop_nulls().unique()
    shorter = (
        pl.col("panel").str.replace(f" · {sizes[0]}", "", literal=True)
        if sizes.len() == 1
        else pl.col("panel")
    )
    return frame.with_columns(shorter)


def percent(ratio: float) -> str:
    """A time ratio as a change in time: 0.95 is `-5.0 %`."""
    change = round((ratio - 1) * 100, 1)
    return (
        f"{'+' if change > 0 else '−' if change < 0 else '±'}{abs(change):.1f}\N{NO-BREAK SPACE}%"
    )


def ranges(numbers: list[int]) -> str:
    """Whole numbers as text, with runs of three or more as ranges: `1–4, 8`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        [f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(number) for number in run]  # noqa: PLR2004
        for run in runs
    ]
    return ", ".join(part for run in parts for part in run)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun, singular or plural."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(names: list[str]) -> str:
    """Names in a sentence: `a, b and c`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def capital(text: str) -> str:
    """The text with its first letter in upper case; the other letters are unchanged."""
    return text[:1].upper() + text[1:]


def parameter(name: str) -> pl.Expr:
    """The value of one parameter from the column `parameters`; null where the parameter is absent."""
    return pl.col("parameters").cast(pl.String).str.extract(rf"(?:^| ){name}=(\S+)")


def without(parameters: str, names: frozenset[str]) -> str:
    """The text of the column `parameters` without the parameters of these names."""
    return " ".join(word for word in parameters.split() if word.partition("=")[0] not in names)
