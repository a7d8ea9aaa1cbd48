"""Compiled kernels of metrics, each with its plain NumPy twin."""
