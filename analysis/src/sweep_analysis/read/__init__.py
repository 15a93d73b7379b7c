"""Reads the records of a sweep into frames.

This package has the format of records, the readers, and the names of panels.
"""
