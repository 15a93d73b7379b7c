"""The error for bad input that a user can correct. Each message names the place, the problem and the remedy."""

from __future__ import annotations

import re
import stat
from pathlib import Path

# Control characters, and the characters that change the direction of a text.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_CONTROL_BUT_COLOURS = re.compile(rf"(?!\x1b\[[0-9;]*m){_CONTROL.pattern}")


def plain(text: str, *, keeps_colours: bool = False) -> str:
    """Replace control characters, so that text quoted from a file cannot control the terminal."""
    odd = _CONTROL_BUT_COLOURS if keeps_colours else _CONTROL
    return odd.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def check_regular(file: Path) -> None:
    """Refuse a path that is not a regular file: a read from a pipe may block, a device may never end.

    Raises:
        OSError: the path does not exist.
        InputError: the path is a pipe, a folder or a device.
    """
    if not stat.S_ISREG(file.stat().st_mode):
        raise InputError(
            file, "it is not a regular file", "rename or remove it, or restore it from a copy"
        )


class InputError(Exception):
    """Bad input. The message names file, place, value and remedy; the command exits with 2."""

    def __init__(self, where: Path | str, what: str, remedy: str) -> None:
        """Build the message.

        Args:
            where: file or folder, with `:line` where a line is known.
            what: the field, its value and the problem.
            remedy: the action for the user.
        """
        super().__init__(plain(f"{where}: {what}; {remedy}"))
