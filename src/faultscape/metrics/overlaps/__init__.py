"""Metrics of regions and partitions, all computed from one table of overlaps."""
