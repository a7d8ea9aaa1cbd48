"""Points: the table that people fill in, written and read."""
