"""One verb a file: the only place that combines rooms and touches the study folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
