"""Computes statistics from the frames: estimates, comparisons, the judgement.

It writes no sentences and draws no pictures.
"""
