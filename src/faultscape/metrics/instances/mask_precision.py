"""Average precision of masks with scores, as COCO defines it: over ten overlaps .50:.05:.95, each the mean of
the precision at 101 recalls.

Conventions: of an image and class the 100 masks with the highest scores count. From the highest score down,
each takes the free true mask with which its IoU is largest, if that reaches the overlap; a crowd can be taken
often, and what takes it counts neither way (its IoU is the share of the mask within it). Precision at a
recall is the largest at that recall or a higher one. A class without a true mask has no value. Images may
have weights, for the bootstrap: one of weight 2 counts as if it were there twice.
Source: Lin et al. 2014, Microsoft COCO, with the rules of its evaluation code (segm, all areas).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.errors import LabelMapError, MetricError
from faultscape.maps import checked_arrays
from faultscape.maps import instances as of_masks
from faultscape.maps.instances import Instances

OVERLAPS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
MOST = 100  # masks of an image and class
_EVEN = np.spacing(1)
_NO_MASK = np.zeros((len(OVERLAPS), 0), bool)


@dataclass(frozen=True, eq=False)
class MaskPrecision:
    """Average precision of masks: ``ap`` over .50:.05:.95, ``ap50`` at .50 and ``ap75`` at .75; ``per_class``
    holds {class: ap}, NaN for a class without a true mask.
    """

    ap: float
    ap50: float
    ap75: float
    per_class: dict[int, float] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Judged:
    """The masks of one image and class as they were matched: ``scores`` (D,), highest first, ``found`` (T, D)
    and ``ignored`` (T, D) at each overlap, and how many true masks count.
    """

    scores: np.ndarray
    found: np.ndarray
    ignored: np.ndarray
    truths: int


def mask_average_precision(
    truth: Sequence[np.ndarray],
    prediction: Sequence[np.ndarray],
    truth_classes: Sequence[Sequence[int] | np.ndarray],
    predicted_classes: Sequence[Sequence[int] | np.ndarray],
    scores: Sequence[Sequence[float] | np.ndarray],
    *,
    crowds: Sequence[Sequence[bool] | np.ndarray] | None = None,
) -> MaskPrecision:
    """Return COCO's average precision of scored masks (Lin et al. 2014).

    Parameters
    ----------
    truth, prediction
        The masks of each image, (N, H, W) and (M, H, W) bool; they may overlap.
    truth_classes
        The class of each true mask of each image, (N,).
    predicted_classes
        The class of each predicted mask of each image, (M,).
    scores
        The score of each predicted mask of each image, (M,).
    crowds
        Whether each true mask of each image is a crowd, (N,); none is, by default.

    Errors: MetricError for lists that do not fit each other, and for a score that is not a number.

    >>> masks = np.zeros((2, 2, 4), bool)
    >>> masks[0, :, :2], masks[1, :, 2:] = True, True
    >>> mask_average_precision([masks], [masks], [[0, 0]], [[0, 0]], [[0.9, 0.8]]).ap
    1.0
    """
    lists = [
        checked_arrays.sequence(each, name, MetricError)
        for name, each in {
            "truth": truth,
            "prediction": prediction,
            "truth_classes": truth_classes,
            "predicted_classes": predicted_classes,
            "scores": scores,
            "crowds": [None] * len(truth_classes) if crowds is None else crowds,
        }.items()
    ]
    if len({len(each) for each in lists}) > 1:
        true, said, *of = map(len, lists)
        raise MetricError(
            f"there are masks of {true} images and predicted ones of {said}, classes of {of[0]} and of"
            f" {of[1]}, scores of {of[2]}, crowds of {of[3]}; give one list for each image"
        )
    images = [
        (
            _instances(true, true_class, f"truth, image {k}", crowd=crowd),
            _instances(said, said_class, f"prediction, image {k}", scores=score),
        )
        for k, (true, said, true_class, said_class, score, crowd) in enumerate(zip(*lists, strict=True))
    ]
    for k, (_, said) in enumerate(images):
        if not said.scored:
            raise MetricError(f"prediction, image {k}: a score is not a number; give each mask one")
    classes = sorted({int(c) for pair in images for each in pair for c in each.classes})
    precision = precisions(matches_of([judge(true, said, classes) for true, said in images], classes))
    each = dict(zip(classes, class_means(precision).tolist(), strict=True))
    return MaskPrecision(mean(precision), mean(precision[:, :1]), mean(precision[:, 5:6]), each)


def judge(truth: Instances, prediction: Instances, classes: Sequence[int]) -> dict[int, Judged]:
    """Return {class: its masks of one image as they were matched}, of those of the ``classes`` that occur."""
    out = {}
    for c in classes:
        true, said = truth.only(truth.classes == c), prediction.only(prediction.classes == c)
        if len(true) or len(said):
            out[c] = _match(true, said)
    return out


@dataclass(frozen=True, eq=False)
class Matches:
    """The masks (D,) of all images and C classes as they were matched: the place of the ``image`` and the
    ``class_`` of each, its ``scores``, whether it is ``right`` and whether it is ``wrong`` at each overlap,
    (T, D) (one that counts neither way is none of them), and the true masks that count, ``truths`` (I, C).
    """

    image: np.ndarray
    class_: np.ndarray
    scores: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    truths: np.ndarray


def matches_of(images: Sequence[Mapping[int, Judged]], classes: Sequence[int]) -> Matches:
    """Return the masks of all images, image by image and class by class."""
    truths = np.zeros((len(images), len(classes)))
    image, class_ = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    scores, found, ignored = [np.zeros(0)], [_NO_MASK], [_NO_MASK]
    for i, each in enumerate(images):
        for c, one in ((c, each[name]) for c, name in enumerate(classes) if name in each):
            truths[i, c] = one.truths
            image.append(np.full(len(one.scores), i))
            class_.append(np.full(len(one.scores), c))
            scores.append(one.scores)
            found.append(one.found)
            ignored.append(one.ignored)
    at, aside = np.concatenate(found, 1), np.concatenate(ignored, 1)
    places = np.concatenate(image), np.concatenate(class_)
    return Matches(*places, np.concatenate(scores), at & ~aside, ~at & ~aside, truths)


def joined(parts: Sequence[Matches]) -> Matches:
    """Return the matches of several parts of the images, one after the other."""
    first = np.cumsum([0, *(len(part.truths) for part in parts)])
    return Matches(
        np.concatenate([part.image + start for part, start in zip(parts, first, strict=False)]),
        np.concatenate([part.class_ for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.right for part in parts], 1),
        np.concatenate([part.wrong for part in parts], 1),
        np.concatenate([part.truths for part in parts]),
    )


def precisions(matches: Matches, weights: np.ndarray | None = None) -> np.ndarray:
    """Return (C, T, 101) precision of each class at each overlap and recall; NaN for a class without a true
    mask. ``weights`` (I,) say how often each image counts. Equal scores are in the order of the images.
    """
    images, classes = matches.truths.shape
    weight = np.ones(images) if weights is None else weights
    out = np.full((classes, len(OVERLAPS), len(RECALLS)), np.nan)
    order = np.lexsort((-matches.scores, matches.class_))
    ends = np.searchsorted(matches.class_[order], np.arange(classes + 1))
    totals = weight @ matches.truths
    for c in np.flatnonzero(totals).tolist():
        mine = order[ends[c] : ends[c + 1]]
        each = weight[matches.image[mine]]
        right = np.cumsum(matches.right[:, mine] * each, 1)
        wrong = np.cumsum(matches.wrong[:, mine] * each, 1)
        recall = right / totals[c]
        precision = right / (wrong + right + _EVEN)
        precision = np.maximum.accumulate(precision[:, ::-1], 1)[:, ::-1]  # the largest from here on
        for t in range(len(OVERLAPS)):
            at = np.searchsorted(recall[t], RECALLS, "left")
            out[c, t] = np.append(precision[t], 0.0)[at]
    return out


def mean(precision: np.ndarray) -> float:
    """Return the mean of the precisions of the classes that have one (C, T, 101); NaN if none has."""
    known = precision[~np.isnan(precision)]
    return float(known.mean()) if len(known) else float("nan")


def class_means(precision: np.ndarray) -> np.ndarray:
    """Return (C,) average precision of each class; NaN for one without a true mask."""
    return precision.mean((1, 2))


def _match(truth: Instances, prediction: Instances) -> Judged:
    """Match the masks of one image and class at each overlap, the highest score first."""
    true = truth.only(np.argsort(truth.crowd, kind="stable"))  # crowds last
    said = prediction.only(np.argsort(-prediction.scores, kind="stable")[:MOST])
    shape = (len(OVERLAPS), len(said))
    found, ignored = np.zeros(shape, bool), np.zeros(shape, bool)
    counting = int((~true.crowd).sum())
    if len(true) and len(said):
        shared = of_masks.intersections(said, true).astype(float)
        areas = said.areas[:, None]
        union = np.where(true.crowd, areas, areas + true.areas - shared)
        iou = np.where(shared > 0, shared / np.maximum(union, 1), 0.0)
        for t, overlap in enumerate(OVERLAPS):
            _match_at(iou, counting, min(overlap, 1 - 1e-10), found[t], ignored[t])
    return Judged(said.scores, found, ignored, counting)


def _match_at(iou: np.ndarray, counting: int, overlap: float, found: np.ndarray, ignored: np.ndarray) -> None:
    """Match masks at one overlap with true ones, (D, N): first those that count, then crowds."""
    free = np.ones(counting, bool)
    for d in range(len(iou)):
        own = np.where(free, iou[d, :counting], -1.0)
        if counting and own.max() >= overlap:
            free[counting - 1 - int(np.argmax(own[::-1]))] = False  # of equal ones the last
            found[d] = True
        elif len(iou[d]) > counting and iou[d, counting:].max() >= overlap:
            found[d] = ignored[d] = True


def _instances(
    masks: np.ndarray,
    classes: Sequence[int] | np.ndarray,
    where: str,
    *,
    scores: Sequence[float] | np.ndarray | None = None,
    crowd: Sequence[bool] | np.ndarray | None = None,
) -> Instances:
    masks = checked_arrays.whole_numbers(masks, where, MetricError, "N x H x W")
    told = {"classes": classes, "scores": scores, "crowds": crowd}
    for name, values in told.items():
        held = (
            None if values is None else checked_arrays.numbers(values, f"{where}, {name}", MetricError, "N")
        )
        if held is not None and len(held) != len(masks):
            raise MetricError(
                f"{where}: there are {len(masks)} masks and {len(held)} {name}; give each mask one"
            )
    classes = checked_arrays.whole_numbers(classes, f"{where}, classes", MetricError, "N")
    runs = [of_masks.runs_of_mask(mask) for mask in masks]
    try:
        return of_masks.make(masks.shape[1:], runs, classes, scores=scores, crowd=crowd)
    except LabelMapError as error:
        raise MetricError(f"{where}: {error}") from None
