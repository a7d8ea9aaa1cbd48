"""demo: try everything on drawn street scenes, in a minute."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
