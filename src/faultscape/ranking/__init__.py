"""Who wins: outcomes, matrices, rankings, intervals.

Conventions: ``models`` are the names of the models. ``resamples`` is the number of bootstrap replicates, 0
for no intervals. ``seed`` is that of the bootstrap. ``discarded`` is the number of images of the selection
that were discarded. ``definitions`` are written into the standings unchanged. ``level`` is the level of
confidence. ``epsilon`` is added to both sides of each ratio. ``pseudo_count`` is the number of wins added in
both directions where two models met. ``slots`` are the rows of the selection. ``laplace`` is added to each
side when the accuracies of a pair are smoothed. ``weights`` (..., J, J) compare the row model with the column
model.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
