"""Where two models disagree: counts of every pair, and concordances from them.

Conventions: ``pairs`` are the counts of ``count``. ``name`` is a concordance of ``metrics.CONCORDANCES``.
``over`` says which classes a mean is over: ``union``, ``all`` or ``truth``. ``truth`` is the name of the
labels. ``classes`` is the number of classes. ``hierarchy`` holds the nodes above the classes. ``nodes`` are
the places of the classes in it.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
