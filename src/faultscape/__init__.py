"""Faultscape: choose between segmentation models, and trust them, with few human labels.

Conventions: verbs (``fs.collect``, ``fs.select``, ...) work on study folders, rooms (``fs.metrics``,
``fs.ranking``, ...) on arrays. Everything is loaded on first use, so importing this package is cheap.
"""

import sys

# `python -m faultscape` has the current folder first on the path, in front of the standard library: a json.py
# among somebody's images would run. It goes before anything else is imported (the command has no such entry).
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:  # a module is being started, and argv not yet its own
    _started = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    if _started.partition(".")[0] == __name__:
        del sys.path[0]

import os

import lazy_loader

# set before Arrow is loaded: its default memory pool grows by some MB with every thousand maps
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
