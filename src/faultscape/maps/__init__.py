"""Label maps: the data type below everything: run-length codes, joint counts, resizing, colours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
