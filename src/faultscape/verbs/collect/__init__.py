"""collect: add images to a study, with their classes and near-duplicates."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
