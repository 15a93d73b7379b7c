"""The one error a user can mend: what was wrong with the input, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path


class InputError(Exception):
    """Bad input. The message names file, place, value and remedy; the command exits with 2."""

    def __init__(self, where: Path | str, what: str, remedy: str) -> None:
        """Build the message.

        Args:
            where: file or folder, with `:line` where a line is known.
            what: the field, its value and what is wrong with it.
            remedy: what the user can do.
        """
        super().__init__(f"{where}: {what}; {remedy}")
