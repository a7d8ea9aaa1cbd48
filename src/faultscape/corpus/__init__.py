"""The images of a study: sources, data set layouts, cut-outs, near-duplicates, groups."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
