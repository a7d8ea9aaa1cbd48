"""Compiled kernels of metrics, each beside its plain twin."""
