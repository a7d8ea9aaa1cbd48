"""One section per model: the images on which it fails, the classes it confuses, and the kinds of error of its
regions.

Conventions: maps (H, W) hold places 0..C-1 and C for void. Pixels void in the truth never count, and
predicting void is not a confusion. A confusion is a true class and the class it is mistaken for; its
``share`` is its part of the true class's pixels (for classifiers, images). Only classes that are true on at
least ``LEAST`` images are compared. Below ``LEAST`` labelled images nothing is reported about a model. A box
is (left, top, right, bottom) in pixels.
Source: Zhang et al. 2021, section III-A (kinds of error).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.maps import counts, regions
from faultscape.metrics.overlaps import over_under
from faultscape.metrics.overlaps.region_counts import WHOLE, count_regions
from faultscape.metrics.overlaps.regions import mean
from faultscape.nouns import Classes, Predictions
from faultscape.reporting.view import Mark

LEAST = 3  # labelled images needed to report anything about a model
SHOWN = 3  # worst images, and confusions, of a model
_SMALLEST = 0.01  # share of a class above which a confusion is shown
_TWICE = 2  # images on which a classifier must confuse two classes
_CLOSE = 0.3  # smallest part of each side that a close-up shows
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Shot:
    """One image of a model, as data URIs ('' for none): ``says`` is its caption, ``box`` is the part that a
    close-up shows, in per cent of the image (left, top, width, height).
    """

    image: str
    says: str = ""
    photo: str = ""
    truth: str = ""
    map: str = ""
    width: int = 4
    height: int = 3
    box: tuple[float, ...] = ()
    close: tuple[str, str, str] = ("", "", "")
    close_size: tuple[int, int] = (4, 3)


@dataclass(frozen=True)
class Confusion:
    """One class mistaken for another: the ``amount`` of pixels or images ``of`` the true class's total, on
    how many images, and the image with most of it.
    """

    truth: str
    taken_for: str
    amount: int
    of: int
    images: int
    example: Shot

    @property
    def share(self) -> float:
        """The part of the true class that is mistaken for the other."""
        return self.amount / self.of


@dataclass(frozen=True)
class RegionErrors:
    """Sums over images of regions with each kind of error, and ROM and RUM as in Table I of Zhang et al.
    2021.
    """

    rom: float
    rum: float
    truth_regions: int
    predicted_regions: int
    torn: int
    joined: int
    missed: int
    invented: int


@dataclass(frozen=True)
class ModelSection:
    """What is known about one model: its mean ``value`` on ``images`` labelled images, of which ``counted``
    gave confusions and regions, and the titled numbers of its row of the reliability ``card``. With
    ``too_few``, nothing more is reported.
    """

    model: str
    images: int = 0
    value: float = float("nan")
    worst: tuple[Shot, ...] = ()
    counted: int = 0
    confusions: tuple[Confusion, ...] = ()
    regions: RegionErrors | None = None
    card: tuple[tuple[str, Mark], ...] = ()

    @property
    def too_few(self) -> bool:
        """Whether too few images are labelled to say where it fails."""
        return self.images < LEAST


@dataclass(frozen=True)
class ModelSections:
    """The sections of all models: the name of a value, ``by`` labels or choices, whether images were
    ``chosen`` because of the models' predictions, and whether the reliability card is out of date.
    """

    models: tuple[ModelSection, ...]
    value: str
    by: str = "labels"
    classifies: bool = False
    chosen: bool = True
    stale_card: bool = False
    left_out: int = 0

    def ordered(self, models: Sequence[str]) -> ModelSections:
        """Return the sections of these models first, in their order, and those of others as they are.

        >>> found = ModelSections((ModelSection("a"), ModelSection("b"), ModelSection("c")), "mIoU")
        >>> [one.model for one in found.ordered(["c", "a"]).models]
        ['c', 'a', 'b']
        """
        place = {model: k for k, model in enumerate(models)}
        best_first = sorted(self.models, key=lambda section: place.get(section.model, len(place)))
        return replace(self, models=tuple(best_first))


def sections(
    models: Sequence[str], values: np.ndarray, *, value: str, by: str = "labels", classifies: bool = False
) -> ModelSections:
    """Return sections with only the number of images and the mean value of each model, from values (J, I).

    >>> sections(["a"], np.array([[0.5, np.nan, 1.0]]), value="mIoU").models[0].value
    0.75
    """
    known = ~np.isnan(values)
    made = tuple(
        ModelSection(
            model, int(known[j].sum()), float(values[j][known[j]].mean()) if known[j].any() else np.nan
        )
        for j, model in enumerate(models)
    )
    return ModelSections(made, value, by, classifies)


def worst_places(values: np.ndarray, ranks: np.ndarray, most: int = SHOWN) -> list[int]:
    """Return the indices of the lowest values (I,), the lowest first; ``ranks`` (I,) break ties. NaN and
    perfect values (1) are left out.

    >>> worst_places(np.array([0.4, np.nan, 0.2, 0.4, 1.0]), np.array([3, 0, 1, 2, 4]))
    [2, 3, 0]
    """
    rounded = np.round(values, 12)
    order = np.lexsort((ranks, rounded))
    return [int(k) for k in order if rounded[k] < 1][:most]  # NaN < 1 is false


class Tally:
    """Counts the confusions and regions of J models, image by image; memory grows with the images only by the
    region counts of each.
    """

    def __init__(self, models: Sequence[str], classes: Classes) -> None:
        n = len(classes)
        self.models = tuple(models)
        self.classes = classes
        self.cells = np.zeros((len(models), n, n + 1), np.int64)  # the last column is void
        self.images = np.zeros((len(models), n), np.int64)  # images on which a class is true
        self.wrong = np.zeros((len(models), n, n), np.int64)  # images with some of a confusion
        self.most = np.zeros((len(models), n, n), np.int64)  # most pixels of it on one image
        self.example = np.full((len(models), n, n), -1, np.int64)  # the index of that image
        self.counted = np.zeros(len(models), np.int64)
        self._regions: list[list[np.ndarray]] = [[] for _ in models]

    def take(self, image: int, truth: np.ndarray, maps: Sequence[np.ndarray | None]) -> None:
        """Count the maps of one image, None for a model without one; among images with equally much of a
        confusion, the first is its example.
        """
        n = len(self.classes)
        have = [j for j, label_map in enumerate(maps) if label_map is not None]
        stack = [truth, *(m for m in maps if m is not None)]
        pairs = np.array([(0, k + 1) for k in range(len(have))], np.int64).reshape(-1, 2)
        for j, cells in zip(have, counts.confusions(stack, n + 1, pairs) if have else (), strict=True):
            self.cells[j] += cells[:n]
            self.images[j] += cells[:n].sum(1) > 0
            between = cells[:n, :n]
            self.wrong[j] += between > 0
            more = between > self.most[j]
            self.most[j][more], self.example[j][more] = between[more], image
            self.counted[j] += 1
        for j, table in zip(have, regions.overlaps_of_each(truth, stack[1:], n), strict=True):
            found = count_regions(table, n)
            self._regions[j].append(np.stack([found[name] for name in WHOLE]))

    def confusions(self, model: int, most: int = SHOWN) -> list[tuple[int, int]]:
        """Return the (true class, class it is mistaken for) with the largest shares of a true class."""
        return largest(self.cells[model][:, :-1], self.cells[model].sum(1), self.images[model], most)

    def confusion(self, model: int, pair: tuple[int, int], example: Shot) -> Confusion:
        """Return the numbers of a confusion."""
        t, p = pair
        names = self.classes.names
        amount = int(self.cells[model, t, p])
        of = int(self.cells[model, t].sum())
        return Confusion(names[t], names[p], amount, of, int(self.wrong[model, t, p]), example)

    def region_errors(self, model: int) -> RegionErrors | None:
        """Return the kinds of error of a model's regions; None if no image was counted."""
        if not self._regions[model]:
            return None
        held = np.stack(self._regions[model])  # (I, WHOLE, C)
        groups = list(self.classes.groups)
        of = {name: held[:, k] for k, name in enumerate(WHOLE)}
        sums = {name: int(values[:, groups].sum()) for name, values in of.items()}
        rom, rum = _over_and_under(of, groups)
        return RegionErrors(
            rom,
            rum,
            sums["truth_regions"],
            sums["predicted_regions"],
            sums["torn_truth"],
            sums["merged_truth"],
            sums["missed_truth"],
            sums["invented_predictions"],
        )


def _over_and_under(of: Mapping[str, np.ndarray], groups: Sequence[int]) -> tuple[float, float]:
    """Return ROM and RUM: means over images of means over the classes defined there."""
    cells = [over_under.rom(dict(of)), over_under.rum(dict(of))]
    means = [mean(mean(c[:, list(groups)], 1), 0) for c in cells]
    return float(means[0]), float(means[1])


def largest(
    between: np.ndarray, totals: np.ndarray, images: np.ndarray, most: int = SHOWN
) -> list[tuple[int, int]]:
    """Return the (true class, mistaken for) with the largest shares of (C, C) counts in the ``totals`` (C,)
    of true classes, which must be true on enough ``images`` (C,).

    >>> largest(np.array([[5, 5], [1, 9]]), np.array([10, 10]), np.array([9, 9]))
    [(0, 1), (1, 0)]
    """
    share = between / np.maximum(totals, 1)[:, None]
    np.fill_diagonal(share, 0.0)
    share[images < LEAST] = 0.0
    order = np.lexsort((-between.ravel(), -np.round(share.ravel(), 12)))[:most]
    pairs = [(int(k) // len(between), int(k) % len(between)) for k in order]
    return [(t, p) for t, p in pairs if share[t, p] >= _SMALLEST]


def confusion_box(truth: np.ndarray, label_map: np.ndarray, pair: tuple[int, int]) -> Box:
    """Return the box of a close-up: around the largest connected region of the confusion, widened to a good
    part of the image, with the aspect ratio of the image.

    >>> confusion_box(np.zeros((10, 10), np.uint8), np.eye(10, dtype=np.uint8) * 0 + 1, (0, 1))
    (0, 0, 10, 10)
    """
    wrong = ((truth == pair[0]) & (label_map == pair[1])).astype(np.uint8)
    numbers, labels, areas = regions.number(wrong, none=0)
    if not len(labels):
        return (0, 0, truth.shape[1], truth.shape[0])
    rows, columns = np.nonzero(numbers == int(np.argmax(areas)))
    height, width = truth.shape
    part = max(
        _CLOSE,
        1.3 * (rows.max() - rows.min() + 1) / height,
        1.3 * (columns.max() - columns.min() + 1) / width,
    )
    tall, wide = (min(round(part * side), side) for side in (height, width))
    top = _first((rows.max() + rows.min() + 1) / 2, tall, height)
    left = _first((columns.max() + columns.min() + 1) / 2, wide, width)
    return (left, top, left + wide, top + tall)


def _first(middle: float, length: int, whole: int) -> int:
    """Return where a range of ``length`` around a middle begins so that it lies within the ``whole``.

    >>> _first(5.0, 4, 20), _first(1.0, 4, 20), _first(19.0, 4, 20)
    (3, 0, 16)
    """
    return min(max(round(middle - length / 2), 0), whole - length)


def class_confusions(
    said: Predictions, truths: Mapping[str, str], model: int, ranks: np.ndarray, most: int = SHOWN
) -> list[Confusion]:
    """Return the confusions of a classifier, the most frequent first, among images whose label names one
    class (``truths``); a single image is not a confusion.

    The example is the image with the model's highest confidence; ``ranks`` (I,) break ties.
    """
    names = said.classes.names
    place = {name: k for k, name in enumerate(said.classes.names)}
    n = len(names)
    between = np.zeros((n, n), np.int64)
    totals = np.zeros(n, np.int64)
    mine = dict[tuple[int, int], list[int]]()
    for k, image in enumerate(said.images):
        t = place.get(truths.get(image, ""), -1)
        p = int(said.labels[model, k])
        if t < 0 or p < 0:
            continue
        totals[t] += 1
        between[t, p] += 1
        mine.setdefault((t, p), []).append(k)
    between[np.diag_indices(n)] = 0
    order = np.lexsort((-(between / np.maximum(totals, 1)[:, None]).ravel(), -between.ravel()))[:most]
    out = []
    for t, p in ((int(k) // n, int(k) % n) for k in order):
        if between[t, p] >= _TWICE:
            k = min(mine[t, p], key=lambda k: (-_sure(said, model, k), ranks[k]))
            shot = Shot(said.images[k], _how_sure(said, model, k))
            number = int(between[t, p])
            out.append(Confusion(names[t], names[p], number, int(totals[t]), number, shot))
    return out


def wrong_answers(
    said: Predictions, correct: np.ndarray, truths: Mapping[str, str], model: int, ranks: np.ndarray
) -> list[Shot]:
    """Return the images on which a classifier is wrong, where ``correct`` (I,) is 0, the most confident
    answers first.
    """
    wrong = [int(k) for k in np.flatnonzero(correct == 0) if said.labels[model, k] >= 0]
    wrong.sort(key=lambda k: (-_sure(said, model, k), ranks[k]))
    return [
        Shot(
            said.images[k],
            f"says {said.classes.names[int(said.labels[model, k])]}{_in_brackets(_how_sure(said, model, k))};"
            f" label: {truths.get(said.images[k]) or 'not this'}",
        )
        for k in wrong[:SHOWN]
    ]


def _sure(said: Predictions, model: int, k: int) -> float:
    return round(float(np.nan_to_num(said.probabilities[model, k], nan=-1.0)), 12)


def _how_sure(said: Predictions, model: int, k: int) -> str:
    sure = float(said.probabilities[model, k])
    return "" if np.isnan(sure) else f"{100 * sure:.0f} % sure"


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""
