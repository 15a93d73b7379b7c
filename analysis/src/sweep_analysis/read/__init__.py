"""Reads the records of a sweep into frames.

The format of records, the readers, and the names of cells.
"""
