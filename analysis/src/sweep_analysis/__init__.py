"""Turns raw trials into speed-up curves, comparisons and a report.

Start at `__main__.py` or the README.
"""
