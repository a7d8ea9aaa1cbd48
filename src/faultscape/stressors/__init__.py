"""Corpora made from other corpora: corruptions, unknown objects, held-out classes.

Conventions: ``seed`` and ``key`` determine all random draws; the key identifies the image. ``severity`` is 1
to 5. ``image`` and ``base`` (H, W, 3) are uint8. ``labels`` (H, W) hold a class for each pixel. ``cutouts``
are the objects to blend. ``cutout`` is one object. ``split`` is ``validation``, ``test`` or '' for either.
``use`` is ``known`` or ``anomaly``. ``frame`` is (height, width). ``preset`` is the name of a preset.
``layer`` is the object as processed so far, with the image below it. ``name`` is its name in the catalogue.
``class_`` is the class of the object. ``objects_per_frame`` is the number of objects blended into one image.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
