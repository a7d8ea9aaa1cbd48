"""Mean losses from drawn masks, with people's choices between two models' maps as a control variate.

Conventions: as in ``estimates``: ``losses`` (J, K) belong to the first K of the draws, ``probability`` (M,)
is that of each step, ``pool`` is N. The images with masks are the first of those with choices, and both are
random draws of one pool: what choices say on the images with masks, less what they say on all that were
asked, is 0 on average, whatever people prefer (double sampling). It is taken from the losses as far as it
moves with them. So the estimate is of the metric and not of preference, no label counts twice, and choices
that have nothing to do with the metric cost nothing but their time. The level of all models is left alone.
Source: Neyman 1938 and Cochran 1977, chapter 12 (double sampling); Angelopoulos et al. 2023 (PPI++); the
steps of LURE and one coefficient for all pairs are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimates import (
    Estimates,
    control_of,
    covariance_of_means,
    lure,
    lure_weights,
    step_deviations,
)


@dataclass(frozen=True, eq=False)
class Preferences:
    """What people chose between two models on the draws, in their order.

    ``pairs`` (P, 2) are places of models; ``said`` (P, M) is 1 where all chose the first of a pair, -1 the
    second, between them where people differ, and 0 where nobody could tell. A pair was asked about on the
    first ``asked`` (P,) draws; columns after them do not count.
    """

    pairs: np.ndarray
    said: np.ndarray
    asked: np.ndarray

    @property
    def effects(self) -> np.ndarray:
        """What a choice for the first of each pair adds to the scores (J, P) that fit all choices of an image
        best (least squares): no choice counts for more because its pair was asked beside others.
        """
        models = int(self.pairs.max()) + 1
        flow = np.zeros((models, len(self.pairs)))
        flow[self.pairs[:, 0], np.arange(len(self.pairs))] = 1
        flow[self.pairs[:, 1], np.arange(len(self.pairs))] = -1
        return np.linalg.pinv(flow @ flow.T) @ flow


def with_choices(
    losses: np.ndarray,
    probability: np.ndarray,
    pool: int,
    choices: Preferences,
    *,
    proxy: np.ndarray | None = None,
    drawn: np.ndarray | None = None,
    span: tuple[float, float] = estimates.SHARES,
) -> Estimates:
    """Return mean losses on the pool from ``losses`` (J, K) on the first K of M draws, and from the
    ``choices`` of people on more of them.

    Of losses l, choices c made into losses and a coefficient b, that is lure_K(l) - b (lure_K(c) -
    lure_M(c)): b is the one with least variance over all differences, shrunk by K / (K + 10) and never below
    0, so that few masks believe little. ``proxy`` (J, N) and ``drawn`` (K,) as in `prediction_powered`, whose
    control comes first. ``gain`` says how many times as many masks alone would be worth as much, for
    differences between models. ``span`` holds the least and the greatest loss. RankingError as `lure`,
    and for choices that do not fit the draws.

    >>> losses = np.array([[0.0, 1.0] * 6, [1.0, 0.0] * 6])  # each is right on every other image
    >>> said = np.append(np.tile([1.0, -1.0], 6), np.tile([1.0, 1, -1], 4))  # later the first is better
    >>> choices = Preferences(np.array([[0, 1]]), said[None], np.array([24]))
    >>> found = with_choices(losses, estimates.uniform_steps(24, 240), 240, choices)
    >>> found.loss.round(3), round(found.gain, 2)  # twelve masks alone say .5 for both
    (array([0.452, 0.548]), 1.58)
    """
    losses = np.atleast_2d(checked_arrays.numbers(losses, "losses", RankingError).astype(float, copy=False))
    probability = checked_arrays.numbers(probability, "probability", RankingError, "M")
    number = losses.shape[1]
    choices = _checked(choices, len(losses), number, len(probability), pool)
    first = probability[:number]
    if proxy is None or drawn is None:
        found = lure(losses, first, pool, span)
        left = losses
    else:
        found = estimates.prediction_powered(losses, first, proxy, drawn, span)
        left = losses - np.dot(found.control, np.asarray(proxy)[:, drawn])
    coefficient, joint, later = _coefficient(left, probability, pool, choices)
    freedom = max(found.freedom - 1, 0)
    scale = (number - 1) / freedom if freedom else np.nan
    j = len(losses)
    surplus = choice_losses(choices, j) @ (
        _surplus_weights(choices, probability, pool, number) * choices.said
    ).sum(1)
    cross = coefficient * joint[:j, j:]
    own = coefficient**2 * (joint[j:, j:] + later)
    covariance = (joint[:j, :j] - cross - cross.T + own) * scale
    return replace(
        found,
        loss=found.loss - coefficient * surplus,
        covariance=covariance,
        freedom=freedom,
        shift=found.shift + np.diagonal(own),
        trust=coefficient,
        gain=_gain(found.covariance, covariance, number, pool),
    )


def choice_losses(choices: Preferences, models: int) -> np.ndarray:
    """Return (J, P) the loss of each model for a choice of the first of each pair."""
    out = np.zeros((models, len(choices.pairs)))
    effects = choices.effects
    out[: len(effects)] = -effects
    return out


def _coefficient(
    left: np.ndarray, probability: np.ndarray, pool: int, choices: Preferences
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the coefficient of choices, the covariance (2 J, 2 J) of the means of what is ``left`` (J, K) of
    losses and of the choices' part of the first K steps, and the covariance (J, J) of their later steps.
    """
    j, number = left.shape
    effects = choice_losses(choices, j)
    # a step weighs in the mean over all that were asked this share of what it weighs over those with masks
    kept = (pool - choices.asked) * number / (choices.asked * (pool - number))
    early = (effects * (1 - kept)) @ choices.said[:, :number]
    joint = covariance_of_means(np.concatenate([left, early]), probability[:number], pool)
    steps = np.zeros((len(choices.asked), int(choices.asked.max()) - number))
    for row, said, asked in zip(steps, choices.said, choices.asked.tolist(), strict=True):
        off = step_deviations(said[None, :asked], probability[:asked], pool)
        row[: asked - number] = off[0, number:]
    later = effects @ (steps @ steps.T) @ effects.T
    whole = joint.copy()
    whole[j:, j:] += later
    # choices have no level: of the matrix only the coefficient of differences is left
    control = control_of(whole, early, number)
    return max(float(np.trace(control)) / (j - 1), 0.0), joint, later


def influence(
    choices: Preferences, coefficient: float, probability: np.ndarray, pool: int, models: int, number: int
) -> np.ndarray:
    """Return (J, M) how far the choices on each draw move the mean losses, in deviations from their mean:
    what groups of images are redrawn with (`populations.to_come`).
    """
    weights = _surplus_weights(choices, probability, pool, number)
    last = [
        (lure_weights(probability[:asked], pool) * said[:asked]).mean()
        for said, asked in zip(choices.said, choices.asked.tolist(), strict=True)
    ]
    return (
        -coefficient * choice_losses(choices, models) @ (weights * (choices.said - np.array(last)[:, None]))
    )


def _surplus_weights(choices: Preferences, probability: np.ndarray, pool: int, number: int) -> np.ndarray:
    """Return (P, M) weights of draws: sums of what was said with them are its mean on the images with masks,
    less its mean on all that were asked.
    """
    out = np.zeros(choices.said.shape)
    out[:, :number] += lure_weights(probability[:number], pool) / number
    for row, asked in zip(out, choices.asked.tolist(), strict=True):
        row[:asked] -= lure_weights(probability[:asked], pool) / asked
    return out


def _gain(before: np.ndarray, after: np.ndarray, number: int, pool: int) -> float:
    """Return how many times as many masks alone would have the covariance ``after`` of differences."""
    apart = np.eye(len(before)) - 1 / len(before)
    was = float((apart * before).sum())
    if not was > 0:
        return 1.0
    each = float((apart * after).sum()) / was * (1 / number - 1 / pool) + 1 / pool
    return 1 / (each * number)


def _checked(choices: Preferences, models: int, number: int, draws: int, pool: int) -> Preferences:
    """Return choices as arrays that fit the draws; RankingError for others."""
    pairs = checked_arrays.whole_numbers(choices.pairs, "pairs", RankingError, "P x 2").astype(np.intp)
    said = checked_arrays.numbers(choices.said, "said", RankingError, "P x M").astype(float, copy=False)
    asked = checked_arrays.whole_numbers(choices.asked, "asked", RankingError, "P").astype(np.intp)
    fits = pairs.shape == (len(asked), 2) and said.shape == (len(asked), draws)
    if not fits or not len(asked):
        raise RankingError(
            f"choices: expected pairs (P, 2), said (P, {draws}) and asked (P,) of one pair or more; got"
            f" {pairs.shape}, {said.shape} and {asked.shape}"
        )
    if not 0 <= pairs.min() <= pairs.max() < models or (pairs[:, 0] == pairs[:, 1]).any():
        raise RankingError(f"choices: pairs are two places of {models} models; got {pairs.tolist()[:4]}")
    if not (np.abs(said) <= 1).all():
        raise RankingError("choices: what was said is a number from -1 to 1 on every draw")
    if not number < asked.min() <= asked.max() <= draws <= pool:
        raise RankingError(
            f"choices: each pair is asked about on more than the {number} draws with masks, and on at most"
            f" {min(draws, pool)}; got {asked.tolist()[:8]}"
        )
    return Preferences(pairs, said, asked)
