"""Experiments of older studies, most about services: servers, locks, transfers, queues; beside what was published."""
