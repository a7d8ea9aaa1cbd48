"""The position and size of an object in a frame.

Conventions: a frame is (height, width); a box is (x, y, width, height) in its pixels, entirely inside it. The
size is drawn as the object's share of the frame's pixels. Its class determines the probability that its
centre is in the lower half. A forbidden pixel (the ego vehicle) is never covered; known objects, which keep
their own place, are chosen accordingly (`is_free`).

``placed`` are objects with their places.

Source: Blum et al. 2021, section 3.1. The table of classes and the numbers are ours; the range of sizes gives
FS Static's 4.5e7 anomalous pixels in 1,000 frames of 1024 x 2048, 2.15 % of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from faultscape.errors import ImageError, OptionError
from faultscape.stressors.objects.cutout import Cutout, Use
from faultscape.stressors.streams import Stream

# Shares of a frame's pixels, drawn uniformly; very wide and tall objects become smaller, which leaves 2.15 %.
AREAS = (0.005, 0.039)
_WIDEST, _TALLEST = 0.45, 0.6  # of the frame
_MOST_ENLARGED = 6.0
_SMALLEST_SIDE = 4  # pixels of the longer side
_TRIES = 80
_SMALLER = 0.8

LOW = 0.8  # probability that an object of the class is centred in the frame's lower half; others: 0.5
HIGH = 0.2
MAMMALS = (
    "cat",
    "cow",
    "dog",
    "horse",
    "sheep",
    "bear",
    "camel",
    "deer",
    "donkey",
    "elephant",
    "fox",
    "giraffe",
    "goat",
    "kangaroo",
    "lion",
    "monkey",
    "pig",
    "rabbit",
    "tiger",
    "wolf",
    "zebra",
)
FLIERS = (
    "aeroplane",
    "airplane",
    "balloon",
    "bat",
    "bee",
    "bird",
    "butterfly",
    "drone",
    "eagle",
    "helicopter",
    "kite",
    "owl",
    "parachute",
    "parrot",
    "plane",
    "rocket",
)


@dataclass(frozen=True)
class Placement:
    """One object of a plan: which one, where, and all parameters of its steps; nothing is drawn later.

    A parameter is 0 if its step does not apply to the object; `smooth` also for a mask with a soft border.
    """

    cutout: str  # the digest that identifies it
    name: str  # the cut-out's, for messages
    class_: str  # the cut-out's; '' if unknown
    use: Use  # anomaly or known: decides its steps and its label
    x: int  # left edge of its box in the frame, in pixels
    y: int  # upper edge of its box, in pixels
    width: int  # pixels from the left edge of its box to the right one
    height: int  # pixels from the upper edge of its box to the lower one
    flip: bool = False  # whether it is mirrored left to right
    smooth: float = 0.0  # sigma of the Gaussian that softens the border of alpha, in pixels
    brightness: float = 0.0  # share of the way to the mean brightness of the covered pixels
    histogram: float = 0.0  # share of the way to their colour histogram
    motion: float = 0.0  # length of the motion blur, as a share of the distance from the focus
    depth: float = 0.0  # sigma of the blur of distant objects, in pixels
    noise: float = 0.0  # how noisy it becomes: 1 for as noisy as the frame around it
    glow: float = 0.0  # strength of the light of overexposed pixels
    glow_width: float = 0.0  # its sigma, in pixels
    noise_start: int = 0  # start of the random stream of its noise
    redrawn: int = 0  # how often it was redrawn, because it nearly vanished or fell into pieces

    @property
    def box(self) -> tuple[int, int, int, int]:
        """(x, y, width, height)."""
        return self.x, self.y, self.width, self.height


def chance_of_lower_half(class_: str) -> float:
    """Return the probability that an object of a class has its centre in the lower half of the frame.

    >>> chance_of_lower_half("horse"), chance_of_lower_half("bird"), chance_of_lower_half("chair")
    (0.8, 0.2, 0.5)
    """
    return LOW if class_.lower() in MAMMALS else HIGH if class_.lower() in FLIERS else 0.5


def draw_box(
    cutout: Cutout,
    frame: tuple[int, int],
    stream: Stream,
    *,
    forbidden: np.ndarray | None = None,
    areas: tuple[float, float] = AREAS,
    flip: bool = False,
) -> tuple[int, int, int, int]:
    """Return a box (x, y, width, height) drawn for a cut-out in a frame (height, width), so that the object
    covers no ``forbidden`` pixel (H, W).

    After 80 unsuccessful places, any place with an entirely free box is used; if there is none, the object
    becomes a fifth smaller, and so on. Errors: OptionError if nothing is free; ImageError for a cut-out
    without a pixel of alpha at least 1/2.

    >>> x, y, width, height = draw_box(
    ...     Cutout(np.zeros((9, 9, 3), np.uint8), np.full((9, 9), 255, np.uint8), "a box"),
    ...     (100, 200),
    ...     Stream(0, "frame"),
    ... )
    >>> width == height, 0 <= x <= 200 - width, 0 <= y <= 100 - height
    (True, True, True)
    """
    if not cutout.area:
        raise ImageError(f"{cutout.name}: none of its pixels is more than half opaque; leave it out")
    rows, columns = frame
    scale = float(np.sqrt(stream.uniform(*areas) * rows * columns / cutout.area))
    scale = min(
        scale,
        _MOST_ENLARGED,
        _WIDEST * columns / cutout.alpha.shape[1],
        _TALLEST * rows / cutout.alpha.shape[0],
    )
    # in a small frame the drawn area may be too few pixels
    scale = max(scale, min(_SMALLEST_SIDE / max(cutout.alpha.shape), _MOST_ENLARGED))
    lower = stream.uniform() < chance_of_lower_half(cutout.class_)
    solid = cutout.alpha[:, ::-1] if flip else cutout.alpha
    room_y, room_x = _room(frame, forbidden)
    while True:
        height, width = (max(1, int(side * scale + 0.5)) for side in cutout.alpha.shape)
        if max(height, width) < _SMALLEST_SIDE:
            raise OptionError(
                f"no place for {cutout.name} in a frame of {columns} x {rows}: "
                + (
                    "it is too small; give a larger one"
                    if forbidden is None
                    else "forbidden pixels leave no room; give a mask of only the ego vehicle"
                )
            )
        for _ in range(_TRIES if height <= room_y[1] and width <= room_x[1] else 0):
            x = _along(room_x, width, stream)
            y = _along(room_y, height, stream)
            if (2 * y + height > rows) != lower:
                continue
            if (
                forbidden is None
                or not (forbidden[y : y + height, x : x + width] & (_nearest(solid, height, width) > 0)).any()
            ):
                return x, y, width, height
        free = _free_corners(np.zeros(frame, bool) if forbidden is None else forbidden, height, width)
        if len(free):
            y, x = free[stream.integer(len(free))].tolist()
            return x, y, width, height
        scale *= _SMALLER


def own_box(cutout: Cutout, frame: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the box of a cut-out at its own place in its original image, scaled to a frame (height, width)
    of any size.

    >>> own_box(
    ...     Cutout(
    ...         np.zeros((2, 4, 3), np.uint8),
    ...         np.full((2, 4), 255, np.uint8),
    ...         "car",
    ...         frame=(10, 20),
    ...         corner=(5, 6),
    ...     ),
    ...     (20, 40),
    ... )
    (10, 12, 8, 4)
    """
    if min(cutout.frame) < 1:
        raise ImageError(
            f"{cutout.name}: its original place is unknown; give the corner and the frame that it was cut"
            " from"
        )
    (x, y), (height, width) = cutout.corner, cutout.alpha.shape
    columns = frame[1] / cutout.frame[1]
    rows = frame[0] / cutout.frame[0]
    left = int(x * columns + 0.5)
    top = int(y * rows + 0.5)
    return (
        left,
        top,
        max(1, int((x + width) * columns + 0.5) - left),
        max(1, int((y + height) * rows + 0.5) - top),
    )


def is_free(cutout: Cutout, box: tuple[int, int, int, int], forbidden: np.ndarray) -> bool:
    """Return whether an object in a box (x, y, width, height), which may extend beyond the frame, covers no
    ``forbidden`` pixel (H, W).

    >>> below = np.array([[False, False], [True, True]])
    >>> [
    ...     is_free(
    ...         Cutout(np.zeros((1, 2, 3), np.uint8), np.full((1, 2), 255, np.uint8), "a box"),
    ...         (0, y, 2, 1),
    ...         below,
    ...     )
    ...     for y in (0, 1)
    ... ]
    [True, False]
    """
    x, y, width, height = box
    part = forbidden[max(0, y) : y + height, max(0, x) : x + width]
    there = _nearest(cutout.alpha, height, width)[max(0, -y) :, max(0, -x) :][
        : part.shape[0], : part.shape[1]
    ]
    return not (part & (there > 0)).any()


def coverage(placed: Iterable[tuple[Cutout, Placement]], frame: tuple[int, int]) -> np.ndarray:
    """Return (H, W) int64: the number of objects that cover each pixel of a frame (height, width).

    >>> cutout = Cutout(np.zeros((2, 2, 3), np.uint8), np.full((2, 2), 255, np.uint8), "a box")
    >>> coverage([(cutout, Placement(cutout.digest, "a box", "", "anomaly", 1, 0, 2, 1))], (2, 4)).tolist()
    [[0, 1, 1, 0], [0, 0, 0, 0]]
    """
    counts = np.zeros(frame, np.int64)
    for cutout, placement in placed:
        x, y, width, height = placement.box
        solid = _nearest(cutout.alpha[:, ::-1] if placement.flip else cutout.alpha, height, width) >= 128
        part = counts[max(0, y) : y + height, max(0, x) : x + width]
        part += solid[max(0, -y) :, max(0, -x) :][: part.shape[0], : part.shape[1]]
    return counts


def _room(frame: tuple[int, int], forbidden: np.ndarray | None) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the first row and the first column with a free pixel, and the number of rows and columns from
    there to the last.
    """
    if forbidden is None:
        return (0, frame[0]), (0, frame[1])
    free = ~forbidden
    return _span(np.atleast_1d(free.any(1))), _span(np.atleast_1d(free.any(0)))


def _span(free: np.ndarray) -> tuple[int, int]:
    places = np.flatnonzero(free)
    return (int(places[0]), int(places[-1] - places[0] + 1)) if len(places) else (0, 0)


def _along(room: tuple[int, int], size: int, stream: Stream) -> int:
    """Return the start of an object in a range: one of the slots of its size that fit side by side, all
    shifted by a random part of the space left over.

    Slots cover each pixel once, so that coverage is uniform except for margins at the ends narrower than the
    object; a uniformly drawn start would leave margins as wide as the object.
    """
    slots = room[1] // size
    return room[0] + stream.integer(slots) * size + stream.integer(room[1] - slots * size + 1)


def _free_corners(forbidden: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return (n, 2) the upper left corners (y, x) of all boxes without a forbidden pixel."""
    sums = np.pad(forbidden.astype(np.int64).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    inside = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    return np.argwhere(inside == 0)


def _nearest(alpha: np.ndarray, height: int, width: int) -> np.ndarray:
    rows = (np.arange(height) * 2 + 1) * alpha.shape[0] // (2 * height)
    columns = (np.arange(width) * 2 + 1) * alpha.shape[1] // (2 * width)
    return alpha[rows[:, None], columns]
