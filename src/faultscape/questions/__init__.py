"""Whole questions about models in memory, each answered by one call: which is better, and where they fail."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
