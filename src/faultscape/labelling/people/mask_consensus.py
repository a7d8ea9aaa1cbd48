"""The consensus of several annotators' label maps of one image by vote, and which images they disagree on
most.

Conventions: maps (A, H, W) hold places 0..C, uint8 or uint16, where C is void, which can be voted for like
any other. A pixel's consensus is the place with more than half of the annotators' total weight. If none has
it, the pixel is void, or the choice of the most skilled among those whose place has most weight (``tie``).
Weights are equal if they differ by less than 1e-12 of their sum. Images are processed one at a time, with no
state in between. A pixel is disputed if not all annotators label it alike.

``disputes`` are those of ``dispute``, one per image. ``share`` is the share of disputed pixels, and
``least_miou`` the mIoU, beyond which an image is discussed.

Source: the vote is that of Wang et al. 2020's annotators, here per pixel; in Yan et al. 2021, section 4.1.4
has annotators discuss what they disagree on.

Who draws the masks of which images, and in which session: each image goes to ``overlap`` people, and everyone
has about the same number (Yan et al. 2021, section 4.1.4).

Conventions: only the seed decides the order of the images, and who of those with the fewest images gets the
next one. No two people's numbers of images differ by more than one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import LabelMapError, OptionError, closest, counted
from faultscape.labelling.people.annotator_agreement import miou_of_counts
from faultscape.maps.counts import Maps, check, confusions
from faultscape.ties import EQUAL

Tie = Literal["void", "skill"]
TIES = get_args(Tie)
SHARE = 0.1  # share of disputed pixels above which an image is worth a discussion
MIOU = 0.7  # mean over every two annotators below which it is


@dataclass(frozen=True)
class Dispute:
    """The share of an image's pixels that not all annotators label alike, and the mean mIoU over every two of
    them, NaN if none is defined.
    """

    disputed: float
    miou: float


def consensus(
    maps: Maps,
    classes: int,
    *,
    tie: Tie = "void",
    weights: ArrayLike | None = None,
    skill: ArrayLike | None = None,
) -> np.ndarray:
    """Return the (H, W) map on which the annotators agree by vote, of the maps' type.

    ``weights`` (A,) are the weights of the annotators' votes, 1 by default; ``skill`` (A,) is larger for the
    more skilled, who take precedence with ``tie="skill"``, in case of equal skill the earlier. LabelMapError
    for maps that differ in size or hold more than C, OptionError for another ``tie``, for weights that are
    not positive, or numbers that are not one per annotator.

    >>> maps = np.array([[[0, 0, 1]], [[0, 1, 2]], [[1, 2, 0]]], np.uint8)
    >>> consensus(maps, 2).tolist(), consensus(maps, 2, tie="skill", skill=[0.7, 0.9, 0.8]).tolist()
    ([[0, 2, 2]], [[0, 1, 2]])
    """
    stack = _stack(maps, classes)
    if tie not in TIES:
        raise OptionError(f"tie {tie!r} is not known; use {' or '.join(TIES)}.{closest(str(tie), TIES)}")
    weight = _numbers(weights, len(stack), "weights")
    order = _numbers(skill, len(stack), "skill")
    if (weight <= 0).any():
        raise OptionError(f"weights: expected numbers above 0; got {weight.min():g}")
    out = stack[0].copy()
    places = np.flatnonzero(_disputed(stack))
    columns = np.stack([one.ravel()[places] for one in stack])
    # the weight of each annotator's place
    support = np.stack([(weight[:, None] * (columns == own)).sum(0) for own in columns])
    slack = EQUAL * weight.sum()
    best = support >= support.max(0) - slack
    by_skill = np.argsort(-order, kind="stable")
    first = by_skill[best[by_skill].argmax(0)]
    chosen = columns[first, np.arange(len(places))]
    if tie == "void":
        chosen = np.where(support.max(0) > weight.sum() / 2 + slack, chosen, classes)
    out.flat[places] = chosen
    return out


def dispute(maps: Maps, classes: int) -> Dispute:
    """Return how much the annotators of one image disagree; a single annotator disputes nothing.
    LabelMapError for maps that differ in size or hold more than C.

    The mIoU of two annotators leaves out pixels void for either, and is over the classes that either has.

    >>> dispute(np.array([[[0, 0, 1, 2]], [[0, 1, 1, 1]]], np.uint8), 2)
    Dispute(disputed=0.5, miou=0.5)
    """
    stack = _stack(maps, classes)
    disputed = float(_disputed(stack).mean())
    if len(stack) < 2:
        return Dispute(disputed, float("nan"))
    each = miou_of_counts(confusions(stack, classes + 1)[:, :classes, :classes])
    known = each[~np.isnan(each)]
    return Dispute(disputed, float(known.mean()) if len(known) else float("nan"))


def images_to_discuss(
    disputes: Sequence[Dispute], *, share: float = SHARE, least_miou: float = MIOU
) -> list[int]:
    """Return the places of the images on which annotators disagree beyond either limit: the lowest mIoU
    first, then the largest share of disputed pixels, then in the given order.

    >>> images_to_discuss(
    ...     [Dispute(0.02, 0.9), Dispute(0.3, 0.8), Dispute(0.05, 0.4), Dispute(0.5, float("nan"))]
    ... )
    [2, 1, 3]
    """
    chosen = [k for k, one in enumerate(disputes) if one.disputed > share or one.miou < least_miou]
    return sorted(
        chosen,
        key=lambda k: (np.inf if np.isnan(disputes[k].miou) else disputes[k].miou, -disputes[k].disputed),
    )


def _stack(maps: Maps, classes: int) -> list[np.ndarray]:
    stack = [np.asarray(one) for one in maps]
    if not stack or len({one.shape for one in stack}) != 1 or stack[0].ndim != 2 or not stack[0].size:
        raise LabelMapError(
            "expected maps of the same size, H x W, from one annotator or more; got"
            f" {sorted({one.shape for one in stack})}"
        )
    kinds = {one.dtype for one in stack}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.uint8), np.dtype(np.uint16)}:
        raise LabelMapError(
            f"expected maps of one type, uint8 or uint16; got {sorted(str(kind) for kind in kinds)}"
        )
    check(stack, classes + 1)
    return stack


def _disputed(stack: Sequence[np.ndarray]) -> np.ndarray:
    out = np.zeros(stack[0].shape, bool)
    for one in stack[1:]:
        out |= one != stack[0]
    return out


def _numbers(given: ArrayLike | None, annotators: int, name: str) -> np.ndarray:
    numbers = np.ones(annotators) if given is None else np.asarray(given, float)
    if numbers.shape != (annotators,) or not np.isfinite(numbers).all():
        raise OptionError(
            f"{name}: expected a finite number for each of {annotators} annotators; got"
            f" {np.array2string(numbers, threshold=6)}"
        )
    return numbers


def share_images(
    images: Collection[str], annotators: Sequence[str], *, overlap: int = 2, session: int = 20, seed: int = 0
) -> dict[str, list[list[str]]]:
    """Return {annotator: sessions of images}, of at most ``session`` images each; each image goes to
    ``overlap`` people. OptionError for numbers that are impossible, and for an annotator named twice.

    >>> found = share_images("abcd", ["ann", "ben"], overlap=1, session=1)
    >>> (
    ...     {who: len(sessions) for who, sessions in found.items()},
    ...     sorted(image for mine in found.values() for (image,) in mine),
    ... )
    ({'ann': 2, 'ben': 2}, ['a', 'b', 'c', 'd'])
    """
    if len(set(annotators)) < len(annotators) or not annotators:
        raise OptionError(
            f"expected one annotator or more, each named once; got {', '.join(annotators) or 'none'}"
        )
    if not 1 <= overlap <= len(annotators):
        raise OptionError(
            f"--overlap {overlap}: expected 1 to {len(annotators)} people per image, since"
            f" {counted(len(annotators), 'annotator is', 'annotators are')} named"
        )
    if session < 1:
        raise OptionError(f"--session {session}: expected 1 or more images per session")
    mine: dict[str, list[str]] = {who: [] for who in annotators}
    for image in sorted(images, key=lambda image: by_chance(seed, "image", image)):
        first = sorted(mine, key=lambda who: (len(mine[who]), by_chance(seed, "annotator", image, who)))[
            :overlap
        ]
        for who in first:
            mine[who].append(image)
    return {who: [held[k : k + session] for k in range(0, len(held), session)] for who, held in mine.items()}


def by_chance(seed: int, *words: str) -> bytes:
    """Return a sort key that puts words into an order that only the seed decides.

    >>> by_chance(0, "a") == by_chance(0, "a"), by_chance(0, "a") == by_chance(1, "a")
    (True, False)
    """
    return hashlib.blake2b(
        "\0".join([str(seed), *words]).encode("utf-8", "surrogateescape"), digest_size=16
    ).digest()
