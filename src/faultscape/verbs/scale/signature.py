"""scale: learn how large each class usually is, from training masks."""

from __future__ import annotations

from faultscape.arguments import ClassList, Place
from faultscape.nouns import Scale
from faultscape.verbs.verb import verb


@verb("faultscape.verbs.scale.work:scale_of_masks")
def scale(
    *masks: Place, classes: ClassList, output: Place | None = None, pattern: str | None = None
) -> Scale:
    """Compute the first and third quartile of each class's share of pixels in training masks (Yan et al.
    2021), for `select --scale`.

    Parameters
    ----------
    masks
        Folders, globs in quotes, or list files of masks; shares are fractions of all pixels, void included.
    classes
        A class file (JSON or TOML) or a built-in name: ade20k, camvid, cityscapes, voc. In Python also a
        Classes, or a number.
    output
        The file to write.
    pattern
        Which files are masks, and how their names become ids, for example {id}_gtFine_labelIds.png.

    >>> fs.scale("training-masks/", classes="classes.json").names
    ('sky', 'road', 'car', 'tree')
    """
    ...
