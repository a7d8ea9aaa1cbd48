"""What people should label: constraints, duels, spares.

Conventions: ``seed`` decides the draws and the order among equals. ``task`` is ``segmentation`` or
``classification``. ``pairs`` are the counts of `comparison.count`. ``over`` says which classes a mean is
over, as in `comparison.concordances`. ``classes`` is the class list. ``background`` and ``void`` are ids, if
the class list is a number. ``discarded`` are the ids of discarded images. ``slots`` are the rows of a
selection.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
