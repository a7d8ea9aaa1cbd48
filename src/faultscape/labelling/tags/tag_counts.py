"""What tags say about models: how many images have each, which share of a model's failures, and how much more
a model loses on images with a tag.

Conventions: ``losses`` (J, I) are of J models on I labelled images, 0 = none, NaN where unknown; ``tagged``
(T, J, I) says which image has which tag for each model: a tag of an image, or of a region of it, applies to
all models, a tag of one model's prediction to that model alone. All results describe the given images only:
if images were chosen by the models' predictions, and tagged by a person who saw a failure, they are not
estimates for other images, and a tag that was given *because* a model failed explains that failure by
definition. Units are images, or whole groups of them.
Source: Wilson 1927; Welch 1947; Fisher 1935; Newcombe 1998, method 10 (difference of two shares); Holm 1979;
groups: Liang and Zeger 1986, with one degree of freedom fewer than groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import stdtr, stdtrit

from faultscape.errors import LabellingError
from faultscape.labelling.people.vote_columns import Share, share_of
from faultscape.metrics.intervals.units import LEAST, LEVEL, Units, units_of

FEW = 5  # with fewer tagged or other images, a difference cannot be estimated


class Given(Protocol):
    """A tag that a person gave: to an image, or, if ``model`` is not '', to that model's prediction for
    it.
    """

    @property
    def image(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def model(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Tagged:
    """T tags in alphabetical order, which images have each for each model (T, J, I), and which have it for
    any model (T, I).
    """

    names: tuple[str, ...]
    of_models: np.ndarray
    of_images: np.ndarray


@dataclass(frozen=True, eq=False)
class TagCounts:
    """How many of the labelled images have each tag (T,), and what share of each model's failures (T, J), NaN
    if only other models' predictions have it.
    """

    images: Share
    failures: Share


@dataclass(frozen=True, eq=False)
class Explained:
    """How much more each model loses on images with a tag than on the others (T, J), its interval (T, J, 2),
    Holm's p-value over the tags (T, J), and the number of images with the tag behind it; NaN if there are too
    few of either.
    """

    difference: np.ndarray
    interval: np.ndarray
    p_value: np.ndarray
    images: np.ndarray


def tagged(given: Iterable[Given], images: Sequence[str], models: Sequence[str]) -> Tagged:
    """Return which of these images have which tag, without tags of other images and of other models.

    >>> from types import SimpleNamespace as Tag
    >>> held = tagged(
    ...     [Tag(image="x", tag="dark", model=""), Tag(image="y", tag="blurred", model="fcn")],
    ...     ["x", "y"],
    ...     ["unet", "fcn"],
    ... )
    >>> held.names, held.of_models.astype(int).tolist(), held.of_images.astype(int).tolist()
    (('blurred', 'dark'), [[[0, 0], [0, 1]], [[1, 0], [1, 0]]], [[0, 1], [1, 0]])
    """
    place = {image: k for k, image in enumerate(images)}
    row = {model: j for j, model in enumerate(models)}
    mine = [one for one in given if one.image in place and (not one.model or one.model in row)]
    names = tuple(sorted({one.tag for one in mine}))
    at = {name: t for t, name in enumerate(names)}
    out = np.zeros((len(names), len(models), len(images)), bool)
    seen = np.zeros((len(names), len(images)), bool)
    for one in mine:
        out[at[one.tag], row[one.model] if one.model else slice(None), place[one.image]] = True
        seen[at[one.tag], place[one.image]] = True
    return Tagged(names, out, seen)


def tag_counts(held: Tagged, failed: np.ndarray) -> TagCounts:
    """Return the counts of tags on images on which each model ``failed`` (J, I): 1, 0, or NaN if unknown. A
    tag that was given to predictions of other models alone has no share of a model's failures.

    >>> held = Tagged(("dark",), np.array([[[True, False, True]]]), np.array([[True, False, True]]))
    >>> counts = tag_counts(held, np.array([[1.0, 1.0, 0.0]]))
    >>> counts.images.value.round(3), counts.failures.count, counts.failures.of
    (array([0.667]), array([[1.]]), array([[2.]]))
    """
    _check(held, failed)
    failures = np.asarray(failed) == 1
    number = np.broadcast_to(failures.sum(1), (len(held.names), len(failures)))
    shares = share_of((held.of_models & failures).sum(2), number)
    looked = np.asarray(held.of_models.any(2))
    known = replace(
        shares,
        value=np.where(looked, shares.value, math.nan),
        interval=np.where(looked[..., None], shares.interval, math.nan),
    )
    return TagCounts(
        share_of(held.of_images.sum(1), np.full(len(held.names), held.of_images.shape[1])), known
    )


def explain(
    held: Tagged, losses: np.ndarray, groups: Sequence[str] | None = None, level: float = LEVEL
) -> Explained:
    """Return the effect of each tag on each model's losses (J, I): the mean with the tag minus the mean
    without.

    Graded losses use Welch's interval and test, losses of 0 and 1 Newcombe's interval and Fisher's test; if
    some images belong to one of the ``groups`` (I,), '' for none, Student's over groups. NaN if fewer than
    five images have the tag, or lack it; interval and p-value also if labels are in fewer than six groups, or
    graded losses do not vary. LabellingError for shapes that do not fit, or losses that are infinite.

    >>> held = Tagged(("dark",), np.array([[[True] * 5 + [False] * 5]]), np.array([[True] * 5 + [False] * 5]))
    >>> found = explain(held, np.array([[0.9, 0.8, 0.7, 0.8, 0.9, 0.1, 0.2, 0.3, 0.2, 0.1]]))
    >>> found.difference.round(3), found.interval.round(3), found.p_value < 0.001
    (array([[0.64]]), array([[[0.518, 0.762]]]), array([[ True]]))
    """
    losses = _check(held, losses)
    if groups is not None and len(groups) != losses.shape[1]:
        raise LabellingError(f"expected one group per image; got {len(groups)} for {losses.shape[1]}")
    units = units_of(losses.shape[1] if groups is None else groups)
    shape = held.of_models.shape[:2]
    difference, low, high, p_value = (np.full(shape, math.nan) for _ in range(4))
    images = np.zeros(shape, int)
    for t, j in np.ndindex(shape):
        known = ~np.isnan(losses[j])
        mine = held.of_models[t, j]
        images[t, j] = int((mine & known).sum())
        if min(images[t, j], int((~mine & known).sum())) < FEW:
            continue
        with_, without = (losses[j, which & known] for which in (mine, ~mine))
        difference[t, j] = with_.mean() - without.mean()
        if not units.grouped and np.isin(losses[j, known], (0, 1)).all():
            (low[t, j], high[t, j]), p_value[t, j] = _of_shares(with_, without, level)
            continue
        error, freedom = _error(losses[j], mine, known, units)
        if not freedom or not error > 0:
            continue
        half = stdtrit(freedom, (1 + level) / 2) * error
        low[t, j], high[t, j] = difference[t, j] - half, difference[t, j] + half
        p_value[t, j] = 2 * stdtr(freedom, -abs(difference[t, j]) / error)
    return Explained(difference, np.stack([low, high], -1), holm(p_value), images)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return (T, ...) p-values adjusted for the T of a column that have one (Holm 1979); NaN stays NaN.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(3)
    array([0.03, 0.06,  nan, 0.06])
    """
    p_values = np.asarray(p_values, float)
    order = np.argsort(p_values, axis=0)  # NaN last
    sorted_ = np.take_along_axis(p_values, order, 0)
    left = (~np.isnan(p_values)).sum(0) - np.arange(len(p_values)).reshape(-1, *[1] * (p_values.ndim - 1))
    stepped = np.maximum.accumulate(np.where(np.isnan(sorted_), 0.0, sorted_ * np.maximum(left, 0)), 0)
    out = np.empty_like(p_values)
    np.put_along_axis(out, order, np.where(np.isnan(sorted_), math.nan, np.minimum(stepped, 1)), 0)
    return out


def _of_shares(with_: np.ndarray, without: np.ndarray, level: float) -> tuple[tuple[float, float], float]:
    """Return the interval of the difference of two shares of losses of 0 and 1, and the p-value of no
    difference.
    """
    from scipy.stats import fisher_exact

    counts = np.array([with_.sum(), without.sum()])
    numbers = np.array([len(with_), len(without)])
    shares = share_of(counts, numbers, level)
    below, above = (np.abs(end - shares.value) for end in shares.interval.T)
    gap = float(shares.value[0] - shares.value[1])
    p_value = np.asarray(fisher_exact(np.stack([counts, numbers - counts]).astype(int)))[1]
    return (gap - math.hypot(below[0], above[1]), gap + math.hypot(above[0], below[1])), float(p_value)


def _error(losses: np.ndarray, mine: np.ndarray, known: np.ndarray, units: Units) -> tuple[float, float]:
    """Return the standard error of the difference of two means, and its degrees of freedom, 0 if there are
    too few groups.
    """
    parts = [(which & known, sign) for which, sign in ((mine, 1.0), (~mine, -1.0))]
    if not units.grouped:
        squares = [(losses[at].var(ddof=1) / at.sum(), int(at.sum()) - 1) for at, _ in parts]
        whole = sum(square for square, _ in squares)
        below = sum(square**2 / degrees for square, degrees in squares)
        return math.sqrt(whole), (
            float(whole**2 / below) if below > 0 else float(sum(degrees for _, degrees in squares))
        )
    slopes = np.full(len(losses), math.nan)
    for at, sign in parts:
        slopes[at] = sign * (losses[at] - losses[at].mean()) / at.sum()
    count = int(units.known(slopes))
    if count < LEAST:
        return math.nan, 0.0
    return math.sqrt(float((units.totals(slopes) ** 2).sum()) * count / (count - 1)), float(count - 1)


def _check(held: Tagged, values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    if values.shape != held.of_models.shape[1:] or np.isinf(values).any():
        raise LabellingError(
            f"expected a finite number, or NaN, for each of {held.of_models.shape[1]} models on each of"
            f" {held.of_models.shape[2]} images; got shape"
            f" {values.shape}{' with infinity' if np.isinf(values).any() else ''}"
        )
    return values
