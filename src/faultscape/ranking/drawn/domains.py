"""Scores on a part of the pool, a domain (images by night, of one drive), from labels drawn from all of it.

Conventions: as in ``estimates``: ``losses`` (J, M) and ``probability`` (M,) belong to all draws that count,
``inside`` (M,) bool marks those in the domain. Their number is random, so a mean over the domain is a ratio
of two weighted sums, sum v l / sum v over the draws inside, with the weights v of LURE. Its covariance is
that of LURE for the residual losses, (l - mean) inside and 0 outside (linearisation), times n / (n - 1) for
the estimated mean. The number of images of the pool in the domain may be known (``size``: groups, sets,
conditions) or not (tags, which people gave to images that they saw).
Source: Hajek 1971; Saerndal, Swensson and Wretman 1992, 5.8 and 10.3 (domains); with LURE's weights ours.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import RankingError
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimates import SHARES, Estimates
from faultscape.ranking.drawn.scores import MARGINS, Expected, Found
from faultscape.ranking.drawn.steps import Steps
from faultscape.ranking.panel import Panel


@dataclass(frozen=True, eq=False)
class Domain:
    """A part of a study's images, in ``words`` (``tag=night``); ``known`` means that every image not among
    the ``images`` is known to be outside.
    """

    words: str
    images: Collection[str]
    known: bool


def domain(
    losses: np.ndarray,
    probability: np.ndarray,
    pool: int,
    inside: np.ndarray,
    *,
    size: int | None = None,
    proxy: tuple[np.ndarray, np.ndarray] | None = None,
    span: tuple[float, float] = SHARES,
) -> Estimates:
    """Return the mean losses over a domain, from losses (J, M) of which those ``inside`` (M,) count; ``size``
    is the number of images of the ``pool`` in the domain, if known.

    ``proxy`` is a proxy of the losses on the draws (J, M) and its mean over the domain (J,), for a control
    variate as in ``prediction_powered``. Degrees of freedom, effective labels and the unit of the variance
    are those of the n labels inside. If n equals ``size``, the variance is zero. RankingError for no label
    inside, for more labels than images, for shapes that do not fit, and as ``lure``.

    >>> losses, inside = np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([True, True, False, True])
    >>> found = domain(losses, estimates.uniform_steps(4, 40), 40, inside)
    >>> found.loss.round(3), round(found.effective, 3), found.freedom
    (array([0.333]), 3.0, 2)
    >>> domain(
    ...     losses, estimates.uniform_steps(4, 40), 40, inside, size=3
    ... ).covariance.tolist()  # all of it is labelled
    [[0.0]]
    """
    values = np.atleast_2d(np.asarray(losses, dtype=float))
    inside = np.asarray(inside)
    if inside.shape != (len(probability),) or inside.dtype != bool:
        raise RankingError(
            f"a domain says yes or no of each of {len(probability)} draws; got {inside.dtype} of shape"
            f" {inside.shape}"
        )
    number = int(inside.sum())
    if not number or (size is not None and number > size):
        raise RankingError(
            f"a mean over a domain needs a label in it, and no more labels than images; got {number} of"
            f" {'an unknown number of' if size is None else size} images"
        )
    weights = np.where(inside, estimates.lure_weights(probability, pool), 0.0)
    values = np.where(inside, values, 0.0)  # labels outside do not matter here
    alone = _ratio(values, weights, probability, pool, inside, size, span)
    if proxy is None or number < 3:
        return alone
    seen = np.atleast_2d(np.asarray(proxy[0], dtype=float))
    mean = np.asarray(proxy[1], dtype=float)
    if (
        seen.shape != values.shape
        or mean.shape != (len(values),)
        or not np.isfinite(seen).all()
        or not np.isfinite(mean).all()
    ):
        raise RankingError(
            f"a proxy has a finite number for each of {len(values)} models on each of {len(probability)}"
            f" draws, and a mean; got {seen.shape} and {mean.shape}"
        )
    seen = np.where(inside, seen, 0.0)
    j = len(values)
    joint = _ratio(np.concatenate([values, seen]), weights, probability, pool, inside, size, span).covariance
    control = estimates.control_of(joint, seen, number)
    left = _ratio(values - control @ seen, weights, probability, pool, inside, size, span)
    freedom = max(number - 2, 0)
    return replace(
        alone,
        loss=left.loss + control @ mean,
        covariance=left.covariance * ((number - 1) / freedom if freedom else np.nan),
        freedom=freedom,
        control=control,
        shift=np.diagonal(control @ joint[j:, j:] @ control.T),
    )


def _ratio(
    values: np.ndarray,
    weights: np.ndarray,
    probability: np.ndarray,
    pool: int,
    inside: np.ndarray,
    size: int | None,
    span: tuple[float, float],
) -> Estimates:
    """Return the ratio of weighted sums of values (J, M) and weights (M,), both 0 outside of the domain."""
    number = int(inside.sum())
    total = weights.sum()
    mean = values @ weights / total
    left = np.where(inside, values - mean[:, None], 0.0) * (len(inside) / total)
    covariance = np.zeros((len(values), len(values)))
    if number == size or len(inside) == pool:
        unit = 0.0
    elif number < 2:
        covariance = np.full_like(covariance, np.nan)
        unit = 1.0
    else:
        drawn = len(inside)
        covariance = (
            estimates.lure(left, probability, pool, (-np.inf, np.inf)).covariance
            * number
            / (number - 1)
            * (drawn - 1)
            / drawn
        )
        images = number * pool / drawn if size is None else size
        unit = float((weights**2).sum() / total**2 * number / (-images * np.log1p(-number / images)))
    even = weights[inside] * number / total
    low, high = span
    share = 0.0 if size is None else number / size
    seen = values[:, inside].mean(1) * share
    return Estimates(
        mean,
        covariance,
        number - 1,
        unit=unit,
        unseen=estimates.unseen(even * values[:, inside], unit),
        possible=np.stack([seen + (1 - share) * low, seen + (1 - share) * high], 1),
        effective=float(total**2 / (weights**2).sum()),
    )


def domain_scores(counted: Steps, panel: Panel, expected: Expected | None, where: Domain) -> Found:
    """Return the estimates that the draws allow for a domain, and the notes to print: `scores.unbiased` for a
    part of the pool.

    The control variate needs to know which images of the pool are in the domain: otherwise ``margins`` use
    labels alone, and there is no ``prediction_powered``.
    """
    notes = list(counted.notes)
    names = [panel.images[int(k)] for k in counted.columns]
    inside = np.array([name in where.images for name in names], bool)
    if inside.sum() < 2:
        few = (
            f"fewer than two drawn images in {where.words} are decided for every model: no score of it can be"
            " estimated"
        )
        return Found(notes=[*notes, few])
    chance = counted.probability
    losses = 1 - panel.scores[:, counted.columns]
    even = np.allclose(estimates.lure_weights(chance, counted.pool), 1)
    most = 1 - 1 / len(losses)
    own = estimates.margins(losses)
    size = beside = reused = None
    found: dict[str, Estimates] = {}
    if where.known and expected is not None:
        left = expected.behind(counted, names)
        if left is None:
            notes.append("prediction_powered is left out: the pool is no longer the one that was drawn from")
        else:
            there = left.only(where.images).losses
            at = left.places(names)
            size = there.shape[1]
            aside = left.losses[:, at], there.mean(1)
            found["prediction_powered"] = domain(losses, chance, counted.pool, inside, size=size, proxy=aside)
            beside = estimates.margins(aside[0]), estimates.margins(there).mean(1)
    found[MARGINS] = domain(own, chance, counted.pool, inside, size=size, proxy=beside, span=(-most, most))
    found["lure"] = domain(losses, chance, counted.pool, inside, size=size)
    if not even:
        steps = estimates.uniform_steps(len(names), counted.pool)
        again = domain(own, steps, counted.pool, inside, size=size, proxy=beside, span=(-most, most))
        reused = estimates.inside(again).loss
    number = "those" if size is None else f"{size:,}"
    notes.append(
        f"scores of this pool are of {number} of the {counted.pool:,} images that could be drawn which lie in"
        f" {where.words}: weighted means over the {int(inside.sum())} of {len(names)} counted draws that fell"
        " there"
    )
    if not where.known:
        notes.append(
            f"whether an image lies in {where.words} is known only for images that people looked at:"
            " untagged images count as outside, and what models predict on the others is not used"
        )
    order = (MARGINS, "prediction_powered", "lure")
    return Found(
        {name: estimates.inside(found[name]) for name in order if name in found}, even, reused, notes
    )
