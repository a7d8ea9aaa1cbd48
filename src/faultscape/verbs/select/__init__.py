"""select: choose the few images that a person should label."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
