"""Computes statistics from the frames: estimates, comparisons, the decisions.

It writes no sentences and draws no pictures.
"""
