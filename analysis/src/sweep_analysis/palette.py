"""How every branch looks, everywhere: colours that colour-blind readers tell apart, dashes that mean something.

Colour stands for how the counters are kept, a dashed line for counters that share a cache line, so that ten
branches need six colours. Colours are Okabe and Ito's, further branches get Paul Tol's muted ones.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Look of one branch."""

    colour: str
    dashed: bool = False
    emphasised: bool = False


@dataclass(frozen=True)
class Theme:
    """Colours of everything that is no branch."""

    name: str
    paper: str
    ink: str
    faint_ink: str
    grid: str
    shade: str
    neutral_cell: str
    faster: tuple[str, str]
    slower: tuple[str, str]


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    faint_ink="#5b636d",
    grid="#e3e6ea",
    shade="#f1f2f4",
    neutral_cell="#eceef0",
    faster=("#cfe5f5", "#1f78b4"),
    slower=("#fde0c5", "#d9660a"),
)
DARK = Theme(
    name="dark",
    paper="#171a1f",
    ink="#e8eaed",
    faint_ink="#a3abb5",
    grid="#2d323a",
    shade="#20242b",
    neutral_cell="#2b3038",
    faster=("#1d3f57", "#4ea5dc"),
    slower=("#583617", "#f08a35"),
)

_BASELINE = {"light": "#000000", "dark": "#ffffff"}

_STUDY = {
    "packed": Style("#cc79a7", dashed=True),
    "packed-cache-padded": Style("#cc79a7"),
    "split-counters": Style("#56b4e9", dashed=True),
    "split-counters-cache-padded": Style("#56b4e9"),
    "split-counters-sleepers-only": Style("#0072b2", dashed=True),
    "split-counters-sleepers-only-cache-padded": Style("#0072b2"),
    "split-counters-no-jec": Style("#e69f00", dashed=True),
    "split-counters-no-jec-cache-padded": Style("#e69f00"),
    "split-counters-no-jec-sleepers-only": Style("#d55e00", dashed=True),
    "split-counters-no-jec-sleepers-only-cache-padded": Style("#d55e00"),
}

_FURTHER = ["#117733", "#882255", "#44aa99", "#999933", "#aa4499", "#332288", "#ddcc77", "#88ccee"]


def styles(branches: list[str], baseline: str | None, theme: Theme) -> dict[str, Style]:
    """Look of each of `branches`: fixed for the study's names, in order of the list for all others."""
    found = {}
    further = 0
    for branch in branches:
        if branch in (baseline, "master"):
            found[branch] = Style(_BASELINE[theme.name], emphasised=True)
        elif branch in _STUDY:
            found[branch] = _STUDY[branch]
        else:
            found[branch] = Style(_FURTHER[further % len(_FURTHER)], dashed=further >= len(_FURTHER))
            further += 1
    return found
