"""Draw regions in class colours with white outlines: those that an error consists of strong, the others pale.

Conventions: maps (H, W) hold places 0..C-1 and C for void; regions are numbered as in maps.regions, -1 for
none. Drawings are uint8 (h, w, 3). A region is torn if several predicted regions of its class overlap it,
joined if a predicted region overlaps several, and missed if none of its class touches it; a predicted region
is invented if it touches no true region of its class. One pixel of overlap is enough.
Source: Zhang et al. 2021, eq. 3, 8 and Figs. 2, 7.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from faultscape.maps import regions
from faultscape.maps.paint import borders, colour
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes

PALE = 0.78  # how far pale colours are blended with the background
_PAPER = np.array([244, 243, 240], np.float64)
_LINE = np.array([255, 255, 255], np.uint8)
_STRONG = np.array([20, 20, 24], np.uint8)


def picture(
    label_map: np.ndarray,
    numbers: np.ndarray,
    marked: Collection[int],
    classes: Classes | None,
    size: tuple[int, int],
) -> np.ndarray:
    """Return the (h, w, 3) drawing of (width, height): ``marked`` regions in strong colours with dark
    outlines, the others pale.

    Without classes each region gets its own colour. Void is the background.

    >>> one = Classes(("sky",), (0,), ((0, 0, 255),))
    >>> picture(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.int32), {0}, one, (1, 1)).tolist()
    [[[0, 0, 255]]]
    """
    small = nearest(label_map, size)
    where = nearest(numbers, size)
    strong = np.isin(where, list(marked))
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
    """Return a colour for each region number, (H, W, 3): the same for equal numbers, very different for
    consecutive ones.

    >>> own_colours(np.array([[3, 3, 4]])).shape
    (1, 3, 3)
    """
    turn = (
        np.maximum(numbers, 0).astype(np.float64) * 0.618034
    ) % 1.0  # golden ratio: evenly spread hues for any number
    hue = turn[..., None] * 6 + np.array([0.0, 4.0, 2.0])
    return np.rint(70 + 150 * np.clip(np.abs(hue % 6 - 3) - 1, 0, 1)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Regions:
    """A map's regions to draw: (H, W) numbers, -1 for none, (H, W) places, and the class of each region, -1
    if it does not count.
    """

    numbers: np.ndarray
    places: np.ndarray
    label: np.ndarray


def connected(
    truth: np.ndarray, prediction: np.ndarray, classes: Classes, connectivity: int, void: str
) -> tuple[Regions, Regions]:
    """Return the regions of two maps of places, as they are measured: pixels void in the truth are removed
    before (``cut``) or after (``bridge``) regions are made.
    """
    n = len(classes)
    hole = truth == len(classes)
    wide = prediction.astype(np.int32)
    if void == "cut":
        wide = np.where(hole, n + 1, wide).astype(np.int32)
    made = []
    for label_map, none in ((truth.astype(np.int32), n), (wide, n + 1)):
        numbers, label, _ = regions.number(label_map, connectivity=connectivity, none=none)
        numbers = np.where(hole, -1, numbers)
        made.append(
            Regions(
                numbers,
                np.where(numbers < 0, n, np.minimum(label_map, n)),
                np.where(np.isin(label, classes.groups), label, -1),
            )
        )
    return made[0], made[1]


def given(
    truth: np.ndarray, prediction: np.ndarray, classes: Classes, divisor: int
) -> tuple[Regions, Regions]:
    """Return the regions of two maps of region ids; class = id // divisor, an id below the divisor is its own
    class, and with divisor 0 all belong to one class.
    """
    made = []
    hole = np.isin(truth, classes.void)
    for ids in (truth, prediction):
        known, inverse = np.unique(ids, return_inverse=True)
        numbers = np.where(hole | np.isin(ids, classes.void), -1, inverse.reshape(ids.shape))
        of = (
            np.where(known >= divisor, known // divisor, known)
            if divisor
            else np.full(len(known), classes.ids[0])
        )
        place = {id_: k for k, id_ in enumerate(classes.ids)}
        label = np.array([place.get(int(c), -1) for c in of])
        made.append(
            Regions(numbers, np.where(numbers < 0, len(classes), label[inverse.reshape(ids.shape)]), label)
        )
    return made[0], made[1]


def marked_regions(truth: Regions, prediction: Regions, metric: str) -> tuple[set[int], set[int]]:
    """Return the numbers of the (true, predicted) regions that an error consists of: torn, joined, missed or
    invented ones; all for other errors.

    >>> one, other = (
    ...     Regions(np.array([n]), np.array([m]), np.array(label))
    ...     for n, m, label in (([0, 0, 0], [0, 0, 0], [0]), ([0, 1, 2], [0, 1, 0], [0, 1, 0]))
    ... )
    >>> marked_regions(one, other, "rom")
    ({0}, {0, 2})
    """
    both = (truth.numbers >= 0) & (prediction.numbers >= 0)
    pairs = np.unique(truth.numbers[both].astype(np.int64) * len(prediction.label) + prediction.numbers[both])
    t = pairs // max(len(prediction.label), 1)
    p = pairs % max(len(prediction.label), 1)
    same = (truth.label[t] == prediction.label[p]) & (truth.label[t] >= 0)
    t = t[same]
    p = p[same]
    upon = np.bincount(t, minlength=len(truth.label))
    under = np.bincount(p, minlength=len(prediction.label))
    there = _there(truth)
    seen = _there(prediction)
    if metric == "missed":
        return set(np.flatnonzero((upon == 0) & there).tolist()), set()
    if metric == "invented":
        return set(), set(np.flatnonzero((under == 0) & seen).tolist())
    if metric not in ("rom", "rum"):
        return set(np.flatnonzero(there).tolist()), set(np.flatnonzero(seen).tolist())
    of = upon[t] > 1 if metric == "rom" else under[p] > 1
    return set(t[of].tolist()), set(p[of].tolist())


def told(truth: Regions, prediction: Regions, marked: tuple[set[int], set[int]], metric: str) -> str:
    """Return a text on what is marked, with the number of regions on each side."""
    t, p = (len(side) for side in marked)
    true = int(_there(truth).sum())
    seen = int(_there(prediction).sum())
    return {
        "rom": f"{t} of {true} true regions are torn apart; {p} predicted regions lie on them.",
        "rum": f"{t} of {true} true regions are run together by {p} predicted ones.",
        "missed": f"{t} of {true} true regions have none of their class upon them.",
        "invented": f"{p} of {seen} predicted regions lie where the truth has none of their class.",
    }.get(metric, f"{true} true and {seen} predicted regions.")


def _there(of: Regions) -> np.ndarray:
    """Return which regions have a pixel and a class that counts."""
    return (np.bincount(of.numbers[of.numbers >= 0].astype(np.int64), minlength=len(of.label)) > 0) & (
        of.label >= 0
    )
