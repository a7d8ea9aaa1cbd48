"""What each verb does to a study: the only floor that takes a study's root, and the only one that runs the
engine.
"""
