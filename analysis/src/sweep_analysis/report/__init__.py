"""Writes the report of one sweep (figures, tables and page), the generated results of documents, and the notebooks."""
