"""Import which classes are in images."""
