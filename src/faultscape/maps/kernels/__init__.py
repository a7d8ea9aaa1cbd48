"""Compiled kernels of label maps, and their plain NumPy equivalents."""
