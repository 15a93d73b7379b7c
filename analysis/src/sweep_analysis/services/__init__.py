"""Experiments of older studies, most about services: servers, locks, transfers, queues.

Beside what was published.
"""
