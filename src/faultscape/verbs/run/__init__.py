"""run: do every stage that is not done yet, before and after labelling."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
