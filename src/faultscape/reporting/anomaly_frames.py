"""Draw frames with anomalous objects: the image with outlined objects, the labels, the prediction, and the
score map with the missed objects.

Conventions: arrays are (H, W) at one size; anomaly labels are 0 known, 1 anomalous, 255 void. A score is
given by its *place* among all float16 values (metrics.scores.histogram), and drawn by the share of the set's
known pixels that score at least as high: grey above 5 %, blue below, darker for smaller shares. Maps of
different models and scorers are therefore comparable. An object is missed if fewer than half of its pixels
are blue. Misclassified pixels are black and void ones green, as in Blum et al. 2021.
Source: Buchanan et al. 2022, Fig. 1; Blum et al. 2021, Figs. 2, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from PIL import Image

from faultscape.maps.paint import colour
from faultscape.maps.resize import nearest
from faultscape.metrics.scores.grouped_counts import FALSE, FOUND, NO_GROUP, OBJECTS, group_pixels
from faultscape.nouns import Classes
from faultscape.reporting.pictures import Room, fit, flat_uri, photo_uri

LONGEST = 360  # pixels of an image's longer side
MOST_RINGS = 12
LABELS = ((0, (96, 125, 160)), (1, (230, 120, 40)), (255, (0, 0, 0)))  # colours of anomaly labels
VOID_GREEN = (120, 235, 70)
WRONG_BLACK = (0, 0, 0)
_OUTLINE = (255, 128, 20)
_FAINT = 1e-4  # the share of known pixels at which a score is darkest
_GREYS = ((251, 250, 247), (241, 239, 235), (230, 228, 223), (218, 215, 210), (206, 203, 198))
_BLUES = (
    (150, 190, 232),
    (116, 166, 220),
    (84, 141, 205),
    (58, 116, 186),
    (38, 92, 163),
    (25, 71, 138),
    (17, 53, 112),
    (12, 38, 87),
    (9, 26, 63),
    (6, 15, 40),
)
_RAMP = np.array([*_GREYS, *_BLUES], np.uint8)
_TURN = len(_GREYS) / len(_RAMP)


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame: its anomaly labels, the place of each pixel's score, ``shares`` (65536,) of the set's known
    pixels at each place or above, and, if known, its image, predicted classes and true classes (places, C
    void).
    """

    anomaly: np.ndarray
    score: np.ndarray
    shares: np.ndarray
    photo: np.ndarray | None = None
    prediction: np.ndarray | None = None
    semantic: np.ndarray | None = None
    classes: Classes | None = None


@dataclass(frozen=True)
class Ring:
    """A missed object: centre and radius in pixels of the drawing, and how much of it is found, as text."""

    x: float
    y: float
    radius: float
    says: str


@dataclass(frozen=True)
class FramePicture:
    """One drawing of a frame as a data URI, with its caption; ``ringed``: missed objects are marked
    on it.
    """

    caption: str
    uri: str
    ringed: bool = False


@dataclass(frozen=True)
class FrameCard:
    """A frame of a model and scorer in a set, among the ``best`` or ``worst`` by average precision; ``share``
    is its share of anomalous pixels, the average precision of a random score. ``of_errors``: wrong pixels
    take the place of anomalous ones, and there are no objects.
    """

    data_set: str
    model: str
    scorer: str
    image: str
    kind: Literal["best", "worst"]
    average_precision: float
    share: float
    objects: int = 0
    missed: int = 0
    rings: tuple[Ring, ...] = ()
    pictures: tuple[FramePicture, ...] = ()
    width: int = 4
    height: int = 3
    of_errors: bool = False

    @property
    def size(self) -> int:
        """The number of characters of its drawings."""
        return sum(len(picture.uri) for picture in self.pictures)


def choose_frames(
    values: Mapping[str, float], ranks: Mapping[str, int], many: int
) -> list[tuple[Literal["best", "worst"], int, str]]:
    """Return (kind, place, image) of the ``many`` worst and best images by value, the worst first and none
    twice; ``ranks`` break ties. NaN is left out.

    >>> choose_frames({"a": 0.2, "b": 0.9, "c": 0.5}, {"a": 0, "b": 1, "c": 2}, 2)
    [('worst', 0, 'a'), ('worst', 1, 'c'), ('best', 0, 'b')]
    """
    order = sorted(
        (id_ for id_ in values if values[id_] == values[id_]),
        key=lambda id_: (round(values[id_], 12), ranks[id_]),
    )
    few = min(many, (len(order) + 1) // 2)
    worst = order[:few]
    best = order[few:][::-1][:many]
    return [
        *(("worst", k, id_) for k, id_ in enumerate(worst)),
        *(("best", k, id_) for k, id_ in enumerate(best)),
    ]


def draw_frame(card: FrameCard, frame: Frame) -> FrameCard:
    """Return a card with its drawings."""
    height, width = frame.anomaly.shape
    size = fit(width, height, LONGEST)
    groups, objects = group_pixels(frame.anomaly, None)
    shares = frame.shares[frame.score]
    rings, missed = _rings(groups, shares, size, len(objects.pixels))
    outline = _outline(frame.anomaly == 1, size)
    pictures = []
    if frame.photo is not None:
        photo = np.asarray(
            Image.fromarray(np.ascontiguousarray(frame.photo)).resize(size, Image.Resampling.LANCZOS)
        ).copy()
        pictures.append(
            FramePicture("image, objects outlined", photo_uri(_outlined(photo, outline), size), ringed=True)
        )
    pictures.append(FramePicture("labels", flat_uri(label_picture(nearest(frame.anomaly, size)))))
    if frame.prediction is not None and frame.classes is not None:
        drawn = prediction_picture(frame.prediction, frame.semantic, frame.anomaly, frame.classes, size)
        pictures.append(FramePicture("prediction", flat_uri(_outlined(drawn, outline, casing=False))))
    pictures.append(
        FramePicture(
            "score", flat_uri(_outlined(score_picture(shares, size), outline, casing=False)), ringed=True
        )
    )
    return replace(
        card,
        objects=len(objects.pixels),
        missed=missed,
        rings=rings,
        pictures=tuple(pictures),
        width=size[0],
        height=size[1],
    )


def draw_errors(card: FrameCard, frame: Frame) -> FrameCard:
    """Return a card with the drawings of a frame without anomalies: its image, the prediction in which wrong
    pixels are black, and the score, which should be high there (Blum et al. 2021, Fig. 6).
    """
    height, width = frame.anomaly.shape
    size = fit(width, height, LONGEST)
    pictures = []
    if frame.photo is not None:
        photo = Image.fromarray(np.ascontiguousarray(frame.photo)).resize(size, Image.Resampling.LANCZOS)
        pictures.append(FramePicture("image", photo_uri(np.asarray(photo), size)))
    assert frame.prediction is not None
    assert frame.classes is not None
    drawn = prediction_picture(frame.prediction, frame.semantic, frame.anomaly, frame.classes, size)
    pictures.append(FramePicture("prediction", flat_uri(drawn)))
    pictures.append(FramePicture("score", flat_uri(score_picture(frame.shares[frame.score], size))))
    return replace(card, pictures=tuple(pictures), width=size[0], height=size[1])


def fit_cards(cards: Iterable[FrameCard], room: Room) -> tuple[list[FrameCard], int]:
    """Return the cards that fit into the room left, and how many do not."""
    kept = []
    left_out = 0
    for card in cards:
        if card.size > room.left:
            left_out += 1
            continue
        room.left -= card.size
        kept.append(card)
    return kept, left_out


def by_set(frames: Iterable[FrameCard]) -> dict[str, list[tuple[str, list[FrameCard]]]]:
    """Return the frames of each data set, by model and scorer, each with a heading that gives the range of
    their average precision.
    """
    groups: dict[tuple[str, str, str], list[FrameCard]] = {}
    for frame in frames:
        groups.setdefault((frame.data_set, frame.model, frame.scorer), []).append(frame)
    out: dict[str, list[tuple[str, list[FrameCard]]]] = {}
    for (name, model, scorer), of in groups.items():
        values = [frame.average_precision for frame in of]
        called = model if scorer == model else f"{model}, {scorer}"
        heading = f"{called}: AP of a frame from {min(values):.3f} to {max(values):.3f}"
        out.setdefault(name, []).append((heading, of))
    return out


def label_picture(anomaly: np.ndarray) -> np.ndarray:
    """Return anomaly labels (H, W) as colours (H, W, 3).

    >>> label_picture(np.array([[1, 255]])).tolist()
    [[[230, 120, 40], [0, 0, 0]]]
    """
    out = np.zeros((*anomaly.shape, 3), np.uint8)
    for value, of in LABELS:
        out[anomaly == value] = of
    return out


def prediction_picture(
    prediction: np.ndarray,
    semantic: np.ndarray | None,
    anomaly: np.ndarray,
    classes: Classes,
    size: tuple[int, int],
) -> np.ndarray:
    """Return predicted classes in their colours, wrong known pixels black and void ones green; an anomalous
    pixel has no right class and keeps its colour.

    >>> one = Classes(("sky",), (0,), ((0, 0, 255),))
    >>> truth, void = np.array([[0, 0, 1]]), np.array([[0, 1, 255]])
    >>> prediction_picture(np.array([[1, 0, 0]]), truth, void, one, (3, 1)).tolist()
    [[[0, 0, 0], [0, 0, 255], [120, 235, 70]]]
    """
    small = nearest(prediction, size)
    marks = nearest(anomaly, size)
    out = colour(small, classes).astype(np.uint8)
    void = marks == 255
    if semantic is not None:
        truth = nearest(semantic, size)
        void |= (truth == len(classes)) & (marks == 0)
        out[(marks == 0) & (truth != small)] = WRONG_BLACK
    out[void] = VOID_GREEN
    return out


def score_picture(shares: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Draw a score (H, W), given as the shares of known pixels that score at least as high, at (width,
    height): grey above 5 %, blue below, darker for smaller shares.

    >>> [int(rgb[0]) for rgb in score_picture(np.array([[1.0, 0.051, 0.05, 0.0]]), (4, 1))[0]]
    [251, 206, 150, 6]
    """
    safe = np.clip(np.where(np.isnan(shares), 1.0, shares), _FAINT, 1.0)
    below = np.log(1 / safe) / np.log(1 / FALSE)  # 0..1 over the shares that are not flagged
    above = np.log(FALSE / safe) / np.log(FALSE / _FAINT)
    strength = np.where(
        safe > FALSE, np.minimum(_TURN * below, _TURN - 1e-3), _TURN + (1 - _TURN) * above
    ).astype(np.float32)
    small = np.asarray(Image.fromarray(strength).resize(size, Image.Resampling.BOX))
    return _RAMP[np.minimum((small * len(_RAMP)).astype(np.int64), len(_RAMP) - 1)]


def ramp() -> Sequence[str]:
    """Return the CSS colours of a score, from the lowest to the highest."""
    return ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in _RAMP.tolist()]


def _rings(
    groups: np.ndarray, shares: np.ndarray, size: tuple[int, int], many: int
) -> tuple[tuple[Ring, ...], int]:
    """Return the largest missed objects, as rings on a drawing of (width, height), and the number of all
    missed objects.
    """
    scale_x = size[0] / groups.shape[1]
    scale_y = size[1] / groups.shape[0]
    inside = (groups >= OBJECTS) & (groups != NO_GROUP)
    rows, columns = np.nonzero(inside)
    of = groups[inside].astype(np.int64) - OBJECTS
    pixels = np.maximum(np.bincount(of, minlength=many), 1)
    found = np.bincount(of, shares[inside] <= FALSE, many) / pixels
    missed = np.flatnonzero(found < FOUND)
    out = []
    for k in missed[np.argsort(-pixels[missed], kind="stable")][:MOST_RINGS].tolist():
        y = rows[of == k]
        x = columns[of == k]
        wide = (int(x.max()) - int(x.min()) + 1) * scale_x
        tall = (int(y.max()) - int(y.min()) + 1) * scale_y
        middle = (
            (int(x.max()) + int(x.min()) + 1) / 2 * scale_x,
            (int(y.max()) + int(y.min()) + 1) / 2 * scale_y,
        )
        says = f"missed: {100 * found[k]:.0f} % of its {pixels[k]:,} pixels found"
        out.append(
            Ring(
                round(middle[0], 1),
                round(middle[1], 1),
                round(max(np.hypot(wide, tall) / 2 + 4, 8.0), 1),
                says,
            )
        )
    return tuple(out), len(missed)


def _outline(mask: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return (h, w), the pixels just outside of objects, at (width, height); even an object of one pixel has
    an outline.
    """
    small = np.asarray(Image.fromarray(mask.astype(np.float32)).resize(size, Image.Resampling.BOX)) > 0
    return _grown(small) & ~small


def _grown(mask: np.ndarray) -> np.ndarray:
    out = mask.copy()
    out[1:] |= mask[:-1]
    out[:-1] |= mask[1:]
    out[:, 1:] |= mask[:, :-1]
    out[:, :-1] |= mask[:, 1:]
    return out


def _outlined(rgb: np.ndarray, outline: np.ndarray, *, casing: bool = True) -> np.ndarray:
    out = rgb.copy()
    if casing:
        out[_grown(outline) & ~outline] = (out[_grown(outline) & ~outline] * 0.45).astype(np.uint8)
    out[outline] = _OUTLINE
    return out
