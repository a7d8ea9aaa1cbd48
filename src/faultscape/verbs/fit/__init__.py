"""fit: fit a temperature or an anomaly method to a trained network."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
