"""Compiled loops over pixels, each with a plain twin."""
