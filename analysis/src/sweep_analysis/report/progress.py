"""Tells how far a long command is: on stderr, as a bar on a terminal and as a line per step elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import TextIO, TypeVar

_Item = TypeVar("_Item")

BAR = 24
"""Width of the bar in letters."""


class Progress:
    """So many steps, told one after the other."""

    def __init__(self, steps: int, stream: TextIO | None = None) -> None:
        """`stream` is stderr unless told otherwise."""
        self._steps, self._begun = steps, 0
        self._stream = stream or sys.stderr
        self._moves = self._stream.isatty()

    def begin(self, what: str) -> None:
        """Say that the next step has begun, which is `what`."""
        self._begun += 1
        self._what = f"[{self._begun}/{self._steps}] {what}"
        self._show("" if self._moves else "\n")

    def each(self, items: list[_Item], what: str) -> Iterator[_Item]:
        """The items, one after the other, as the next step."""
        self.begin(what)
        for done, item in enumerate(items):
            self._bar(done, len(items))
            yield item
        self._bar(len(items), len(items))

    def end(self) -> None:
        """Clear the bar."""
        if self._moves:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _bar(self, done: int, of: int) -> None:
        if self._moves:
            full = BAR * done // max(of, 1)
            self._show(f" {'━' * full}{'─' * (BAR - full)} {done}/{of}")

    def _show(self, rest: str) -> None:
        told = f"{self._what}{rest}"
        if self._moves:  # a line that wraps could not be written over
            told = f"\r{told[: shutil.get_terminal_size().columns - 1]}\x1b[K"
        self._stream.write(told)
        self._stream.flush()
