"""Whole questions about models in memory, each answered by one call: which is better, and where they fail."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
