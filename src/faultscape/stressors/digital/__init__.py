"""Corruptions of cameras' electronics and of files."""
