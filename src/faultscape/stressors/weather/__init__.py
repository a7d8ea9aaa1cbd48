"""Corruptions that weather brings."""
