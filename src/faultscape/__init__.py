"""Faultscape: choose between segmentation models, and trust them, with few human labels.

Conventions: verbs (``fs.collect``, ``fs.select``, ...) work on study folders, rooms (``fs.metrics``,
``fs.ranking``, ...) on arrays. Everything is loaded when it is first used, so that importing this is light.
"""

import os

import lazy_loader

# before anything loads Arrow: the pool that it would take keeps some MB more with every thousand maps
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
