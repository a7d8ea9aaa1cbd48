"""Metrics of one score a pixel: detection of anomalies and of mistakes, exact, streamed or from
histograms.
"""
