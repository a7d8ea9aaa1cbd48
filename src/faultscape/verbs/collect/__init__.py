"""collect: add images to a study, with their classes and near-duplicates."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
