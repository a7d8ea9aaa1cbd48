"""Pictures of regions: class colours with white outlines, the regions that an error is made of strong, the others pale.

Conventions: maps (H, W) hold places 0..C-1 and C for void; regions are numbered as maps.regions does, -1 for none. Pictures are uint8 (h, w, 3). A region is
torn when several predicted regions of its class lie upon it, joined when a predicted region lies upon several, missed when none of its class touches it, and
invented, of the prediction, when it touches no true region of its class. Overlap of a pixel is enough.
Source: S1 eq. 3, 8 and Figs. 2, 7.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Collection

import numpy as np

from faultscape.maps import regions
from faultscape.maps.paint import borders, colour
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes

PALE = 0.78  # how much of the way to the paper
_PAPER = np.array([244, 243, 240], np.float64)
_LINE = np.array([255, 255, 255], np.uint8)
_STRONG = np.array([20, 20, 24], np.uint8)


def picture(label_map: np.ndarray, numbers: np.ndarray, marked: Collection[int], classes: Classes | None, size: tuple[int, int]) -> np.ndarray:
    """Return the (h, w, 3) picture of (width, height): ``marked`` regions in strong colours with dark outlines, the others pale.

    Without classes each region gets a colour of its own. Void is the paper.

    >>> one = Classes(("sky",), (0,), ((0, 0, 255),))
    >>> picture(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.int32), {0}, one, (1, 1)).tolist()
    [[[0, 0, 255]]]
    """
    small, where = nearest(label_map, size), nearest(numbers, size)
    strong = np.isin(where, np.fromiter(marked, np.int64, len(marked)))
    tints = colour(small, classes) if classes is not None else own_colours(where)
    painted = np.where(strong[..., None], tints, tints * (1 - PALE) + _PAPER * PALE)
    painted[where < 0] = _PAPER
    out = np.rint(painted).astype(np.uint8)
    edge = borders(where)
    beside = strong.copy()
    beside[:, :-1] |= strong[:, 1:]
    beside[:-1] |= strong[1:]
    out[edge & ~beside] = _LINE
    out[edge & beside] = _STRONG
    return out


def own_colours(numbers: np.ndarray) -> np.ndarray:
    """Return an (H, W, 3) colour for each region number, the same for the same number, neighbouring numbers far apart.

    >>> own_colours(np.array([[3, 3, 4]])).shape
    (1, 3, 3)
    """
    turn = (np.maximum(numbers, 0).astype(np.float64) * 0.618034) % 1.0  # golden ratio: even hues however many
    hue = turn[..., None] * 6 + np.array([0.0, 4.0, 2.0])
    return np.rint(70 + 150 * np.clip(np.abs(hue % 6 - 3) - 1, 0, 1)).astype(np.uint8)


def marked_regions(found: regions.Overlaps, metric: str, *, given: bool = False) -> tuple[set[int], set[int]]:
    """Return (true, predicted) regions, as rows of the overlaps, that an error is made of; ``given`` regions have no class to agree in.

    >>> found = regions.overlaps(np.array([[0, 0, 0]], np.uint8), np.array([[0, 1, 0]], np.uint8), 2)
    >>> marked_regions(found, "rom")
    ({0}, {0, 2})
    """
    same = np.ones(len(found.pixels), bool) if given else found.truth_label[found.truth] == found.prediction_label[found.prediction]
    truth, prediction = found.truth[same], found.prediction[same]
    upon = np.bincount(truth, minlength=len(found.truth_label))
    under = np.bincount(prediction, minlength=len(found.prediction_label))
    if metric in ("rom", "ror", "pe_os"):
        of = upon[truth] > 1
    elif metric in ("rum", "rur", "pe_us"):
        of = under[prediction] > 1
    elif metric == "missed":
        return set(np.flatnonzero(upon == 0).tolist()), set()
    elif metric == "invented":
        return set(), set(np.flatnonzero(under == 0).tolist())
    else:
        return set(range(len(upon))), set(range(len(under)))
    return set(truth[of].tolist()), set(prediction[of].tolist())


def uri(rgb: np.ndarray) -> str:
    """Return a picture of flat colours as a PNG data URI, at most 256 colours."""
    from PIL import Image

    out = io.BytesIO()
    flat = rgb.reshape(-1, 3).astype(np.int32)
    codes, places = np.unique(flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2], return_inverse=True)
    if len(codes) <= 256:
        image = Image.frombytes("P", (rgb.shape[1], rgb.shape[0]), places.astype(np.uint8).tobytes())
        image.putpalette(np.stack([codes >> 16, codes >> 8 & 255, codes & 255], 1).astype(np.uint8).tobytes())
    else:
        image = Image.fromarray(np.ascontiguousarray(rgb))
    image.save(out, format="PNG", compress_level=9, optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
