"""Compiled sums over tuples of predictions, and their plain NumPy equivalent."""
