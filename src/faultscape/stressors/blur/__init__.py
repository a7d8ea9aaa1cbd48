"""Corruptions that smear an image."""
