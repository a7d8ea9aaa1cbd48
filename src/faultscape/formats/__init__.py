"""Untrusted files, one format per module: decoded within bounds, encoded so that other tools can
read them.

Conventions: ``path`` is the file. ``classes`` is the class list. ``label_map_ids`` (H, W) are ids of the
class list. ``size`` and ``image_size`` are (width, height). ``pixels`` and ``grey`` are an image's values.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
