"""Compares experiments of older studies (servers, locks, transfers, queues) with their published numbers."""
