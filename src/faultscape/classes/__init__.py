"""Class lists, what their names mean in other lists, and the hierarchies over them."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
