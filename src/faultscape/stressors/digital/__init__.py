"""Corruptions by camera electronics and file formats."""
