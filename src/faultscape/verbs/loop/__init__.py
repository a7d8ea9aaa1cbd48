"""loop: rounds in which a network learns from its failures."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
