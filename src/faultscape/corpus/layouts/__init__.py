"""How well-known data sets lie in folders: which files make a frame, what their labels mean, which frames
belong together.
"""
