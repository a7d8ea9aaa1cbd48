"""Measure the models of a study from boxes around objects."""
