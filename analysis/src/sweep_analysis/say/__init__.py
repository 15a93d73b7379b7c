"""Turns statistics into sentences and tables for people."""
