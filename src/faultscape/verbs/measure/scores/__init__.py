"""Measure the scores of a data set: anomaly scores against masks, doubt against mistakes."""
