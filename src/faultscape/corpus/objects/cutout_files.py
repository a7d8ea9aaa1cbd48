"""One cut-out as one file: a PNG with transparency and a text chunk that describes the object. A study keeps
its blended objects in this format.

Conventions: pixels and alpha are restored exactly, including invisible pixels. The text is JSON under
``faultscape-cutout``: name, class, split, use, corner, frame, border, family if it is known, and the digest,
which must match the content.

``data`` holds the bytes of such a file. ``cutout`` is the object.
"""

from __future__ import annotations

import io
import json
import os
from typing import Any, cast

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngImageFile, PngInfo

from faultscape.errors import ImageError
from faultscape.formats.guard import MAX_PIXELS, decoding, open_picture
from faultscape.stressors.objects.cutout import FAMILIES, Cutout, Use

KEY = "faultscape-cutout"
_LONGEST = 2_000  # characters of a word
_WORDS = ("name", "class", "split", "use", "digest")


def write_cutout(cutout: Cutout) -> bytes:
    """Return a cut-out as the bytes of a PNG file.

    >>> cutout = Cutout(
    ...     np.full((2, 2, 3), 9, np.uint8),
    ...     np.array([[255, 0], [0, 7]], np.uint8),
    ...     "a box",
    ...     "box",
    ...     corner=(3, 4),
    ...     frame=(9, 9),
    ... )
    >>> again = read_cutout(write_cutout(cutout))
    >>> again, again.alpha.tolist(), again.corner, again.digest == cutout.digest
    (Cutout('a box', box, anomaly, 2 x 2), [[255, 0], [0, 7]], (3, 4), True)
    """
    told = {
        "name": cutout.name,
        "class": cutout.class_,
        "split": cutout.split,
        "use": cutout.use,
        "corner": cutout.corner,
        "frame": cutout.frame,
        "border": cutout.border,
        "digest": cutout.digest,
        **({"family": cutout.family} if cutout.family else {}),
    }
    text = PngInfo()
    text.add_text(KEY, json.dumps(told))
    file = io.BytesIO()
    Image.fromarray(np.dstack([cutout.pixels, cutout.alpha])).save(file, "PNG", pnginfo=text)
    return file.getvalue()


def read_cutout(data: bytes, path: str | os.PathLike[str] = "a cut-out") -> Cutout:
    """Return the cut-out in bytes from `write_cutout`; ``path`` appears in errors. ImageError for other
    bytes, and if the pixels have changed since they were written.
    """
    with decoding(path, ImageError):
        picture = open_picture(data, path, ImageError)
        if not isinstance(picture, PngImageFile) or picture.mode != "RGBA":
            raise ImageError(
                f"{path}: is not a cut-out of a study: expected a PNG with transparency, as write_cutout"
                " makes it"
            )
        pixels = np.array(picture)
        text = picture.text.get(KEY, "")
    told = _told(text, path)
    cutout = Cutout(
        np.ascontiguousarray(pixels[..., :3]),
        np.ascontiguousarray(pixels[..., 3]),
        told["name"],
        told["class"],
        told["split"],
        cast("Use", told["use"]),
        (told["corner"][0], told["corner"][1]),
        (told["frame"][0], told["frame"][1]),
        told["border"],
        told.get("family", ""),
    )
    if cutout.digest != told["digest"]:
        raise ImageError(
            f"{path}: is damaged: its pixels have the digest {cutout.digest}, and were written with"
            f" {told['digest'][:80]!r}"
        )
    return cutout


def _told(text: str, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields that the text of a file gives for its object, with checked types."""
    wrong = ImageError(f"{path}: is not a cut-out of a study: its text {KEY} is not what write_cutout writes")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError, MemoryError):
        raise wrong from None
    if not isinstance(told, dict) or not all(
        isinstance(told.get(key), str) and len(told[key]) <= _LONGEST for key in _WORDS
    ):
        raise wrong
    if told.get("family", "") not in ("", *FAMILIES):
        raise wrong
    if told["use"] not in ("anomaly", "known") or not all(told[key].isprintable() for key in _WORDS):
        raise wrong
    pairs = [told.get("corner"), told.get("frame"), [told.get("border"), 0]]
    if not all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(v) is int and 0 <= v <= MAX_PIXELS for v in pair)
        for pair in pairs
    ):
        raise wrong
    return told
