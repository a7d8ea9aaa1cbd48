"""Intervals of metrics: their evidence, and the units that are redrawn."""
