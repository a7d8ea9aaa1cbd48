"""predict: store what each model predicts for every image."""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
