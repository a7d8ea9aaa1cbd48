"""Compiled kernels of packed counts, each beside its plain twin."""
