"""export: write a study's images, maps, labels and results for other tools."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
