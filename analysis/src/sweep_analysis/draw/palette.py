"""The colour and dash of every branch, for all figures.

The colour shows the kind of counters, and a dashed line shows counters that share a cache line, so the ten
branches of the study need five colours. Colour-blind readers can distinguish the colours, which are Okabe and Ito's;
further branches get Paul Tol's muted colours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Style:
    """Colour and line of one branch."""

    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class Theme:
    """Colours of everything except branches.

    `ink` is legible on every colour of a heat map. `gain` and `loss` are for points and lines, which need
    more contrast with the paper than cells do.
    """

    name: str
    paper: str
    ink: str
    faint_ink: str
    grid: str
    shade: str
    neutral_cell: str
    faster: tuple[str, str, str]
    slower: tuple[str, str, str]
    gain: str
    loss: str
    noise: str


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    faint_ink="#5b636d",
    grid="#e3e6ea",
    shade="#f1f2f4",
    neutral_cell="#eceef0",
    faster=("#d6e9f7", "#a5cfea", "#63abdb"),
    slower=("#fde3cb", "#f8bd84", "#f0913a"),
    gain="#1a6ba3",
    loss="#b04e05",
    noise="#cfd5dc",
)
DARK = Theme(
    name="dark",
    paper="#171a1f",
    ink="#e8eaed",
    faint_ink="#a3abb5",
    grid="#2d323a",
    shade="#20242b",
    neutral_cell="#2b3038",
    faster=("#1d3a4f", "#235577", "#2c6f9f"),
    slower=("#4d3218", "#784617", "#a55a15"),
    gain="#6bb8ea",
    loss="#f29a4d",
    noise="#454c57",
)

_BASELINE = {"light": "#000001", "dark": "#fffffe"}
"""Colours of the baseline: nearly black and nearly white, so that a text replacement finds only the baseline."""

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
_LIGHTER = {"#882255": "#d0568c", "#332288": "#9183e0"}
"""Colours of further branches that are illegible on dark paper, with those that replace them there."""


def pairs() -> dict[str, str]:
    """Every colour of the light theme, with the colour that replaces it in the dark theme.

    No two colours are equal, so replacing text turns a light picture into a dark picture.
    """
    known = {_BASELINE[LIGHT.name]: _BASELINE[DARK.name], **_LIGHTER}
    for field in fields(Theme):
        light, dark = getattr(LIGHT, field.name), getattr(DARK, field.name)
        if field.name != "name":
            known |= (
                {light: dark} if isinstance(light, str) else dict(zip(light, dark, strict=True))
            )
    return known


def styles(branches: list[str], baseline: str | None, theme: Theme) -> dict[str, Style]:
    """The style of each of `branches`: fixed for the study's branches; the other branches get styles in their order."""
    found = {}
    further = 0
    for branch in branches:
        if branch in (baseline, "master"):
            found[branch] = Style(_BASELINE[theme.name])
        elif branch in _STUDY:
            found[branch] = _STUDY[branch]
        else:
            colour = _FURTHER[further % len(_FURTHER)]
            if theme.name == DARK.name:
                colour = _LIGHTER.get(colour, colour)
            found[branch] = Style(colour, dashed=further >= len(_FURTHER))
            further += 1
    return found
