"""Compiled loops of blending over whole numbers, each with a plain twin of the same bytes."""
