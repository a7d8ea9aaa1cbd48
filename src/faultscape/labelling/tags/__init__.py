"""Kinds of failure: which exist, which images may show them, and what they say about models."""
