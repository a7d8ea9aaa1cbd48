"""Class lists, what their names mean in other lists, and the hierarchies over them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
