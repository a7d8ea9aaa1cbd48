"""Metrics of regions and partitions: all that follow from one table of overlaps."""
