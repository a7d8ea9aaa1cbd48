"""One folder per verb: its signature in ``__init__.py``, its work, and the artefact that it makes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
