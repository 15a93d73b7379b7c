"""The form of the answers of notebooks."""

from __future__ import annotations


def answer(*sentences: str) -> str:
    """An answer as Markdown."""
    return f"**Answer.** {' '.join(sentences)}"


def bullets(sentences: list[str]) -> str:
    """Sentences as a Markdown list."""
    return "\n".join(f"* {sentence}" for sentence in sentences)
