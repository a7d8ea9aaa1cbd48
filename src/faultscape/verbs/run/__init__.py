"""run: do every stage that is not done yet, before and after labelling."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
