"""rank-table: rank the models of any table of scores."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
