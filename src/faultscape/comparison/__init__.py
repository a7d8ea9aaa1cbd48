"""Where two models disagree: counts of every pair, and concordances from them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
