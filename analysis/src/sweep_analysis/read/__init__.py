"""Reads the records of a sweep into frames.

The folder has the format of records, the readers, and the names of panels.
"""
