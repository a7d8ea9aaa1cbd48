"""Compiled kernels of label maps, each beside its plain twin."""
