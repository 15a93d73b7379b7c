"""What the statistics say, in sentences and tables for people."""
