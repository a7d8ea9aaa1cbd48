"""PNG files: label maps of class ids with the class colours as a palette for display, as plain numbers, or in
the class colours; and plain pixels.

Conventions: ids up to 255 are 8-bit palette images, larger ones 16-bit grey. In class colours, void is black,
or PASCAL VOC's cream if a class is black; both are read as the first void id. Reading accepts everything that
`label_maps.read_map` reads (grey, palette, npy, class colours).
"""

from __future__ import annotations

import io
import os

import numpy as np
from PIL import Image

from faultscape.errors import LabelMapError
from faultscape.formats.label_maps import VOID_COLOURS, Palette, colour_table, read_map
from faultscape.nouns import Classes


def encode(
    label_map_ids: np.ndarray, classes: Classes, path: str | os.PathLike[str] = "a label map"
) -> bytes:
    """Return an (H, W) map of ids as PNG; LabelMapError, which names the target ``path``, for values out of
    range.
    """
    ids = _checked(label_map_ids, path)
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


def encode_index(label_map_ids: np.ndarray, path: str | os.PathLike[str] = "a label map") -> bytes:
    """Return an (H, W) map of ids as PNG of plain numbers, 8-bit grey if all fit, else 16-bit grey;
    LabelMapError for values out of range.

    >>> import io
    >>> [Image.open(io.BytesIO(encode_index(np.array([[k]])))).mode for k in (255, 256)]
    ['L', 'I;16']
    """
    ids = _checked(label_map_ids, path)
    out = io.BytesIO()
    Image.fromarray(ids.astype(np.uint8 if ids.max(initial=0) < 256 else np.uint16)).save(out, format="PNG")
    return out.getvalue()


def encode_colours(
    label_map_ids: np.ndarray, classes: Classes, path: str | os.PathLike[str] = "a label map"
) -> bytes:
    """Return an (H, W) map of ids as PNG in the class colours, RGB; all void ids become one colour.

    LabelMapError if a value is neither a class nor void, if two classes have the same colour, or if the map
    has void and both of its colours are taken by classes.
    """
    ids = _checked(label_map_ids, path)
    owners: dict[tuple[int, int, int], str] = {}
    for name, colour in zip(classes.names, classes.colours, strict=True):
        if owners.setdefault(colour, name) != name:
            raise LabelMapError(
                f"{path}: {owners[colour]!r} and {name!r} have the same colour, {colour}; give each class"
                " its own, or write plain ids"
            )
    table = np.zeros((65536, 3), np.uint8)
    known = np.zeros(65536, bool)
    table[[*classes.ids]], known[[*classes.ids]] = classes.colours, True
    free = next((colour for colour in VOID_COLOURS if colour not in owners), None)
    if free:
        table[[*classes.void]], known[[*classes.void]] = free, True
    if not (good := known[ids]).all():
        y, x = np.argwhere(~good)[0].tolist()
        value = int(ids[y, x])
        if value in classes.void:
            taken = " and ".join(repr(owners[colour]) for colour in VOID_COLOURS)
            raise LabelMapError(f"{path}: void has no colour, because {taken} use its two; write plain ids")
        raise LabelMapError(f"{path}: the value {value} at column {x}, row {y} is neither a class nor void")
    return encode_pixels(table[ids])


def encode_pixels(pixels: np.ndarray) -> bytes:
    """Return pixels, (H, W) or (H, W, 3) uint8 or (H, W) uint16, as PNG, optimised for speed rather than
    size.
    """
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="PNG", compress_level=1)
    return out.getvalue()


def read(
    path: str | os.PathLike[str], classes: Classes | None = None, *, palette: Palette | None = None
) -> np.ndarray:
    """Return the (H, W) ids of a label map file; RGB images are read by the colours of ``classes``, and
    values with a palette mean what ``palette`` returns. Errors: LabelMapError.
    """
    try:
        return read_map(path, palette=palette)
    except LabelMapError as error:
        if classes is None or "three channels" not in str(error):
            raise
    return read_map(path, colour_table(classes))


def _checked(label_map_ids: np.ndarray, path: str | os.PathLike[str]) -> np.ndarray:
    ids = np.asarray(label_map_ids)
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or ids.min(initial=0) < 0 or ids.max(initial=0) > 65535:
        raise LabelMapError(
            f"{path}: expected whole numbers 0-65535, H x W; got {ids.dtype} of shape {ids.shape}"
        )
    return ids
