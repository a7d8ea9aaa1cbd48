"""Human labels: one label format per file.

Conventions: ``path`` is the file. ``seed`` is that of the bootstrap. ``level`` is the level of confidence.
``slots`` are the rows of the selection. ``discarded`` are the ids of discarded images. ``annotators`` is
their number A, by default as many as the columns name. ``classes`` is the number of classes C. ``item`` (N,)
is the number of the item that each vote is about. ``annotator`` (N,) is the number of the person who gave it.
``label`` (N,) is the answer, -1 for none. ``items`` is the number of items. ``iterations`` is the maximum
number of expectation-maximisation steps. ``tolerance`` is the gain of log likelihood below which they stop.
``maps`` are the label maps of one image, one per annotator. ``image``, ``f`` and ``g`` (N,) are the image and
the two models of each choice. ``who`` (N,) is the number of the person who chose. ``choice`` (N,) is the side
that was chosen.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
