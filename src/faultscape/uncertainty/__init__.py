"""Models that doubt: heads that know doubt, the networks they stand in, and the training that makes them. Torch lives here and in the sources of models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
