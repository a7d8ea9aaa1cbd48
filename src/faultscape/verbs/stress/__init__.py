"""stress: make corrupted, foggy and blended sets of a study's images."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
