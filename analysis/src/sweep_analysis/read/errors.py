"""The one error a user can mend: what was wrong with the input, where, and what to do about it."""

from __future__ import annotations

import re
import stat
from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_CONTROL_BUT_COLOURS = re.compile(rf"(?!\x1b\[[0-9;]*m){_CONTROL.pattern}")


def plain(text: str, *, keeps_colours: bool = False) -> str:
    """A text that changes nothing on a terminal but its lines: it may quote what others wrote."""
    odd = _CONTROL_BUT_COLOURS if keeps_colours else _CONTROL
    return odd.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def check_regular(file: Path) -> None:
    """Refuse what is no file with an end: a pipe would be waited for, a device may give zeros for ever.

    Raises:
        OSError: it is not there.
        InputError: it is a pipe, a folder or a device.
    """
    if not stat.S_ISREG(file.stat().st_mode):
        raise InputError(file, "it is no regular file", "rename or remove it, or put back a copy")


class InputError(Exception):
    """Bad input. The message names file, place, value and remedy; the command exits with 2."""

    def __init__(self, where: Path | str, what: str, remedy: str) -> None:
        """Build the message.

        Args:
            where: file or folder, with `:line` where a line is known.
            what: the field, its value and what is wrong with it.
            remedy: what the user can do.
        """
        super().__init__(plain(f"{where}: {what}; {remedy}"))
