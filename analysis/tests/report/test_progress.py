"""Progress: a bar where somebody looks, lines where a file keeps them."""

from __future__ import annotations

import io

from sweep_analysis.report.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def told(stream: io.StringIO) -> str:
    progress = Progress(2, stream)
    progress.begin("reading")
    assert list(progress.each(["a", "b"], "drawing")) == ["a", "b"]
    progress.end()
    return stream.getvalue()


def test_a_file_has_a_line_for_each_step() -> None:
    assert told(io.StringIO()) == "[1/2] reading\n[2/2] drawing\n"


def test_a_terminal_has_one_line_that_is_written_over_and_cleared() -> None:
    text = told(Terminal())
    assert "\n" not in text
    assert "1/2" in text
    assert text.endswith("\r\x1b[K")
