"""Compiled kernels of packed counts, and their plain NumPy equivalents."""
