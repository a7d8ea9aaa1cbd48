"""Labels by several people for the same items: their consensus, their agreement, which of two models they
prefer, and what to ask next.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
