"""Metrics of one score per pixel: detection of anomalies and mistakes, exact, streamed or from histograms."""
