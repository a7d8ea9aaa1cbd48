"""Arrays in, numbers out.

Conventions: ``where`` names the image in an error message. ``void`` labels the pixels that are left out.
``connectivity`` is 4 (sides) or 8 (sides and corners). ``fpr_rule`` says which threshold the false positive
rate is read at: ``first`` or ``closest``. ``recall`` is the recall at which the false positive rate is read.
``alarm`` is the false positive rate up to which a pixel counts as found. ``definitions`` are the choices that
a metric is computed with. ``counts`` are those returned by the counting function of the same file, for one
image or summed over images. ``truth`` and ``prediction`` are label maps (H, W) of one image. ``classes`` is
the number of classes C.
"""

from faultscape.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
