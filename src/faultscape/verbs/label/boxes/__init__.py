"""Import boxes around objects."""
