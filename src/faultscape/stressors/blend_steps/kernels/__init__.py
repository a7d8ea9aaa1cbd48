"""Compiled integer loops for blending, each with a plain twin that gives the same bytes."""
