"""Formats the answers that notebooks give to their questions."""

from __future__ import annotations


def answer(*sentences: str) -> str:
    """An answer as Markdown."""
    return f"**Answer.** {' '.join(sentences)}"


def bullets(sentences: list[str]) -> str:
    """Sentences as a Markdown list."""
    return "\n".join(f"* {sentence}" for sentence in sentences)
