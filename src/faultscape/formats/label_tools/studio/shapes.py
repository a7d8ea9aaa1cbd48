"""Label Studio's results with an area, each as a piece that can be painted: brush runs, bitmasks, polygons,
rectangles, ellipses; and which results have none: key points, open vectors, shapes without a width or height.

Conventions: points are in percent of the image; a pixel is inside an outline if its centre is (even-odd
rule), and inside a mask if its alpha is above 0, as Label Studio displays it. Rectangles rotate about their
upper left corner, ellipses about their centre, clockwise. A PNG without transparency covers the whole image
in Label Studio, and is refused.
Source: Label Studio's documentation of its tags; the use of alpha and the centres of rotation come from its
editor.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats import coco
from faultscape.formats.guard import decoding
from faultscape.formats.label_tools.named_masks import MOST_MASK_PIXELS, Box, Piece, id_of
from faultscape.formats.label_tools.studio import brush
from faultscape.nouns import Classes

_SHAPES = ("brush", "bitmask", "polygon", "rectangle", "ellipse")
# types of results, and the shape of each
AREAS = {name: shape for shape in _SHAPES for name in (shape, f"{shape}labels")}
_SIDES = {"rectangle": ("width", "height"), "ellipse": ("radiusX", "radiusY")}
PNG = "data:image/png;base64,"
_FAR = 1e6  # percent


def type_of(result: dict[str, Any]) -> str:
    """Return the type of a result in lower case, '' if it has none."""
    kind = result.get("type")
    return kind.lower() if isinstance(kind, str) else ""


def without_area(result: Any) -> str:
    """Return the kind of a result that covers no pixels, '' for any other.

    >>> without_area({"type": "keypointlabels"}), without_area({"type": "brushlabels"})
    ('keypoint', '')
    """
    kind = type_of(result).removesuffix("labels") if isinstance(result, dict) else ""
    value = result.get("value") if kind else None
    value = value if isinstance(value, dict) else {}
    sides: list[Any] = [value.get(name) for name in _SIDES.get(kind, ())]
    flat = 0 in sides and all(type(side) in (int, float) and abs(side) < _FAR for side in sides)
    return kind if kind == "keypoint" or flat or (kind == "vector" and not value.get("closed")) else ""


def piece_of(
    result: Any, size: tuple[int, int], beside: dict[Any, Any], classes: Classes, where: str
) -> Piece:
    """Return the piece that a result paints; LabellingError if it cannot be painted."""
    value = result.get("value") if isinstance(result, dict) else None
    if not isinstance(value, dict):
        raise LabellingError(f"{where}: has no value")
    kind = type_of(result)
    if kind not in AREAS:
        what = f"a result of the type {kind[:40]!r} is not read" if kind else "has no type"
        raise LabellingError(f"{where}: {what}; use {', '.join(_SHAPES)}")
    if (result.get("original_width"), result.get("original_height")) != size:
        said = f"{str(result.get('original_width'))[:12]} x {str(result.get('original_height'))[:12]}"
        raise LabellingError(
            f"{where}: belongs to an image of {said} pixels, others to one of {size[0]} x {size[1]}"
        )
    if result.get("image_rotation", 0) not in (0, None):
        raise LabellingError(
            f"{where}: its image was rotated by {str(result['image_rotation'])[:12]} degrees in Label Studio;"
            " rotate it back"
        )
    labels = (
        value.get(kind)
        or value.get("labels")
        or (beside.get(result.get("id")) if isinstance(result.get("id"), str) else None)
    )
    if not isinstance(labels, list) or len(labels) != 1 or not isinstance(labels[0], str):
        count = len(labels) if isinstance(labels, list) else 0
        raise LabellingError(
            f"{where}: has {count or 'no'} label{'s' if count > 1 else ''}; expected exactly one"
        )
    id_ = id_of(labels[0], classes, where)
    pixels = size[0] * size[1]
    match AREAS[kind]:
        case "brush":
            if not isinstance(rle := value.get("rle"), list) or value.get("format", "rle") != "rle":
                raise LabellingError(f"{where}: its mask must be a list of runs `rle`")
            return Piece(id_, 200 * len(rle) + 3 * pixels, where, partial(_brush, rle, size))
        case "bitmask":
            if not isinstance(text := value.get("imageDataURL"), str):
                raise LabellingError(f"{where}: its mask must be text `imageDataURL`")
            return Piece(id_, 20 * pixels, where, partial(bitmask, text, size, where))
        case "ellipse":
            x, y, a, b, turn = (
                _numbers(value, name, where) for name in ("x", "y", "radiusX", "radiusY", "rotation")
            )
            if a < 0 or b < 0:
                raise LabellingError(f"{where}: the radii of an ellipse must be above 0; got {a:g} and {b:g}")
            return Piece(id_, 20 * pixels, where, partial(_ellipse, (x, y, a, b), turn, size))
        case "rectangle":
            x, y, w, h, turn = (
                _numbers(value, name, where) for name in ("x", "y", "width", "height", "rotation")
            )
            corners = _turned(((x, y), (x + w, y), (x + w, y + h), (x, y + h)), turn, size)
        case _:
            corners = _corners(value.get("points"), size, where)
    outline = [corners.reshape(-1).tolist()]
    try:
        box, nanoseconds = coco.measure(outline, (size[1], size[0]))
    except LabelMapError as error:
        raise LabellingError(f"{where}: {error}") from None
    return Piece(id_, nanoseconds, where, partial(_outline, outline, size, box))


def _numbers(value: dict[str, Any], name: str, where: str) -> float:
    """Return a number of a shape; only its rotation may be absent."""
    number = value.get(name, 0 if name == "rotation" else None)
    if type(number) not in (int, float) or not abs(number) < _FAR:
        raise LabellingError(f"{where}: {name} must be a finite number; got {str(number)[:40]}")
    return float(number)


def _corners(points: Any, size: tuple[int, int], where: str) -> np.ndarray:
    """Return the corners of a polygon in pixels, (N, 2)."""
    good = isinstance(points, list) and all(
        isinstance(p, list) and len(p) == 2 and all(type(v) in (int, float) and abs(v) < _FAR for v in p)
        for p in points
    )
    if not good or len(points) < 3:
        raise LabellingError(f"{where}: a polygon needs three or more points [x, y] of finite numbers")
    return np.array(points, np.float64) * size / 100


def _turned(points: Iterable[tuple[float, float]], degrees: float, size: tuple[int, int]) -> np.ndarray:
    """Return points in percent as pixels, rotated about the first one."""
    corners = np.array(tuple(points), np.float64) * size / 100
    if not degrees % 360:
        return corners
    cosine = math.cos(math.radians(degrees))
    sine = math.sin(math.radians(degrees))
    return (corners - corners[0]) @ np.array([[cosine, sine], [-sine, cosine]]) + corners[0]


def _outline(outline: list[list[float]], size: tuple[int, int], box: tuple[int, int, int, int]) -> Box:
    return box[0], box[1], coco.crop_of(outline, (size[1], size[0]), box)


def _ellipse(shape: tuple[float, float, float, float], degrees: float, size: tuple[int, int]) -> Box:
    """Return the pixels whose centres are inside an ellipse, by its equation."""
    x, y, a, b = (v * side / 100 for v, side in zip(shape, (*size, *size), strict=True))
    if a <= 0 or b <= 0:
        return 0, 0, np.zeros((0, 0), bool)
    cosine, sine = (
        (math.cos(math.radians(degrees)), math.sin(math.radians(degrees))) if degrees % 360 else (1.0, 0.0)
    )
    reach = np.array([math.hypot(a * cosine, b * sine), math.hypot(a * sine, b * cosine)])
    left, top = np.clip(np.floor(np.array([x, y]) - reach), 0, size).astype(int).tolist()
    right, bottom = np.clip(np.ceil(np.array([x, y]) + reach), 0, size).astype(int).tolist()
    across = np.arange(left, right, dtype=np.float64)[None] + (0.5 - x)
    down = np.arange(top, bottom, dtype=np.float64)[:, None] + (0.5 - y)
    mask = np.empty((max(bottom - top, 0), max(right - left, 0)), bool)
    for k in range(0, len(mask), 256):  # in blocks of rows: a large image would take gigabytes at once
        d = down[k : k + 256]
        mask[k : k + 256] = ((across * cosine + d * sine) / a) ** 2 + (
            (d * cosine - across * sine) / b
        ) ** 2 <= 1
    return top, left, mask


def _brush(rle: list[int], size: tuple[int, int]) -> Box:
    alpha = brush.decode(rle, size[0] * size[1])
    np.minimum(alpha, 1, out=alpha)
    return 0, 0, alpha.view(bool).reshape(size[1], size[0])


def bitmask(text: str, size: tuple[int, int], where: str) -> Box:
    """Return where the alpha of a PNG in base64 is above 0; LabellingError if it is not a PNG, has the wrong
    size or no transparency.
    """
    with decoding(where, LabellingError):
        return 0, 0, np.asarray(_opened(text, size, where).convert("RGBA").getchannel("A")) > 0


def check_bitmask(text: str, size: tuple[int, int], where: str) -> None:
    """Raise LabellingError if `bitmask` would, except for damaged pixels, because none are decoded."""
    with decoding(where, LabellingError):
        _opened(text, size, where).verify()


def _opened(text: str, size: tuple[int, int], where: str) -> Image.Image:
    """Return the PNG of a bitmask, not yet decoded."""
    try:
        data = base64.b64decode(text.removeprefix(PNG), validate=True)
    except (binascii.Error, ValueError):
        raise LabellingError(f"{where}: its mask is not a PNG in base64 (imageDataURL)") from None
    with decoding(where, LabellingError):
        picture = Image.open(io.BytesIO(data), formats=("PNG",))
        if picture.size != size:
            raise LabellingError(
                f"{where}: its mask is {picture.size[0]} x {picture.size[1]} pixels, its image {size[0]} x"
                f" {size[1]}"
            )
        if size[0] * size[1] > MOST_MASK_PIXELS:
            raise LabellingError(
                f"{where}: masks of more than {MOST_MASK_PIXELS:,} pixels are read only as brush runs"
            )
        if not picture.has_transparency_data:
            raise LabellingError(
                f"{where}: its mask has no transparency and so covers the whole image; save it as PNG with"
                " alpha"
            )
        return picture
