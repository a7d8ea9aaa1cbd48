"""Agreement of annotators: Krippendorff's alpha of all, Cohen's kappa of every two, and the mIoU of the masks
of every two.

Conventions: votes are columns (see ``vote_columns``); of several votes of one annotator on one item the last
counts. Alpha compares votes on the same item, by any annotator; an item with one vote is ignored. 1 is full
agreement, 0 agreement at random. Undefined is NaN: alpha and kappa if all votes are alike, since the
agreement at random is then unknown. Tables of pairs are (A, A), symmetric; the diagonal of ``common`` holds
the number of items of each annotator.

``scale`` is ``nominal``, ``ordinal`` or ``interval``. ``resamples`` is the number of bootstrap replicates.
``counts`` and ``images`` are those of ``mask_counts``. ``labelled`` yields the maps of one image after
another.

Source: Krippendorff 2019, chapter 12 (alpha; the bootstrap is ours, over items, where his draws pairs of
votes); Cohen 1960 (kappa); Jaccard 1901 (IoU).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import LabellingError, OptionError, closest
from faultscape.labelling.people.vote_columns import latest_votes, same_length, size_of, vote_column
from faultscape.maps.counts import confusions
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.metrics.pixel import miou
from faultscape.ranking.intervals import LOST, percentile_interval

Scale = Literal["nominal", "ordinal", "interval"]
SCALES = get_args(Scale)
RESAMPLES = 2000
COMMON = LEAST  # with fewer common items there is no kappa
_CHUNK = 1 << 22

# the annotators of an image, and their maps of places, in the same order
Masks = tuple[Sequence[int], np.ndarray | Sequence[np.ndarray]]


@dataclass(frozen=True, eq=False)
class Alpha:
    """Krippendorff's alpha and its bootstrap interval (2,), the number of items with two votes or more, and
    the number of votes on them.
    """

    value: float
    interval: np.ndarray
    items: int
    votes: int


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """For every two annotators (A, A): Cohen's kappa, the share of common items on which they agree, and the
    number of common items.
    """

    kappa: np.ndarray
    alike: np.ndarray
    common: np.ndarray


@dataclass(frozen=True, eq=False)
class MaskAgreement:
    """For every two annotators (A, A): the mIoU of their masks over the images both labelled, NaN without
    any, and the number of these images.
    """

    miou: np.ndarray
    images: np.ndarray


def alpha(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    scale: Scale = "nominal",
    *,
    values: ArrayLike | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Alpha:
    """Return Krippendorff's alpha of votes (N,), and the percentile interval over resampled items, NaN below
    six items or if more than 2 % of the replicates are undefined.

    Labels are nominal, ranks (``ordinal``), or codes for the numbers ``values`` (C,), by default 0, 1, ...
    (``interval``). LabellingError for invalid columns, OptionError for another scale.

    >>> round(alpha([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]).value, 4)
    0.4444
    """
    if scale not in SCALES:
        raise OptionError(
            f"scale {scale!r} is not known; use {', '.join(SCALES)}.{closest(str(scale), SCALES)}"
        )
    item, _, label = _last_votes(item, annotator, label)
    size = int(label.max()) + 1 if len(label) else 0
    numbers = np.arange(size, dtype=float) if values is None else np.asarray(values, float)
    if numbers.ndim != 1 or len(numbers) < size or not np.isfinite(numbers).all():
        raise OptionError(
            f"values: expected a finite number for each of {size} labels; got"
            f" {numbers.shape[0] if numbers.ndim else 1}"
        )
    _, item = np.unique(item, return_inverse=True)
    counts = np.zeros((int(item.max(initial=-1)) + 1, size), np.int64)
    np.add.at(counts, (item, label), 1)
    counts = counts[counts.sum(1) > 1]  # items with two votes or more
    if not len(counts):
        return Alpha(np.nan, np.full(2, np.nan), 0, 0)
    # items with the same votes are merged, and weighted by their number
    patterns, times = np.unique(counts, axis=0, return_counts=True)
    value = float(_alphas(patterns, times[None].astype(float), scale, numbers)[0])
    interval = np.full(2, np.nan)
    if len(counts) >= LEAST and not np.isnan(value):
        rng = np.random.default_rng(seed)
        draws = []
        step = max(1, _CHUNK // max(patterns.shape))
        for low in range(0, resamples, step):
            weights = rng.multinomial(
                len(counts), times / len(counts), size=min(step, resamples - low)
            ).astype(float)
            draws.append(_alphas(patterns, weights, scale, numbers))
        replicates = np.concatenate(draws) if draws else np.full(1, np.nan)
        if np.isnan(replicates).mean() <= LOST:
            interval = percentile_interval(replicates[:, None], level)[0]
    return Alpha(value, interval, len(counts), int(counts.sum()))


def pair_agreement(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    *,
    annotators: int | None = None,
    common: int = COMMON,
) -> PairAgreement:
    """Return Cohen's kappa, the share of agreement and the number of common items of every two annotators (A,
    A).

    Kappa is NaN if two have fewer than ``common`` common items, and if both gave the same single label to
    all; the share is NaN without common items. LabellingError for invalid columns.

    >>> said = pair_agreement(
    ...     np.repeat(range(8), 2), [0, 1] * 8, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0]
    ... )
    >>> said.kappa[0, 1].round(3), said.alike[0, 1], said.common.tolist()
    (np.float64(0.5), np.float64(0.75), [[8, 8], [8, 8]])
    """
    from scipy.sparse import csr_array

    item, annotator, label = _last_votes(item, annotator, label)
    people = size_of(annotator, annotators, "annotator")
    size = int(label.max(initial=0)) + 1
    shape = (int(item.max(initial=-1)) + 1, people)
    given = csr_array((np.ones(len(item)), (item, annotator)), shape=shape)
    both = (given.T @ given).toarray()
    own = [
        csr_array((np.ones(int(m.sum())), (item[m], annotator[m])), shape=shape)
        for m in (label == y for y in range(size))
    ]
    alike = np.zeros((people, people))
    chance = np.zeros((people, people))
    for one in own:
        alike += (one.T @ one).toarray()
        mine = (one.T @ given).toarray()  # times the row annotator gave this label, on common items
        chance += mine * mine.T
    share = np.divide(alike, both, out=np.full(both.shape, np.nan), where=both > 0)
    rest = both**2 - chance
    kappa = np.divide(
        alike * both - chance, rest, out=np.full(both.shape, np.nan), where=(rest > 0) & (both >= common)
    )
    return PairAgreement(kappa, share, both.astype(np.int64))


def mask_counts(labelled: Iterable[Masks], annotators: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts (A, A, C, C) of pixels that the row annotator labels as y and the column annotator as z,
    and the number of common images (A, A), from one image after another.

    Each image is (who, maps): the numbers of those who labelled it, and their maps of places, with C for
    void. Pixels void for either are ignored. Memory does not grow with the images. LabellingError for an
    unknown annotator or one named twice, LabelMapError for maps that differ in size or hold more than C.

    >>> counts, images = mask_counts([((0, 1), np.array([[[0, 1, 1, 2]], [[0, 0, 1, 1]]], np.uint8))], 2, 2)
    >>> counts[0, 1].tolist(), images.tolist()
    ([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    """
    counts = np.zeros((annotators, annotators, classes, classes), np.int64)
    images = np.zeros((annotators, annotators), np.int64)
    for number, (who, maps) in enumerate(labelled):
        people = vote_column(who, f"annotators of image {number}", annotators)
        if len(people) != len(maps) or len(np.unique(people)) != len(people):
            raise LabellingError(
                f"image {number}: expected one map per annotator; got {len(maps)} maps for {people.tolist()}"
            )
        images[people[:, None], people] += 1
        if len(people) < 2:
            continue
        first, second = np.triu_indices(len(people), 1)
        found = confusions(maps, classes + 1, np.stack([first, second], 1))[:, :classes, :classes]
        counts[people[first], people[second]] += found
        counts[people[second], people[first]] += found.transpose(0, 2, 1)
    return counts, images


def mask_agreement(counts: np.ndarray, images: np.ndarray) -> MaskAgreement:
    """Return the mIoU of the masks of every two annotators over their common images, with pixels pooled and
    classes that either has; NaN on the diagonal and without common images.

    >>> mask_agreement(
    ...     *mask_counts([((0, 1), np.array([[[0, 1, 1, 2]], [[0, 0, 1, 1]]], np.uint8))], 2, 2)
    ... ).miou.tolist()
    [[nan, 0.5], [0.5, nan]]
    """
    return MaskAgreement(miou_of_counts(counts), np.array(images))


def miou_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return (...) the mIoU of confusion counts (..., C, C) without void, classes that either side has.

    >>> miou_of_counts(np.array([[2, 1], [0, 1]])).round(4)
    np.float64(0.5833)
    """
    void = ((0, 0),) * (counts.ndim - 2) + ((0, 1),)
    rows, columns = (np.pad(counts.sum(axis), void) for axis in (-1, -2))
    return miou(np.diagonal(counts, axis1=-2, axis2=-1), rows, columns)


def _last_votes(
    item: ArrayLike, annotator: ArrayLike, label: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    item = vote_column(item, "item")
    annotator = vote_column(annotator, "annotator")
    label = vote_column(label, "label")
    same_length(item=item, annotator=annotator, label=label)
    rows = latest_votes(item, annotator)
    return item[rows], annotator[rows], label[rows]


def _alphas(counts: np.ndarray, weights: np.ndarray, scale: Scale, numbers: np.ndarray) -> np.ndarray:
    """Return (B,) alpha = 1 - D_o / D_e of units with values (U, C), each counted as often as the weights (B,
    U) say (Krippendorff 2019, 12.3).
    """
    votes = counts.sum(1).astype(float)
    totals = weights @ counts  # n_c, how often each value occurs
    number = totals.sum(1)
    if scale == "nominal":
        observed = weights @ ((votes**2 - (counts**2).sum(1)) / (votes - 1))
        expected = number**2 - (totals**2).sum(1)
    else:  # sums over pairs of (x_c - x_k)^2 are 2 (m sum x^2 - (sum x)^2)
        points = np.broadcast_to(numbers[: counts.shape[1]], totals.shape)
        if scale == "ordinal":  # the votes between two ranks, counting half of those at the two
            points = totals.cumsum(1) - totals / 2
        points = points - (totals * points).sum(1, keepdims=True) / np.maximum(number, 1)[:, None]
        spread = points**2 @ counts.T * votes - (points @ counts.T) ** 2
        observed = 2 * (weights * spread / (votes - 1)).sum(1)
        expected = 2 * (number * (totals * points**2).sum(1) - (totals * points).sum(1) ** 2)
    # with a single value, the agreement at random is unknown
    some = ((totals > 0).sum(1) > 1) & (expected > 0)
    return 1 - np.divide(observed * (number - 1), expected, out=np.full(len(totals), np.nan), where=some)
