"""How many labels a question needs (which model is best, the order of all, the score of each), as expected
from the predictions and the labels so far.

Conventions: ``worlds`` (W, J) are possible mean losses, small = good, of which only differences count. The
number of labels is computed for each world; the result is the median and the range that covers 90 % of the
worlds. A best model or an order is *right* if the chances that any of the comparisons behind it comes out
wrong sum to at most 5 %; it is *proved* if each of them passes a test at the level .05 / (J (J - 1)),
Bonferroni's for all pairs and the first step of Holm's, with a power of 80 %. *Anytime* is when people who
look after every label are expected to stop (`drawn.anytime`). Labelling the whole pool answers every question
about it.
Source: Rubin 1981 (weights of worlds); Evensen 2003 (the update by perturbed observations); the rest is
arithmetic of the normal distribution, and ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultscape.errors import RankingError
from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.drawn import anytime
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.planning.label_variances import Curve, variance
from faultscape.ties import EQUAL

WORLDS = 400
POWER = 0.8
# of worlds; such ranges covered what was really needed in four fifths of cases, docs/benchmarks/plan.md
RANGE = (0.05, 0.95)
# fitted, like ALONE, to groups of models of five real sets, docs/benchmarks/plan.md
BELIEVED = {"classification": 0.5, "segmentation": 0.25}
ALONE = 3.0  # standard deviation of a model's own offset, in units of the spread of the worlds
PREDICTABLE = 10  # a range that spans more than this factor predicts nothing
TRUST = 10  # number of labels at which a measured variance gets half the weight
QUESTIONS = ("best", "order", "best_proved", "order_proved", "best_anytime", "order_anytime")


def worlds(
    agreement: np.ndarray, believed: float = BELIEVED["classification"], number: int = WORLDS, seed: int = 0
) -> np.ndarray:
    """Return (W, J) mean losses minus the mean of all models, if the models' mean ``agreement`` (J, J) with
    the truth were a mixture of their agreements with each other.

    The weights of the mixture are uniform over all mixtures (Rubin 1981). In its own place, a model is better
    than its nearest rival by the share ``believed`` of what is left. RankingError for fewer than two models,
    or a share outside (0, 1].

    >>> found = worlds(np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> bool(np.abs(found[:, 0] - found[:, 1]).max() <= 0.1)
    True
    """
    agreement = np.array(agreement, dtype=float)
    if agreement.ndim != 2 or agreement.shape[0] != agreement.shape[1] or len(agreement) < 2:
        raise RankingError(
            f"mean agreement must be models by models, of two or more; got shape {agreement.shape}"
        )
    if not 0 < believed <= 1:
        raise RankingError(f"a model is believed by a share above 0, at most 1; got {believed}")
    places = range(len(agreement))
    agreement[places, places] = -np.inf
    nearest = agreement.max(0)
    agreement[places, places] = nearest + believed * (1 - nearest)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(agreement)), number)
    return _centred(1 - weights @ agreement)


def updated(
    before: np.ndarray, loss: np.ndarray, pair_variance: np.ndarray, seed: int = 0, alone: float = ALONE
) -> np.ndarray:
    """Return the worlds after labels measured the mean ``loss`` (J,), whose differences have the variances
    ``pair_variance`` (P,).

    Each world moves by K (measured + noise - world), K = S (S + C)^-1, S the covariance of the worlds and C
    that of the measurement (Evensen 2003). Before that, each model gets a random offset of its own, ``alone``
    times as large as the spread of the worlds: rivals that look alike to the others may still differ. Without
    measurement error all worlds become what was measured. RankingError for shapes that do not fit.

    >>> before = np.array([[-0.1, 0.1], [0.1, -0.1], [0.0, 0.0]])
    >>> updated(before, np.array([0.3, 0.5]), np.zeros(1)).round(6).tolist()
    [[-0.1, 0.1], [-0.1, 0.1], [-0.1, 0.1]]
    """
    before = np.asarray(before, dtype=float)
    loss = np.asarray(loss, dtype=float)
    j = before.shape[1]
    if loss.shape != (j,) or np.shape(pair_variance) != (j * (j - 1) // 2,):
        raise RankingError(
            f"worlds of {j} models need {j} losses and {j * (j - 1) // 2} variances; got {loss.shape} and"
            f" {np.shape(pair_variance)}"
        )
    apart = np.zeros((j, j))
    apart[np.triu_indices(j, 1)] = pair_variance
    middle = np.eye(j) - 1 / j
    # variances of differences determine the covariance
    values, vectors = np.linalg.eigh(-0.5 * middle @ (apart + apart.T) @ middle)
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(seed)
    before = before + alone * _centred(rng.standard_normal(before.shape)) * np.sqrt(before.var(0).mean())
    spread = np.cov(before.T)
    gain = spread @ np.linalg.pinv(spread + root @ root.T, rcond=1e-10, hermitian=True)
    noise = rng.standard_normal(before.shape) @ root.T
    return before + (_centred(loss) + noise - before) @ gain.T


def learnt(
    before: np.ndarray,
    drawn_by: Curve,
    measured: Estimates,
    labels: int,
    share: float,
    planned: Curve,
    seed: int = 0,
) -> tuple[Curve, np.ndarray]:
    """Return the ``planned`` curve and the worlds ``before``, updated by ``labels`` that a selector with the
    curve ``drawn_by`` drew.

    ``measured`` are LURE's means over its pool, which is the ``share`` of the corpus. Variances are
    multiplied by (10 + M ratio) / (10 + M), with one ratio of measured to expected for all pairs, since
    models that seldom differ show no variance in few labels, and one ratio for each model. The models' own
    offsets are weighted by M / (10 + M), so that the first labels do not suddenly change the answer.
    RankingError for estimates of other models.

    >>> flat = Curve(1000, np.array([1.0, 980]), np.full((2, 1), 0.2), np.full((2, 2), 0.1))
    >>> found = Estimates(
    ...     np.array([0.1, 0.4]), 0.018 * np.eye(2), 9
    ... )  # ten labels, a difference of variance .036 where .0198 was expected
    >>> learnt(np.array([[-0.1, 0.1], [0.1, -0.1]]), flat, found, 10, 1.0, flat)[0].pairs[0].round(3)
    array([0.282])
    """
    j = before.shape[1]
    first, second = np.triu_indices(j, 1)
    if measured.loss.shape != (j,):
        raise RankingError(f"worlds of {j} models need estimates of as many; got {measured.loss.shape}")
    alone = share**2 * np.diagonal(measured.covariance)
    apart = alone[first] + alone[second] - 2 * share**2 * measured.covariance[first, second]
    expected = variance(drawn_by, np.array(labels), np.arange(len(first)))
    ratio = _believed(apart.sum(), expected.sum(), labels)
    own = variance(drawn_by, np.array(labels), np.arange(j), of="models")
    models = np.where(np.isnan(own), 1.0, _believed(alone, own, labels))
    curve = Curve(planned.pool, planned.knots, planned.pairs * ratio, planned.models * models)
    return curve, updated(
        before, share * measured.loss, expected * ratio, seed, ALONE * labels / (TRUST + labels)
    )


def _believed(measured: np.ndarray, expected: np.ndarray, labels: int) -> np.ndarray:
    """Return the ratio of measured to expected, shrunk towards 1 by ten labels."""
    measured = np.asarray(measured, dtype=float)
    expected = np.asarray(expected, dtype=float)
    ratio = np.divide(
        measured, expected, out=np.ones(np.shape(measured)), where=(expected > 0) & np.isfinite(measured)
    )
    return (TRUST + labels * ratio) / (TRUST + labels)


def needed(question: str, losses: np.ndarray, found: Curve) -> np.ndarray:
    """Return (W,) the smallest number of labels that answers one of the ``QUESTIONS`` in each world; NaN if
    two models are identical throughout.

    >>> flat = Curve(10_000, np.array([1.0, 9800]), np.full((2, 1), 0.2), np.zeros((2, 2)))
    >>> needed("best", np.array([[0.10, 0.12]]), flat)  # 1 / (1 / 10000 + (.02 / 1.645)^2 / .2)
    array([1192.])
    """
    from scipy.special import ndtr

    if question not in QUESTIONS:
        raise RankingError(f"question {question!r} is not known; it is one of {', '.join(QUESTIONS)}")
    losses = np.asarray(losses, dtype=float)
    w, j = losses.shape
    order = np.argsort(losses, axis=1, kind="stable")
    better = np.repeat(order[:, :1], j - 1, 1) if question.startswith("best") else order[:, :-1]
    worse = order[:, 1:]
    rows = np.arange(w)[:, None]
    gap = losses[rows, worse] - losses[rows, better]
    place = np.zeros((j, j), np.intp)
    place[np.triu_indices(j, 1)] = np.arange(j * (j - 1) // 2)
    pairs = (place + place.T)[better, worse]
    alike = (gap < EQUAL) & (found.pairs[0, pairs] <= 0)
    limit = _proof(j)
    looks = anytime.log_inverse(j if question.startswith("best") else j * (j - 1))

    def answered(numbers: np.ndarray) -> np.ndarray:
        error = np.sqrt(variance(found, numbers, pairs))
        if question.endswith("anytime"):
            number = numbers[:, None].astype(float)
            worth = found.pool * number / np.maximum(found.pool - number, 1e-9)
            told = anytime.mixture(gap, error**2, worth, np.maximum(number - 1, 1)) >= looks
            told &= number >= anytime.START
            return np.asarray((told | (error <= 0)).all(1))
        distance = np.divide(gap, error, out=np.full(gap.shape, np.inf), where=error > 0)
        if question.endswith("proved"):
            return np.asarray((distance >= limit).all(1))
        return np.asarray(ndtr(-distance).sum(1) <= 1 - LEVEL)

    return np.where(alike.any(1), np.nan, _smallest(answered, w, found.pool))


def pair_needed(losses: np.ndarray, found: Curve) -> np.ndarray:
    """Return (P, W) the smallest number of labels that tells the models of each of P = J (J - 1) / 2 pairs
    apart in each world, as *proved* does; NaN if they are identical throughout.

    >>> flat = Curve(10_000, np.array([1.0, 9800]), np.full((2, 1), 0.2), np.zeros((2, 2)))
    >>> pair_needed(np.array([[0.10, 0.12]]), flat)
    array([[2819.]])
    """
    losses = np.asarray(losses, dtype=float)
    w, j = losses.shape
    limit = _proof(j)
    first, second = np.triu_indices(j, 1)
    out = np.full((len(first), w), np.nan)
    for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        gap = np.abs(losses[:, a] - losses[:, b])
        if found.pairs[0, k] <= 0 and (gap < EQUAL).any():
            continue
        pair = np.full((w, 1), k)

        def answered(numbers: np.ndarray, gap: np.ndarray = gap, pair: np.ndarray = pair) -> np.ndarray:
            error = np.sqrt(variance(found, numbers, pair)[:, 0])
            return np.asarray(gap >= limit * error)

        out[k] = _smallest(answered, w, found.pool)
    return out


def apart_needed(distance: float, found: Curve) -> float:
    """Return the smallest number of labels that tells two models apart which differ by ``distance``, as
    *proved* does, if their difference varies as that of the median pair.

    >>> flat = Curve(10_000, np.array([1.0, 9800]), np.full((2, 1), 0.2), np.zeros((2, 2)))
    >>> apart_needed(0.02, flat)
    2819.0
    """
    limit = _proof(found.models.shape[1])
    pairs = np.arange(found.pairs.shape[1])

    def answered(numbers: np.ndarray) -> np.ndarray:
        return limit * np.sqrt(np.median(variance(found, numbers, pairs), axis=-1)) <= distance

    return float(_smallest(answered, 1, found.pool)[0])


def limit_of_all(models: int) -> float:
    """Return how many standard errors half the interval of a difference has, for all pairs at once.

    >>> round(limit_of_all(2), 2), round(limit_of_all(10), 2)
    (1.96, 3.26)
    """
    from scipy.special import ndtri

    return float(ndtri(1 - (1 - LEVEL) / (models * (models - 1))))


def _proof(models: int) -> float:
    """Return how many standard errors a difference must have to pass the test of one pair among all, with a
    power of 80 %.
    """
    from scipy.special import ndtri

    return limit_of_all(models) + float(ndtri(POWER))


def scores_needed(found: Curve, within: float = 0.01) -> float:
    """Return the smallest number of labels that estimates the score of every model within ``within``, each
    with 95 % confidence; NaN if no draws can.

    >>> flat = Curve(10_000, np.array([1.0, 9800]), np.zeros((2, 1)), np.full((2, 2), 0.09))
    >>> scores_needed(flat)  # 1 / (1 / 10000 + (.01 / 1.96)^2 / .09)
    2570.0
    """
    from scipy.special import ndtri

    if not within > 0:
        raise RankingError(f"a score can be asked for within more than 0; got {within}")
    if np.isnan(found.models).any():
        return float("nan")
    models = np.arange(found.models.shape[1])[None]
    limit = (within / ndtri((1 + LEVEL) / 2)) ** 2
    return float(
        _smallest(lambda n: variance(found, n, models, of="models").max(1) <= limit, 1, found.pool)[0]
    )


def _smallest(answered: Callable[[np.ndarray], np.ndarray], count: int, most: int) -> np.ndarray:
    """Return (W,) the smallest whole numbers from 2 to ``most`` that answer, by bisection; labelling the
    whole pool always does.
    """
    low = np.full(count, min(1, most))
    high = np.full(count, most)
    while (high - low > 1).any():
        middle = (low + high) // 2
        yes = answered(middle)
        high = np.where(yes, middle, high)
        low = np.where(yes, low, middle)
    return high.astype(float)


def _centred(losses: np.ndarray) -> np.ndarray:
    return losses - losses.mean(-1, keepdims=True)
