"""Measure the models of a study by the classes that images show."""
