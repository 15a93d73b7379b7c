"""Computes statistics from the frames: estimates, comparisons, the decisions.

This folder writes no sentences and draws no pictures.
"""
