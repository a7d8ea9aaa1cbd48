"""scale: learn how large each class usually is, from training masks."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
