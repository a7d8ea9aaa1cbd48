"""Label maps: the data type below everything: run-length codes, joint counts, resizing, colours."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
