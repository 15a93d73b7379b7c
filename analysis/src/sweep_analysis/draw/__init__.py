"""Pictures of frames. No statistics."""
