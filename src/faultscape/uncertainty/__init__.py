"""Uncertainty heads, the networks they belong to, and their training. Torch is imported here and in the
sources of models alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
