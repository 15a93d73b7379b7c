"""What a sweep recorded, as frames.

The format of records, reading it, and what cells are called.
"""
