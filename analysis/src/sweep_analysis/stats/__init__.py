"""Computes statistics from the frames: estimates, comparisons, and test decisions.

This package writes no sentences and draws no pictures.
"""
