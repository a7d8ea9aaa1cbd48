"""Labels by several people for the same items: their consensus, their agreement, which of two models they
prefer, and what to ask next.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
