"""Faultscape: choose between segmentation models, and trust them, with few human labels.

Conventions: verbs (``fs.collect``, ``fs.select``, ...) work on study folders, rooms (``fs.metrics``,
``fs.ranking``, ...) on arrays. Everything is loaded on first use, so importing this package is cheap.
"""

import os

import lazy_loader

# set before Arrow is loaded: its default memory pool grows by some MB with every thousand maps
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
