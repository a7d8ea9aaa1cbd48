"""PNG files: label maps, whose pixel values are class ids, with the class colours as palette so that people see something; and pixels as they are.

Conventions: ids up to 255 are 8-bit palette pictures, larger ones 16-bit grey. Reading takes whatever `label_maps.read_map` reads (grey, palette, npy, class colours).
"""

from __future__ import annotations

import io
import os

import numpy as np
from PIL import Image

from faultscape.errors import LabelMapError
from faultscape.formats.label_maps import colour_table, read_map
from faultscape.nouns import Classes


def encode(label_map_ids: np.ndarray, classes: Classes, path: str | os.PathLike[str] = "a label map") -> bytes:
    """Return an (H, W) map of ids as PNG; LabelMapError, which names the ``path`` it was to go to, for values out of range."""
    ids = np.asarray(label_map_ids)
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or ids.min(initial=0) < 0 or ids.max(initial=0) > 65535:
        raise LabelMapError(f"{path}: expected whole numbers 0-65535, H x W; got {ids.dtype} of shape {ids.shape}")
    if ids.max(initial=0) > 255:
        picture = Image.fromarray(ids.astype(np.uint16))
    else:
        palette = np.zeros((256, 3), np.uint8)
        for id_, colour in zip(classes.ids, classes.colours, strict=True):
            if id_ < 256:
                palette[id_] = colour
        picture = Image.frombytes("P", (ids.shape[1], ids.shape[0]), ids.astype(np.uint8).tobytes())
        picture.putpalette(palette.tobytes())
    out = io.BytesIO()
    picture.save(out, format="PNG")
    return out.getvalue()


def encode_pixels(pixels: np.ndarray) -> bytes:
    """Return pixels, (H, W) or (H, W, 3) uint8 or (H, W) uint16, as PNG: written fast, not small."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="PNG", compress_level=1)
    return out.getvalue()


def read(path: str | os.PathLike[str], classes: Classes | None = None) -> np.ndarray:
    """Return the (H, W) ids of a label map file; RGB pictures are read by the colours of ``classes``. Errors: LabelMapError."""
    try:
        return read_map(path)
    except LabelMapError as error:
        if classes is None or "three channels" not in str(error):
            raise
    return read_map(path, colour_table(classes))
