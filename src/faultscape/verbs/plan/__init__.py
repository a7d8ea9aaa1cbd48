"""plan: estimate how many labels each question needs, and what they cost."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
