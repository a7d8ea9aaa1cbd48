"""Corruptions by weather."""
