"""Who is better, from drawn labels that one may look at after each of them and stop at any time.

Conventions: ``losses`` (..., J, M) lie between 0 and 1, small = good, in the order drawn; ``probability``
(..., M) is that of each step, ``pool`` is N. Leading axes are repeats. Pairs are those of ``pairs(J)``;
evidence (2, ..., P, M) is the logarithm of how strongly the labels so far speak for the first model of each
pair, then for the second. It may be looked at after every label: where the second is at least as good, it
exceeds log(1 / alpha) at any time with probability alpha at most.

Step m alone estimates the mean of the pool without bias, whatever the draws learned from earlier labels:
a_m = (l_m / q_m + the losses before) / N. So sums of w_m (a_m - mean) are a martingale; the weights w_m =
N^2 / ((N - m) (N - m + 1)), which for uniform draws are the inverses of the variances, add up to
T = N M / (N - M) after M labels, and their mean is the estimate that ``estimates.lure`` makes: LURE's running
value times T is a martingale, its running value is none. A control variate is multiplied by coefficients from
*earlier* labels only. T is infinite where all of the pool is labelled: then nothing is left open.

From label `START` on, evidence is a mixture over the size of the difference with the variance as the labels
show it (an *asymptotic* sequence: it holds for many labels); before, for uniform draws, the wealth of bets on
the single steps, which holds for any number of labels. Bets need the least probability of a draw, since an
image may cost its inverse: draws that prefer some images a tenth less than others would have to bet a tenth.
Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024 (asymptotic sequences); Robbins 1970 (mixtures);
Waudby-Smith and Ramdas 2020 and 2024 (bets, draws without replacement); Farquhar et al. 2021 (the terms); the
weights, and the bound by the number of images that differ, are ours.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.drawn.estimates import TRUST, UNSEEN
from faultscape.ranking.simultaneous_ranks import better

START = 50  # labels from which the variance that they show is believed
BETTING = 0.2  # share of alpha that bets take where there are any
BETS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of what a step can lose at most
SPREAD = 0.1  # of the mixture: the square of the differences looked for, in standard deviations of a step


def pairs(models: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second model of each of P = J (J - 1) / 2 pairs.

    >>> pairs(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    return np.triu_indices(models, 1)


def single_steps(losses: np.ndarray, probability: np.ndarray, pool: int) -> np.ndarray:
    """Return the estimates (..., J, M) of the mean losses of a pool that each step makes alone.

    >>> single_steps(np.array([[1.0, 0.0]]), np.array([1 / 4, 1 / 3]), pool=4)
    array([[1.  , 0.25]])
    """
    return (losses / probability[..., None, :] + np.cumsum(losses, -1) - losses) / pool


def step_weights(number: int, pool: int) -> np.ndarray:
    """Return (M,) N^2 / ((N - m) (N - m + 1)), infinite for the last image of a pool.

    >>> step_weights(4, pool=4).round(3)
    array([1.333, 2.667, 8.   ,   inf])
    """
    left = pool - np.arange(1, number + 1.0)
    return pool**2 / np.where(left > 0, left * (left + 1), 1.0) + np.where(left > 0, 0.0, np.inf)


def controlled(
    steps: np.ndarray, proxy_steps: np.ndarray, proxy_mean: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return single steps (..., J, M) with a control variate: minus c (the proxy's steps - the proxy's mean
    over the pool), with one coefficient c for the mean of all models and one for the differences from it.

    Those of a step are made from earlier labels alone, and shrunk by m / (m + 10), as in
    ``estimates.prediction_powered``. ``proxy_mean`` is (J,).

    >>> steps = np.array([[1.0, 0.0, 1.0, 0.0]])
    >>> controlled(steps, steps, np.array([0.5]), np.ones(4)).round(3)  # the proxy knows everything
    array([[1.   , 0.   , 0.917, 0.103]])
    """
    off = proxy_steps - proxy_mean[..., None]
    out = np.zeros_like(steps)
    number = np.arange(1, steps.shape[-1] + 1.0)
    weights = np.where(np.isfinite(weights), weights, 0.0)  # nothing comes after the last image of a pool
    total = np.cumsum(weights)
    for level in (True, False):
        own = _part(steps, level)
        said = _part(off, level)
        mean = np.cumsum(weights * own, -1) / np.maximum(total, 1e-300)
        both = np.cumsum(weights * (own * said).sum(-2), -1)
        both -= (mean * np.cumsum(weights * said, -1)).sum(-2)
        spread = np.cumsum(weights * (said**2).sum(-2), -1)
        share = np.divide(both, spread, out=np.zeros_like(both), where=spread > 1e-12)
        share *= number / (number + TRUST)
        before = np.concatenate([np.zeros_like(share[..., :1]), share[..., :-1]], -1)
        out += own - before[..., None, :] * said
    return out


def _part(values: np.ndarray, level: bool) -> np.ndarray:
    mean = np.broadcast_to(values.mean(-2, keepdims=True), values.shape)
    return mean if level else values - mean


def running(
    steps: np.ndarray, values: np.ndarray, probability: np.ndarray, pool: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the estimates (..., P, M) after each label of a pool's means, from single ``steps`` (..., P, M),
    the variances that the labels show, and on how many images the ``values`` (..., P, M) differ from 0, of
    equal weight.

    ``values`` are what was labelled, here differences of two losses. Of uneven draws the larger of two
    variances counts: one as if all steps varied alike, and one that does not assume it. What no label shows
    is not taken for absent, as in ``estimates.unseen``, and no more is that the few images which are left may
    hold one that differs. Draws that prefer images for some models hardly look at those on which others
    differ: a difference on an image that they prefer therefore counts as a part of one, by its weight beside
    that of a usual image of the pool, as which an unseen one weighs. Without an image left to draw, the
    variance is 0.

    >>> x = np.array([[1.0, 0.0, 0.0, 1.0]])
    >>> q = np.array([1 / 4, 1 / 3, 1 / 2, 1.0])
    >>> mean, variance, unlike = running(single_steps(x, q, 4), x, q, 4)
    >>> mean.round(3), variance.round(3), unlike
    (array([[1.   , 0.5  , 0.333, 0.5  ]]), array([[  nan, 0.219, 0.138, 0.   ]]), array([[1., 1., 1., 2.]]))
    """
    number = np.arange(1, steps.shape[-1] + 1.0)
    weights = step_weights(len(number), pool)
    last = ~np.isfinite(weights)
    weights = np.where(last, 0.0, weights)
    total = np.cumsum(weights)
    mean = np.cumsum(weights * steps, -1) / np.maximum(total, 1e-300)
    square = np.cumsum(weights * steps**2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.maximum(square - total * mean**2, 0.0)
        variance = off / (number - 1) / total
        left = pool - number + 1.0
        if not np.allclose(probability * left, 1.0):
            heavy = weights**2
            off = np.cumsum(heavy * steps**2, -1) - 2 * mean * np.cumsum(heavy * steps, -1)
            off += mean**2 * np.cumsum(heavy, -1)
            variance = np.maximum(variance, off / total**2 * number / (number - 1))
    weight = (1 / (left * probability))[..., None, :]
    size = np.abs(values) * weight
    squares = np.cumsum(size**2, -1)
    usual = np.maximum(np.cumsum(weight**2, -1) / np.cumsum(weight, -1), 1.0)  # of an image of the pool
    scale = np.maximum(squares, usual * np.cumsum(values**2 * weight, -1))
    unlike = np.divide(np.cumsum(size, -1) ** 2, scale, out=np.zeros_like(scale), where=scale > 0)
    rest = (left - 1) / number
    variance = variance + UNSEEN / total**2 * (usual**2 + squares) / (1 + unlike) ** 3
    variance = variance + UNSEEN / pool**2 * (usual**2 + rest * squares) / (1 + rest * unlike) ** 3
    if last.any():
        mean[..., -1] = values.mean(-1)
        variance[..., -1] = 0.0
    return mean, variance, unlike


def mixture(mean: np.ndarray, variance: np.ndarray, worth: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Return the logarithm of the evidence that means are above 0, from their variances and the number of
    labels, all of equal weight, that they are ``worth``; ``freedom`` is that of the variance.

    It is the likelihood ratio of a normal mean of a positive size, which is itself half-normal, against 0;
    none where a variance is unknown, or nothing is left to draw.

    >>> mixture(np.array([0.2, -0.2]), np.array([0.002, 0.002]), np.array(100.0), np.array(99.0)).round(2)
    array([ 7.73, -2.88])
    """
    from scipy.special import log_ndtr

    known = variance > 0
    z = as_normal(mean / np.sqrt(np.where(known, variance, 1.0)), freedom)
    share = worth * SPREAD / (1 + worth * SPREAD)
    out = np.log(2) - 0.5 * np.log1p(worth * SPREAD) + z**2 * share / 2 + log_ndtr(z * np.sqrt(share))
    return np.where(known, out, -np.inf)


def as_normal(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Return the normal quantiles of the probabilities that Student's t has with so many degrees of freedom
    (Wallace 1959, off by less than .001 from 49 on).

    >>> as_normal(np.array([-2.0096, 3.5004]), np.array(49.0)).round(3)  # t at .975 and at .9995
    array([-1.96,  3.29])
    """
    return np.sign(t) * (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t**2 / freedom))


def bets(steps: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the logarithm (..., M) of the wealth of bets that means are above 0, on ``steps`` (..., M) which
    are never below ``least`` (..., M), which are below 0.

    >>> bets(np.array([1.0, 1.0, 1.0]), np.full(3, -1.0)).round(3)  # the mean of (1 + bet)^m
    array([0.405, 0.846, 1.318])
    """
    share = steps / -np.minimum(least, -1e-300)
    wealth = np.cumsum(np.log1p(np.maximum(BETS[:, None] * share[..., None, :], -1 + 1e-12)), -1)
    return np.logaddexp.reduce(wealth, -2) - np.log(len(BETS))


def most_evidence(apart: np.ndarray, unlike: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return the evidence (..., P, M) that differences ``apart`` (..., P, M) can carry at most: no bet on
    them, which the largest difference that any two models have shown could have lost, has won more.

    Means of few or of small differences are not normal: of two models that differ on ten images, one wins all
    of them once in 2^10, and one that is a little better on fifty images may fail on the next. ``unlike`` is
    as in ``running``, ``widest`` a difference to expect even if no label shows it, and ``rest`` (M,) the
    number of images left for each labelled one.

    >>> apart = np.array([[0.1, 0.1, 0.1], [1.0, 0.0, 0.0]])
    >>> most_evidence(apart, np.full((2, 3), 9.0), np.full(3, 9.0)).round(2)[0]  # m log(1 + .1)
    array([0.1 , 0.19, 0.29])
    """
    size = np.abs(apart)
    far = np.maximum(np.maximum.accumulate(size.max(-2, keepdims=True), -1), 1e-12)
    # log(1 + x) is x - .307 x^2 within .02
    won = np.cumsum(size, -1) / far - (1 - np.log(2)) * np.cumsum(size**2, -1) / far**2
    return np.minimum(unlike * np.log(2), won) * np.minimum(rest, 1.0)


def evidence(
    losses: np.ndarray,
    probability: np.ndarray,
    pool: int,
    proxy: np.ndarray | None = None,
    proxy_mean: np.ndarray | None = None,
) -> np.ndarray:
    """Return the evidence (2, ..., P, M) after each label that one model of a pair is better than the other
    on the pool; it never falls.

    ``proxy`` (..., J, M) are the losses that were expected of the drawn images before any label, and
    ``proxy_mean`` (J,) their means over the pool. Infinite where the labels alone decide.

    >>> found = evidence(np.array([[0.0] * 9, [1.0] * 9]), 1 / (12 - np.arange(9)), 12)
    >>> found[0].round(1)  # of 12 images, 7 decide
    array([[-1.2, -0.7, -0. ,  0.8,  1.9,  3.7,  inf,  inf,  inf]])
    """
    first, second = pairs(losses.shape[-2])
    number = losses.shape[-1]
    probability = np.broadcast_to(probability, (*losses.shape[:-2], number))
    count = np.arange(1, number + 1.0)
    left = pool - count
    steps = single_steps(losses, probability, pool)
    apart = losses[..., second, :] - losses[..., first, :]
    bare = steps[..., second, :] - steps[..., first, :]
    if proxy is not None and proxy_mean is not None:
        said = single_steps(proxy, probability, pool)
        steps = controlled(steps, said, proxy_mean, step_weights(number, pool))
    mean, variance, unlike = running(steps[..., second, :] - steps[..., first, :], apart, probability, pool)
    worth = pool * count / np.maximum(left, 1e-9)
    out = np.stack([mixture(sign * mean, variance, worth, np.maximum(count - 1, 1)) for sign in (1, -1)])
    out = np.minimum(out, most_evidence(apart, unlike, left / count))
    out[..., count < START] = -np.inf
    seen = np.cumsum(apart, -1)
    if np.allclose(probability * (left + 1), 1.0):
        early = slice(0, START - 1)
        floor = -(left + 1)[early]
        for side, sign in zip(out, (1, -1), strict=True):
            least = (floor + sign * (seen - apart)[..., early]) / pool
            wealth = bets(sign * bare[..., early], least)
            wealth = np.concatenate([wealth, np.repeat(wealth[..., -1:], number - wealth.shape[-1], -1)], -1)
            side[:] = np.logaddexp(np.log(BETTING) + wealth, np.log(1 - BETTING) + side)
    for side, sign in zip(out, (1, -1), strict=True):
        side[np.round(sign * seen - left, 9) > 0] = np.inf
    return np.maximum.accumulate(out, -1)


def log_inverse(models: int, share: float = 1.0, level: float = LEVEL) -> float:
    """Return the evidence over every other one with which one of J ``models`` is the best: the logarithm of J
    / alpha; ``share`` is the part of alpha that what the evidence is made of may take.

    >>> round(log_inverse(8), 2)
    5.08
    """
    return float(np.log(models / ((1 - level) * share)))


def better_of_all(found: np.ndarray, models: int, level: float = LEVEL) -> np.ndarray:
    """Return (J, J) whether the row model is better than the column model, from the evidence ``found`` (2, P)
    so far.

    At any look all differences that Holm's procedure finds are right with probability ``level``, and so is
    the model called the best. That needs less evidence: who is wrongly the best beats each other
    model, and so one that is truly best, which can happen in J ways, not J (J - 1).

    >>> found = np.array([[4.5, 4.5, 0.0], [-9.0, -9.0, 0.0]])
    >>> better_of_all(found, 3).astype(int)  # as the best, although Holm asks for log(6 / .05) = 4.8
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """
    chance = p_values(found, models)
    out = better(chance, level)
    limit = np.exp(-log_inverse(models, level=level))
    for model in range(models):
        others = np.arange(models) != model
        if (chance[model, others] <= limit).all():
            out[model, others] = True
    return out


def p_values(found: np.ndarray, models: int) -> np.ndarray:
    """Return (J, J) p-values that the row model is better, which hold at any look, from evidence (2, P).

    >>> p_values(np.array([[np.log(20)], [-3.0]]), 2)
    array([[ nan, 0.05],
           [1.  ,  nan]])
    """
    first, second = pairs(models)
    out = np.full((models, models), np.nan)
    out[first, second] = np.exp(-np.maximum(found[0], 0.0))
    out[second, first] = np.exp(-np.maximum(found[1], 0.0))
    return out


def half_widths(worth: np.ndarray, freedom: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return how many standard errors half an interval has that may be looked at any time from `START` labels
    on and is wrong with probability ``alpha``, from the number of labels of equal weight behind it.

    >>> half_widths(np.array([100.0, 1000.0]), np.array([99.0, 999.0]), np.full(2, 0.05)).round(2)
    array([3.12, 3.28])
    """
    share = worth * SPREAD
    with np.errstate(invalid="ignore"):
        z = np.sqrt((1 + 1 / share) * (2 * np.log(1 / alpha) + np.log1p(share)))
    return np.sqrt(freedom * np.expm1((z * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom))


def bet_bounds(
    steps: np.ndarray, seen: np.ndarray, pool: float, least: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """Return intervals (K, 2) of means that bets leave open, from single ``steps`` (K, M) of uniform draws;
    each is wrong at any look with probability ``alpha`` (K,).

    ``seen`` (K, M) are the sums of the values, which lie between ``least`` (K,) and 1. For independent draws
    ``pool`` is infinite, and steps are the values.

    >>> right = np.ones((1, 40))
    >>> bet_bounds(right, right.cumsum(1), np.inf, np.zeros(1), np.array([0.05])).round(3)
    array([[0.874, 1.   ]])
    """
    number = steps.shape[1]
    share = 1.0 if np.isinf(pool) else 1 - np.arange(number) / pool
    before = 0.0 if np.isinf(pool) else (np.concatenate([np.zeros_like(seen[:, :1]), seen[:, :-1]], 1)) / pool
    ends = []
    for sign, low in ((1, least), (-1, np.full(len(least), -1.0))):
        floor = low[:, None] * share + sign * before  # no step lies below
        rest = 0.0 if np.isinf(pool) else 1 - number / pool
        bound = low.copy() if np.isinf(pool) else low * rest + sign * seen[:, -1] / pool
        other = np.where(sign > 0, 1.0, -least) * np.ones(len(least))
        for _ in range(40):
            middle = (bound + other) / 2
            wealth = bets(sign * steps - middle[:, None], floor - middle[:, None]).max(-1)
            out = wealth >= np.log(2 / alpha)
            bound = np.where(out, middle, bound)
            other = np.where(out, other, middle)
        ends.append(sign * bound)
    return np.stack(ends, 1)


def worth_to_tell(distance: np.ndarray, spread: np.ndarray, needed: float) -> np.ndarray:
    """Return how many labels, all of equal weight, are expected to give the evidence ``needed`` that a
    ``distance`` is above 0, where single labels vary by ``spread`` (a variance).

    >>> worth_to_tell(np.array([0.1, 0.0]), np.array([0.2, 0.2]), 5.0).round()
    array([247.,  inf])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(distance > 0, spread / np.maximum(distance, 1e-300) ** 2, np.inf)
        out = np.full(np.shape(scale), float(START))
        for _ in range(60):
            share = out * SPREAD
            square = 2 * (1 + 1 / share) * (needed - np.log(2) + 0.5 * np.log1p(share))
            out = np.maximum(square * scale, 1.0)
    return out
