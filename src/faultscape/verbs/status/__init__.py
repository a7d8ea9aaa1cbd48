"""status: report what is done, stale and missing, and the next command."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
