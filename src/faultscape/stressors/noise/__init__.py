"""Corruptions that draw a random number per pixel."""
