"""Scores of confusion counts, and by how much a score changes with every count: what one more pixel is
worth.

Conventions: a score depends on hits TP (J, C), true pixels T (J, C) and predicted pixels P (J, C), all of
them outside void. Slopes (J, C + 1, C + 1) are derivatives by model, prediction and true class: a void
pixel changes no score, so the last column is 0. ``counted`` (J, C) says which classes a mean is over.
Scores are pooled: over all pixels of all images, as `measure` prints them, not means over images. Undefined
is NaN, with slopes of 0. Source: as ``metrics.pixel``; influence functions of ratios as in Demnati and Rao
2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from faultscape.choices import Over
from faultscape.errors import OptionError
from faultscape.metrics.pixel import OVER

PointMetric = Literal["miou", "fwiou", "mpa", "dice", "pixel_accuracy"]
POINT_METRICS = get_args(PointMetric)


@dataclass(frozen=True, eq=False)
class Totals:
    """Hits (J, C), true pixels (J, C) and predicted pixels (J, C), outside void."""

    hits: np.ndarray
    true: np.ndarray
    predicted: np.ndarray

    @classmethod
    def of(cls, confusion: np.ndarray) -> Totals:
        """Return the totals of confusion counts (J, C + 1, C + 1)."""
        return cls(
            np.diagonal(confusion, axis1=1, axis2=2)[:, :-1],
            confusion[:, :, :-1].sum(1),
            confusion[:, :-1, :-1].sum(2),
        )


@dataclass(frozen=True, eq=False)
class Score:
    """Values (J,) and derivatives (J, C) by hits, true pixels and predicted pixels. Of a mean over classes,
    ``parts`` (J, C) are what each adds, and ``shares`` (J, C) the most that it can add.
    """

    value: np.ndarray
    by_hits: np.ndarray
    by_true: np.ndarray
    by_predicted: np.ndarray
    parts: np.ndarray | None = None
    shares: np.ndarray | None = None

    def slopes(self) -> np.ndarray:
        """Return (J, C + 1, C + 1) the change of the value with one more pixel of each prediction and true
        class.
        """
        models, classes = self.by_hits.shape
        out = np.zeros((models, classes + 1, classes + 1))
        out[:, :, :-1] += self.by_true[:, None, :]
        out[:, :-1, :-1] += self.by_predicted[:, :, None]
        same = np.arange(classes)
        out[:, same, same] += self.by_hits
        return out

    @property
    def unbounded(self) -> Score:
        """The same, as if classes could go beyond 0 and 1: changes are of first order alone."""
        return replace(self, parts=None, shares=None)

    def bounded_change(self, added: np.ndarray) -> np.ndarray:
        """Return (J,) by how much the value grows with these confusion counts (J, C + 1, C + 1) more: in
        first order, but no class by more than its values from 0 to 1 allow.
        """
        more = Totals.of(added)
        each = self.by_hits * more.hits + self.by_true * more.true + self.by_predicted * more.predicted
        if self.parts is not None and self.shares is not None:
            each = np.clip(each, -self.parts, self.shares - self.parts)
        return np.clip(each.sum(1), -self.value, 1 - self.value)

    def bounded_changes(self, said: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        """Return (J, M, C + 1) by how much the value grows with ``pixels`` (M,) more of each true class where
        the models say ``said`` (J, M): in first order, but no class by more than its values from 0 to 1
        allow.
        """
        classes = self.by_hits.shape[1]
        missed = self.by_true[:, None, :] * pixels[:, None]
        wrong = _at(self.by_predicted, said) * pixels
        right = _at(self.by_hits + self.by_true + self.by_predicted, said) * pixels
        if self.parts is not None and self.shares is not None:
            room = self.shares - self.parts
            missed = np.clip(missed, -self.parts[:, None], room[:, None])
            wrong = np.clip(wrong, -_at(self.parts, said), _at(room, said))
            right = np.clip(right, -_at(self.parts, said), _at(room, said))
        out = np.zeros((*said.shape, classes + 1))
        out[:, :, :-1] = missed + wrong[..., None]
        model, point = np.nonzero(said < classes)
        out[model, point, said[model, point]] = right[model, point]
        return out

    def change(self, first: Totals, second: Totals) -> np.ndarray:
        """Return (J,) by how much the value grows from the first totals to the second, if it went on as
        here.
        """
        return (
            self.by_hits * (second.hits - first.hits)
            + self.by_true * (second.true - first.true)
            + self.by_predicted * (second.predicted - first.predicted)
        ).sum(1)


def _at(by_class: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Return (J, M) the number of each prediction; 0 for none."""
    return np.take_along_axis(np.pad(by_class, ((0, 0), (0, 1))), said.astype(np.intp), 1)


def counted_classes(predicted: np.ndarray, seen: np.ndarray, over: Over) -> np.ndarray:
    """Return (J, C) which classes each model's mean is over, from its predicted pixels (J, C) and whether
    any point or mask has ``seen`` the class (C,).

    Under ``union`` a class that a model predicts counts even if it was never seen: it may be rare.
    OptionError for an unknown ``over``.

    >>> counted_classes(np.array([[5, 0, 0]]), np.array([True, True, False]), "union")
    array([[ True,  True, False]])
    """
    if over not in OVER:
        raise OptionError(f"over={over!r} is none of {', '.join(OVER)}")
    if over == "all":
        return np.ones(predicted.shape, bool)
    return np.where(predicted > 0, over == "union", False) | seen


def score(totals: Totals, metric: str, counted: np.ndarray) -> Score:
    """Return a metric's values (J,) and derivatives; ``metric`` is one of ``POINT_METRICS``, or ``iou C``
    for the class at place C. OptionError for another.

    >>> totals = Totals.of(np.array([[[2.0, 0, 0], [1, 1, 0], [0, 0, 0]]]))
    >>> score(totals, "miou", np.ones((1, 2), bool)).value.round(4)
    array([0.5833])
    """
    name, _, place = metric.partition(" ")
    if name == "iou" and place.isdigit() and int(place) < counted.shape[1]:
        only = np.zeros(counted.shape, bool)
        only[:, int(place)] = counted[:, int(place)]
        return _mean(_iou(totals), only)
    if metric == "miou":
        return _mean(_iou(totals), counted)
    if metric == "dice":
        return _mean(_dice(totals), counted)
    if metric == "mpa":
        return _mean(_recall(totals), counted)
    if metric == "fwiou":
        return _fwiou(totals)
    if metric == "pixel_accuracy":
        return _pixel_accuracy(totals)
    raise OptionError(
        f"no score {metric!r} is estimated from points; known: {', '.join(POINT_METRICS)}, and iou followed"
        f" by the place of a class, 0 to {counted.shape[1] - 1}"
    )


def _iou(totals: Totals) -> Score:
    union = totals.true + totals.predicted - totals.hits
    iou = _ratio(totals.hits, union)
    less = -_ratio(iou, union)
    return Score(iou, _ratio(1 + iou, union), less, less)


def _dice(totals: Totals) -> Score:
    both = totals.true + totals.predicted
    dice = _ratio(2 * totals.hits, both)
    less = -_ratio(dice, both)
    return Score(dice, _ratio(2.0, both), less, less)


def _recall(totals: Totals) -> Score:
    recall = _ratio(totals.hits, totals.true)
    return Score(recall, _ratio(1.0, totals.true), -_ratio(recall, totals.true), np.zeros(totals.hits.shape))


def _mean(classes: Score, counted: np.ndarray) -> Score:
    """Return the mean over the counted classes (J, C) of values by class; a counted class that neither side
    has is 0, which only happens where all classes count.
    """
    number = counted.sum(1)
    share = np.divide(counted, number[:, None], out=np.zeros(counted.shape), where=number[:, None] > 0)
    parts = share * np.nan_to_num(classes.value)
    value = np.where(number > 0, parts.sum(1), np.nan)
    slopes = (classes.by_hits, classes.by_true, classes.by_predicted)
    each = (share * np.nan_to_num(slope) for slope in slopes)
    return Score(value, *each, parts=parts, shares=share)


def _fwiou(totals: Totals) -> Score:
    iou = _iou(totals)
    everything = totals.true.sum(1, keepdims=True)
    share = _ratio(totals.true, everything)
    each = np.nan_to_num(iou.value)
    value = (share * each).sum(1)
    parts = [np.nan_to_num(share * part) for part in (iou.by_hits, iou.by_true, iou.by_predicted)]
    parts[1] = parts[1] + np.nan_to_num(_ratio(each - value[:, None], everything))
    return Score(value, *parts)


def _pixel_accuracy(totals: Totals) -> Score:
    everything = totals.true.sum(1, keepdims=True)
    value = _ratio(totals.hits.sum(1, keepdims=True), everything)
    nothing = np.zeros(totals.hits.shape)
    by_hits = np.nan_to_num(_ratio(1.0, everything)) + nothing
    return Score(value[:, 0], by_hits, nothing - np.nan_to_num(_ratio(value, everything)), nothing)


def _ratio(above: np.ndarray | float, below: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(np.shape(above), below.shape), np.nan)
    return np.divide(above, below, out=out, where=below > 0)
