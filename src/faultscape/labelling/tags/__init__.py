"""Kinds of failure: which there are, which images may show them, and what they say about models."""
