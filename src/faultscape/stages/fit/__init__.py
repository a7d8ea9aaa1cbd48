"""Fit a method to a model of the study."""
