"""One verb per file, each a thin layer: a signature, its checks, and one call of a stage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
