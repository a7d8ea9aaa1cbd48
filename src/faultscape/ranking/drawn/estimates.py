"""Scores of all models on the whole corpus from a few drawn labels, whatever the draws preferred, with
intervals: LURE is unbiased, the others approximately so.

Conventions: ``losses`` (J, M) belong to the drawn images in the order drawn, small = good (a score is 1 -
loss); ``probability`` (M,) is that of each step among the images left (``selection.draws``), N the number of
images in the pool. All statements are about the pool. If a selector draws only images on which models differ
(``disputed`` for classes), losses are equal everywhere else: a difference between two models on the corpus is
their difference on the pool times the pool's share, and an absolute score needs labels of the rest as well
(``combined``). A NaN loss is refused: a mean over whatever is known is not a mean over the pool.

``pool`` is N. ``number`` is how many images were drawn. ``parts`` are the estimates of each part; ``shares``
are the parts' shares of the corpus. ``power`` is the exponent applied to the size of each difference, with
its sign kept. ``proxy`` is the loss expected from the models' predictions, for every image. ``span`` is the
range of a loss.

Source: Farquhar et al. 2021 (LURE); Kossen et al. 2021; Angelopoulos et al. 2023 (prediction-powered
inference, PPI++); the scale of the variance, margins, and one coefficient for the level and one for the
differences of all models are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays
from faultscape.ties import equal_to_zero

TRUST = 10  # number of labels at which the coefficient gets half its weight
PRIOR, PRIOR_ACCURACY = 8, 0.75  # prior labels in every model's vote, and their accuracy
LEAST_VOTE = 1e-3
SHARES = (0.0, 1.0)  # the range of a loss by default
UNSEEN = 3  # differences on one label each that may have gone unseen


@dataclass(frozen=True, eq=False)
class Estimates:
    """Mean loss of each model on the pool (J,), its covariance (J, J), degrees of freedom, and the matrix
    ``control`` (J, J) that the proxy was multiplied by (`prediction_powered`).

    The other fields cover what few errors cannot show. The variance of a share p of errors is ``unit`` p (1 -
    p) as far as the draws alone determine it, and ``shift`` (J,) is what the control variate adds by itself.
    ``unseen`` (J, J) is a covariance of differences that no label shows. The draws limit losses between 0 and
    1 to means within ``possible`` (J, 2). The weights make the labels worth ``effective`` equally weighted
    ones (Kish). For right-or-wrong answers, ``mirrored`` holds the estimates of 1 - loss: weights do not sum
    to one, so a model that is always wrong is estimated exactly only from that side.
    """

    loss: np.ndarray
    covariance: np.ndarray
    freedom: int
    control: np.ndarray | float = 0.0
    unit: float = 0.0
    shift: np.ndarray | float = 0.0
    unseen: np.ndarray | float = 0.0
    possible: np.ndarray | None = None
    parts: tuple[tuple[Estimates, float], ...] = ()  # with their shares, if this was ``combined``
    effective: float = np.inf
    mirrored: Estimates | None = None
    trust: float = 0.0  # what choices between two models were multiplied by (`choice_control`)
    gain: float = 1.0  # and how many times as many labels alone are worth as much


def lure_weights(probability: np.ndarray, pool: int) -> np.ndarray:
    """Return (M,) v_m = 1 + (N - M) / (N - m) (1 / ((N - m + 1) q_m) - 1), Farquhar et al. eq. 6; ones for
    uniform draws.

    RankingError for no draw, more draws than images, or a probability outside (0, 1].

    >>> lure_weights(np.array([1 / 2, 1 / 3]), pool=4).round(6)
    array([0.666667, 1.      ])
    """
    q = np.asarray(probability, dtype=float)
    number = len(q)
    if not 0 < number <= pool:
        raise RankingError(
            f"an estimate needs between 1 and {pool} draws, the images of the pool; got {number}"
        )
    if not ((q > 0) & (q <= 1)).all():
        raise RankingError(f"probabilities of draws must lie above 0, at most 1; got {q.min()} to {q.max()}")
    m = np.arange(1, number + 1)
    share = np.divide(pool - number, pool - m, out=np.ones(number), where=pool > m)
    return 1 + share * (1 / ((pool - m + 1) * q) - 1)


def uniform_steps(number: int, pool: int) -> np.ndarray:
    """Return (M,) the probabilities 1 / (N - m + 1) of uniform draws, under which all weights are one.

    With them ``prediction_powered`` re-uses labels of selectors without probabilities, or of several
    selectors. The result is no longer unbiased, but the control variate corrects the bias of the choice of
    images as far as the proxy predicts it.

    >>> uniform_steps(2, 4).round(6)
    array([0.25    , 0.333333])
    """
    return 1.0 / (pool - np.arange(number))


def lure(
    losses: np.ndarray, probability: np.ndarray, pool: int, span: tuple[float, float] = SHARES
) -> Estimates:
    """Return the unbiased mean losses sum_m v_m l_m / M (Farquhar et al. eq. 6) of losses (J, M), with their
    covariance.

    The estimate is sum_m c_m a_m, c_m = N (N - M) / (M (N - m) (N - m + 1)), of a_m = (l_m / q_m + the losses
    before) / N, each unbiased and uncorrelated with the others; the covariance is sum_m c_m^2 (a_m -
    mean)(a_m - mean)', scaled so that over the orders of uniform draws it is (1 - M / N) s^2 / M. It is NaN
    for one draw and 0 when all are drawn. ``span`` is the range of a loss. RankingError as ``lure_weights``,
    or for losses that are not finite.

    >>> found = lure(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1 / 4, 1 / 3]), pool=4)
    >>> found.loss, found.covariance.round(6).tolist()
    (array([0.5, 1. ]), [[0.125, 0.0], [0.0, 0.0]])
    """
    probability = checked_arrays.numbers(probability, "probability", RankingError, "M")
    values = _checked(losses, len(probability), "losses")
    found = _lure(values, probability, pool, span)
    return (
        replace(found, mirrored=_lure(1 - values, probability, pool, span))
        if _right_or_wrong(values, span)
        else found
    )


def _lure(values: np.ndarray, probability: np.ndarray, pool: int, span: tuple[float, float]) -> Estimates:
    weights = lure_weights(probability, pool)
    mean = (weights * values).mean(1)
    unit = _unit(weights, pool)
    seen = values.sum(1) / pool
    return Estimates(
        mean,
        covariance_of_means(values, probability, pool),
        len(weights) - 1,
        unit=unit,
        unseen=unseen(weights * values, unit),
        possible=seen[:, None] + (1 - len(weights) / pool) * np.array(span),
        effective=float(weights.sum() ** 2 / (weights**2).sum()),
    )


def prediction_powered(
    losses: np.ndarray,
    probability: np.ndarray,
    proxy: np.ndarray,
    drawn: np.ndarray,
    span: tuple[float, float] = SHARES,
) -> Estimates:
    """Return mean losses with a control variate: lure(l - C h) + C mean of h over the pool, for a proxy h (J,
    N) of the losses.

    ``drawn`` (M,) are the draws' places in the pool. C h has one coefficient for the mean of h over the
    models and one for each model's difference from it, since a proxy may know which images are hard and not
    which model is better. Each is PPI++'s, cov(v l, v h) / var(v h), over all models together and shrunk by
    M / (M + 10): a coefficient per model makes intervals of differences too short where models seldom differ.
    They are estimated from the same labels, as may be the votes behind the proxy, so the estimate is only
    approximately unbiased, unlike ``lure``. RankingError as ``lure``, or for a proxy of another shape.

    >>> proxy = np.array([[0.0, 1.0, 1.0, 1.0]])
    >>> found = prediction_powered(np.array([[0.0, 1.0]]), np.array([1 / 4, 1 / 3]), proxy, np.array([0, 1]))
    >>> (
    ...     found.loss.round(6),
    ...     found.control.round(6).tolist(),
    ... )  # right as the proxy is, two labels believe it by a sixth: 1/2 + 1/4 / 6
    (array([0.541667]), [[0.166667]])
    """
    probability = checked_arrays.numbers(probability, "probability", RankingError, "M")
    proxy = np.atleast_2d(checked_arrays.numbers(proxy, "proxy", RankingError).astype(float, copy=False))
    drawn = checked_arrays.whole_numbers(drawn, "drawn", RankingError, "M").astype(np.intp, copy=False)
    j = len(proxy)
    number = len(probability)
    if proxy.ndim > 2 or (drawn.size and not 0 <= drawn.min() <= drawn.max() < proxy.shape[1]):
        raise RankingError(
            f"drawn holds places of the proxy's images (J, N); got shape {proxy.shape} and the places"
            f" {drawn.tolist()[:8]}"
        )
    values = _checked(losses, number, "losses")
    if len(values) != j or drawn.shape != (number,) or not np.isfinite(proxy).all():
        raise RankingError(
            f"the proxy needs a finite number for each of {len(values)} models on every image of the pool,"
            f" and the place there of each of {number} draws; got shape {proxy.shape} and {len(drawn)} places"
        )
    found = _prediction_powered(values, probability, proxy, drawn, span)
    if not _right_or_wrong(values, span):
        return found
    return replace(found, mirrored=_prediction_powered(1 - values, probability, 1 - proxy, drawn, span))


def _right_or_wrong(values: np.ndarray, span: tuple[float, float]) -> bool:
    return span == SHARES and bool(np.isin(values, SHARES).all())


def _prediction_powered(
    values: np.ndarray,
    probability: np.ndarray,
    proxy: np.ndarray,
    drawn: np.ndarray,
    span: tuple[float, float],
) -> Estimates:
    j = len(values)
    number = len(drawn)
    seen = proxy[:, drawn]
    joint = _lure(np.concatenate([values, seen]), probability, proxy.shape[1], span).covariance
    alone = _lure(values, probability, proxy.shape[1], span)
    control = control_of(joint, seen, number)
    left = _lure(values - control @ seen, probability, proxy.shape[1], span)
    freedom = max(number - 2, 0)  # the level and each difference use one coefficient
    scale = (number - 1) / freedom if freedom else np.nan
    return Estimates(
        left.loss + control @ proxy.mean(1),
        left.covariance * scale,
        freedom,
        control,
        unit=left.unit,
        shift=np.diagonal(control @ joint[j:, j:] @ control.T),
        unseen=alone.unseen,
        possible=alone.possible,
        effective=alone.effective,
    )


def control_of(joint: np.ndarray, seen: np.ndarray, number: int) -> np.ndarray:
    """Return the matrix (J, J) that a proxy is multiplied by, from the covariance ``joint`` (2 J, 2 J) of the
    means of losses and proxy, the proxy ``seen`` (J, M), and the ``number`` of labels.

    >>> knows_the_level = np.array([[2.0, 2, 1, 1], [2, 2, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]])
    >>> control_of(knows_the_level, np.ones((2, 1)), number=10)
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    j = len(joint) // 2
    level = np.full((j, j), 1 / j)
    # rounding errors of a variance of zero: of the proxy, and of what all models share or differ in
    tiny = max(1e-24 * (seen * seen).sum(), 1e-12 * np.trace(joint[j:, j:]))
    control = np.zeros((j, j))
    for part in (level, np.eye(j) - level):
        both = (part * joint[:j, j:]).sum()
        spread = (part * joint[j:, j:]).sum()
        if spread > tiny:
            control += both / spread * number / (number + TRUST) * part
    return control


def margins(losses: np.ndarray, power: float = 1.0) -> np.ndarray:
    """Return (J, I) how much worse each model is than the others, the mean over k of sign(l_j - l_k)
    l_j - l_k|^power. With power 1, this is the loss minus the mean loss of all models.

    Power 0 counts who wins; powers between 0 and 1 damp large differences. Losses of 0 and 1 are the same
    under every power above 0; losses less than 1e-12 apart are equal, since a root would amplify rounding
    errors. What all models share cancels, and with it the part of the variance of ``lure`` that no ranking
    needs.

    >>> margins(np.array([[0.5, 1.0], [0.25, 1.0]]))
    array([[ 0.125,  0.   ],
           [-0.125,  0.   ]])
    """
    losses = checked_arrays.numbers(losses, "losses", RankingError, "J x I").astype(float, copy=False)
    if power == 1:
        return equal_to_zero(losses - losses.mean(0))
    out = np.empty_like(losses)
    for j, own in enumerate(losses):
        gap = equal_to_zero(own - losses)
        out[j] = (np.sign(gap) * np.abs(gap) ** power).mean(0)
    return out


def vote_weights(losses: np.ndarray) -> np.ndarray:
    """Return (J,) the weight of each model's vote for the true class: the log-odds of its accuracy so far,
    from losses (J, M) of 0 and 1, NaN where unknown.

    Eight prior labels with accuracy .75 are added, so that without labels all votes weigh the same; models at
    chance or below keep almost no weight.

    >>> vote_weights(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).round(2)
    array([1.39, 0.85, 0.41])
    """
    losses = np.atleast_2d(checked_arrays.numbers(losses, "losses", RankingError).astype(float, copy=False))
    right = (np.nansum(1 - losses, 1) + PRIOR * PRIOR_ACCURACY) / ((~np.isnan(losses)).sum(1) + PRIOR)
    return np.maximum(np.log(right / (1 - right)), LEAST_VOTE)


def combined(parts: Sequence[Estimates], shares: Sequence[float]) -> Estimates:
    """Return the estimates of a corpus from estimates of its parts, drawn separately, such as disputed and
    agreed images, and their shares of it.

    If no label of a part distinguishes two models, all models are assumed to agree on that part. RankingError
    for shares that do not sum to one.

    >>> part = Estimates(np.array([0.5]), np.array([[0.04]]), 9)
    >>> whole = combined([part, part], [0.25, 0.75])
    >>> whole.loss, whole.covariance.round(6)
    (array([0.5]), array([[0.025]]))
    """
    if len(parts) != len(shares) or abs(sum(shares) - 1) > 1e-9:
        raise RankingError(
            f"the parts of a corpus need shares that sum to 1; got {list(shares)} for {len(parts)} parts"
        )
    loss = sum(share * part.loss for part, share in zip(parts, shares, strict=True))
    covariance = sum(share**2 * part.covariance for part, share in zip(parts, shares, strict=True))
    found = tuple((part, share) for part, share in zip(parts, shares, strict=True) if share)
    return Estimates(
        np.asarray(loss),
        np.asarray(covariance),
        min(part.freedom for part, _ in found),
        unit=max(part.unit for part, _ in found),
        unseen=sum(share**2 * part.unseen for part, share in found if np.ptp(part.loss) > 0),
        parts=found,
        effective=(
            1 / uneven
            if (uneven := sum(share**2 / part.effective for part, share in found if part.unit))
            else np.inf
        ),
    )


def inside(found: Estimates) -> Estimates:
    """Return the estimates with each loss clipped to what is ``possible``: an unbiased estimate may fall
    outside.

    >>> found = lure(np.array([[1.0, 1.0]]), np.array([1 / 16, 1 / 2]), pool=4)
    >>> found.loss.round(3), inside(found).loss
    (array([1.833]), array([1.]))
    """
    return found if found.possible is None else replace(found, loss=np.clip(found.loss, *found.possible.T))


def _unit(weights: np.ndarray, pool: int) -> float:
    """Return the variance of a share p of errors in units of p (1 - p), from the weights (M,) of the labels:
    one over Kish's effective number of labels.

    The logarithm is the finite-population correction for few errors: none among M of N images is as likely as
    (1 - M / N) to the power of their number in the pool.
    """
    number = len(weights)
    return float(np.mean(weights**2) / (-pool * np.log1p(-number / pool))) if number < pool else 0.0


def unseen(values: np.ndarray, unit: float) -> np.ndarray:
    """Return the (J, J) covariance that adds 3 unit^2 / (1 + n)^2 to the variance of the difference of two
    rows of values (J, M).

    n is the effective number of columns on which they differ: a few large differences count as few. If all
    are small, (1 + their squares) / (1 + n) replaces the square of a difference of 1. If the result is not a
    covariance (a and b never differ, c differs from both), the nearest one above is used.
    """
    j = len(values)
    apart, square = np.zeros((2, j, j))
    for k, own in enumerate(values):
        gap = np.abs(equal_to_zero(own - values))
        square[k] = (gap**2).sum(1)
        apart[k] = np.divide(gap.sum(1) ** 2, square[k], out=np.zeros(j), where=square[k] > 0)
    middle = np.eye(j) - 1 / j
    more = UNSEEN * unit**2 * (1 + square) / (1 + apart) ** 3 * (1 - np.eye(j))
    sizes, vectors = np.linalg.eigh(-0.5 * middle @ more @ middle)
    return (vectors * np.maximum(sizes, 0)) @ vectors.T


def covariance_of_means(values: np.ndarray, probability: np.ndarray, pool: int) -> np.ndarray:
    """Return the (J, J) covariance of the means that `lure` gives values (J, M), from the estimates of the
    single steps.

    >>> covariance_of_means(np.array([[1.0, 0.0]]), uniform_steps(2, 4), 4).round(6).tolist()
    [[0.125]]
    """
    j, number = values.shape
    if number < 2 and number < pool:
        return np.full((j, j), np.nan)
    off = step_deviations(values, probability, pool)
    return off @ off.T


def step_deviations(values: np.ndarray, probability: np.ndarray, pool: int) -> np.ndarray:
    """Return (J, M) what each step of the draws adds to the errors of the means that `lure` gives values
    (J, M), uncorrelated with what the others add; zeros where all of the pool is drawn.

    >>> step_deviations(np.array([[1.0, 0.0]]), uniform_steps(2, 4), 4).round(3)
    array([[ 0.25, -0.25]])
    """
    number = values.shape[1]
    if number == pool:
        return np.zeros(values.shape)
    mean = (lure_weights(probability, pool) * values).mean(1, keepdims=True)
    m = np.arange(1, number + 1)
    share = pool * (pool - number) / (number * (pool - m) * (pool - m + 1.0))
    step = (values / probability + np.cumsum(values, 1) - values) / pool
    # the expected square of a step's deviation, in units of s^2, when M given values come in random order
    left = pool - m + 1.0
    square = (left**2 * (number - 1) + (m - 1) * (number - m + 1) - 2 * left * (m - 1)) / (number * pool**2)
    scale = (1 - number / pool) / number / (share**2 * square).sum()
    return np.sqrt(scale) * share * (step - mean)


def _checked(values: np.ndarray, number: int, what: str) -> np.ndarray:
    """Return (J, M) finite numbers; RankingError for anything else."""
    values = np.atleast_2d(checked_arrays.numbers(values, what, RankingError).astype(float, copy=False))
    if values.ndim > 2 or not len(values):
        raise RankingError(f"{what}: expected numbers, J x M; got shape {values.shape}")
    if values.shape[1] != number:
        raise RankingError(f"{what} need one column for each of {number} draws; got {values.shape[1]}")
    if unknown := int((~np.isfinite(values)).any(0).sum()):
        raise RankingError(
            f"{unknown} of {number} drawn images lack the loss of a model: an unbiased estimate needs every"
            " one; label them, or rank by re-use, which leaves unknown answers out"
        )
    return values
