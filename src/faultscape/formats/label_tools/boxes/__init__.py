"""Boxes around objects in the files of labelling tools, a format each."""
