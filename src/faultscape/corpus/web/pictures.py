"""Inspect a download: whether it is an image, its size and its share of transparent pixels; and make a
thumbnail for review.

Conventions: transparency is the share of pixels with alpha below one half; a cut-out object has at least
``CLEAR`` of these, and at least as many opaque ones.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from faultscape.errors import ImageError, WebError
from faultscape.formats.deep_pictures import coded_as, to_8_bits
from faultscape.formats.guard import decoding, open_picture
from faultscape.formats.pictures import Picture, examine

CLEAR = 0.01
THUMBNAIL = 360
_ENDINGS = {
    "JPEG": ".jpg",
    "MPO": ".jpg",
    "PNG": ".png",
    "WEBP": ".webp",
    "GIF": ".gif",
    "BMP": ".bmp",
    "TIFF": ".tif",
}
_PLAIN = ("", "application/octet-stream", "binary/octet-stream")


@dataclass(frozen=True)
class Look:
    """The actual content of a downloaded image; ``ending`` is the file ending for it, ``thumbnail``
    a WebP.
    """

    picture: Picture
    ending: str
    transparent: float
    thumbnail: bytes


def look(data: bytes, content_type: str) -> Look:
    """Return the content of bytes; WebError if they are not an acceptable image."""
    said = content_type.partition(";")[0].strip().lower()
    if not said.startswith("image/") and said not in _PLAIN:
        raise WebError(f"the server says it is {said}, not an image")
    try:
        picture = examine(data, "it")
        with decoding("it", ImageError):
            image = open_picture(data, "it", ImageError)
            image.draft("RGB", (THUMBNAIL, THUMBNAIL))
            coded = coded_as(image)
            kind = image.format or ""
            image.load()
            image = to_8_bits(image, coded, "it")
            clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
            small = ImageOps.exif_transpose(image).convert("RGBA" if clear else "RGB")
            share = float(np.mean(np.asarray(small.getchannel("A")) < 128)) if clear else 0.0
            small.thumbnail((THUMBNAIL, THUMBNAIL), Image.Resampling.BILINEAR)
            out = io.BytesIO()
            small.save(out, format="WEBP", quality=70)
    except ImageError as error:
        raise WebError(str(error).removeprefix("it: ")) from None
    ending = _ENDINGS.get(kind, "")
    if not ending:
        raise WebError(f"its format {kind} is not supported; supported are {', '.join(sorted(_ENDINGS))}")
    return Look(picture, ending, round(share, 4), out.getvalue())


def not_transparent(share: float) -> str:
    """Return why a share of clear pixels is not that of a cut-out object, or ''.

    >>> not_transparent(0.4), not_transparent(1.0)
    ('', 'it is fully transparent')
    """
    if share < CLEAR:
        return "it has no transparency"
    return "it is fully transparent" if share > 1 - CLEAR else ""
