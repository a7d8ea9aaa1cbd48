"""Corruptions that draw a number a pixel."""
