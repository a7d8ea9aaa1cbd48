"""Scores of segmentation models from the true class at single pixels."""
