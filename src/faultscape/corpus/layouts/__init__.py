"""Folder layouts of well-known data sets: which files form a frame, what their labels mean, which frames
belong together.
"""
