"""rank: rank the models from the labels so far, with intervals."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
