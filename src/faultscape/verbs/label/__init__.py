"""label: export images to a labelling tool, and import the labels."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
