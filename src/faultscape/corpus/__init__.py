"""The images of a study: sources, data set layouts, cut-outs, near-duplicates, groups."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
