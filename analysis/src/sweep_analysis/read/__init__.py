"""What a sweep recorded, as frames: the format of records, reading it, and what cells are called."""
