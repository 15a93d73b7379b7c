"""Draws pictures of frames, without statistics."""
