"""What each selector prefers: one weight per image, from the predictions alone, in proportion to which images
are drawn.

Conventions: ``labels`` (J, I) are predicted classes; ``expected`` (J, I) is the expected loss of each model
if the ensemble of all models is taken as the truth; ``discrepancy`` (P, I) is how far each pair of models
differs, 0 = alike, in the order of ``numpy.triu_indices``. Weights (I,) are not negative; an image of weight
zero is never drawn and not in the pool that the draws represent. For segmentation a loss is 1 - concordance,
and so is a discrepancy. Images where no two models differ have equal losses: they do not affect a ranking,
and ``where`` leaves them out.

``probabilities`` (I, C) are the mean over the models. ``concordance`` (J, J, I) is that of each two models.
``temperature`` sharpens the draw: towards 0 only the top images are drawn. ``scores`` (I,) say how much each
image is wanted. ``images`` is their number I. ``floor`` is the share of the mean below which no weight falls.

Source: Kossen et al. 2021, eq. 7 and 8 (expected loss); Matsuura and Hara 2023 (VMA); Wang et al. 2020, eq. 2
and Yan et al. 2021, eq. 1 (MAD), sampled with a temperature by us.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.maps import checked_arrays
from faultscape.ties import equal_to_zero

FLOOR = 0.1
LEAST_TRUST = 0.1  # as a share of the heaviest vote, for a dispute to count in full


def expected_of_labels(labels: np.ndarray, trust: np.ndarray | None = None) -> np.ndarray:
    """Return (J, I) 1 - the share of all models, itself included, with the same prediction as the model: p(y
    | x) are the votes.

    ``trust`` (J,) weighs the votes, for example by each model's accuracy on the labels so far; equally by
    default.

    >>> expected_of_labels(np.array([[0, 1], [0, 2], [1, 1], [0, 1]]))
    array([[0.25, 0.25],
           [0.25, 0.75],
           [0.75, 0.25],
           [0.25, 0.25]])
    """
    labels = checked_arrays.numbers(labels, "labels", SelectionError, "J x I")
    if not len(labels):
        raise SelectionError(f"labels: have no models; their shape is {labels.shape}")
    share = (
        np.full(len(labels), 1 / len(labels))
        if trust is None
        else np.asarray(trust, dtype=float) / np.sum(trust)
    )
    return np.stack([share @ (own != labels) for own in labels])


def expected_of_probabilities(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (J, I) 1 - the ensemble's probability (I, C), the mean over models, of each model's label (J,
    I).

    >>> expected_of_probabilities(np.array([[0.75, 0.25]]), np.array([[0], [1]]))
    array([[0.25],
           [0.75]])
    """
    probabilities = checked_arrays.numbers(probabilities, "probabilities", SelectionError, "I x C").astype(
        float
    )
    labels = checked_arrays.whole_numbers(labels, "labels", SelectionError, "J x I")
    if labels.shape[1] != len(probabilities):
        raise SelectionError(
            f"probabilities (I, C) are of {len(probabilities)} images, labels (J, I) of {labels.shape[1]}"
        )
    if labels.size and not 0 <= labels.min() <= labels.max() < probabilities.shape[1]:
        raise SelectionError(
            f"labels go from {labels.min()} to {labels.max()}; probabilities have the classes 0 to"
            f" {probabilities.shape[1] - 1}"
        )
    return 1 - probabilities[np.arange(labels.shape[1]), labels]


def expected_of_concordances(concordance: np.ndarray, trust: np.ndarray | None = None) -> np.ndarray:
    """Return (J, I) the mean over the other models k of 1 - concordance[k, j] (J, J, I): each of the others
    in turn is taken as the truth.

    ``trust`` (J,) weighs the others, as in ``expected_of_labels``.

    NaN on the diagonal and for missing maps is ignored; SelectionError if a model has no other model to be
    compared with.

    >>> both = np.full((2, 2, 1), np.nan)
    >>> both[0, 1], both[1, 0] = 0.75, 0.5
    >>> expected_of_concordances(both)
    array([[0.5 ],
           [0.25]])
    """
    concordance = checked_arrays.numbers(concordance, "concordance", SelectionError, "J x J x I").astype(
        float
    )
    if len(concordance) != concordance.shape[1]:
        raise SelectionError(f"concordance: expected numbers, J x J x I; got shape {concordance.shape}")
    known = ~np.isnan(concordance)
    known[range(len(known)), range(len(known))] = False
    weight = np.ones(len(known)) if trust is None else np.asarray(trust, dtype=float)
    count = np.einsum("k,kji->ji", weight, known)
    if not count.all():
        raise SelectionError(
            f"{int((count == 0).any(0).sum())} images have a model that no other can be compared with"
        )
    return 1 - np.einsum("k,kji->ji", weight, np.where(known, concordance, 0.0)) / count


def uniform(images: int) -> np.ndarray:
    """Return equal weights (I,), the selector ``random``: every image may be drawn, whatever the predictions.

    >>> uniform(3)
    array([1., 1., 1.])
    """
    return np.ones(images)


def disputed(discrepancy: np.ndarray, *, graded: bool = True) -> np.ndarray:
    """Return the mean discrepancy over pairs (P, I), or without ``graded`` one where any two models differ
    and zero elsewhere.

    It is graded for segmentation (the mean pairwise 1 - concordance) and not for classes (random where models
    disagree).

    >>> pairs = np.array([[0.0, 1.0, 0.5], [0.0, 0.0, 0.5]])
    >>> disputed(pairs), disputed(pairs, graded=False)
    (array([0. , 0.5, 0.5]), array([0., 1., 1.]))
    """
    pairs = _pairs(discrepancy)
    return pairs.mean(0) if graded else (pairs > 0).any(0).astype(float)


def disputed_among_trusted(labels: np.ndarray, trust: np.ndarray, *, floor: float = FLOOR) -> np.ndarray:
    """Return one where two trusted models differ in their labels (J, I), the floor times the mean where only
    others do, zero where all agree.

    A model is trusted if its vote (``trust`` (J,)) weighs at least a tenth of the heaviest. If no two trusted
    models ever differ, every image on which any models do weighs one. Errors: OptionError for a floor outside
    [0, 1), SelectionError if no models differ.

    >>> disputed_among_trusted(np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1]]), np.array([1.0, 1.0, 0.001]))
    array([0.  , 0.05, 1.  ])
    """
    labels = np.asarray(labels)
    trust = np.asarray(trust, dtype=float)
    trusted = labels[trust >= LEAST_TRUST * trust.max()]
    return floored((trusted != trusted[0]).any(0).astype(float), floor, (labels != labels[0]).any(0))


def expected_loss(
    expected: np.ndarray, *, floor: float = FLOOR, where: np.ndarray | None = None
) -> np.ndarray:
    """Return the expected loss (J, I), mean over models, not below ``floor`` times its mean over the pool.

    For all models at once this is Kossen et al. eq. 8 for the mean of their losses; the floor is their
    safeguard against an ensemble that is confident and wrong. OptionError for a floor outside [0, 1).

    >>> expected_loss(np.array([[0.0, 0.5, 1.0], [0.0, 0.5, 0.4]])).round(3)
    array([0.04, 0.5 , 0.7 ])
    """
    return floored(_losses(expected).mean(0), floor, where)


def vma(expected: np.ndarray, *, floor: float = FLOOR, where: np.ndarray | None = None) -> np.ndarray:
    """Return sum over pairs of |expected loss of one - expected loss of the other| (Matsuura and Hara 2023),
    with the same floor.

    Without the floor an image that splits the models evenly could not be drawn, although they differ on it,
    and no estimate would be unbiased. OptionError for a floor outside [0, 1).

    >>> vma(np.array([[0.5, 0.25, 0.0], [0.5, 0.25, 0.0], [0.5, 0.75, 0.0]])).round(6)
    array([0.033333, 1.      , 0.033333])
    """
    expected = _losses(expected)
    j = len(expected)
    # sorted, the k-th largest of J is above J - k others and below k - 1
    return floored(np.einsum("j,ji->i", 2.0 * np.arange(j) - j + 1, np.sort(expected, 0)), floor, where)


def mad(discrepancy: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Return the mean over pairs (P, I) of each pair's own distribution d^(1 / temperature) / sum d^(1 /
    temperature).

    A pair is drawn uniformly, then an image in proportion to its discrepancy, sharpened: towards temperature
    0 the top images of each pair, as in MAD, but with a probability. Pairs that never differ are left out.
    The sum is the number of images. Errors: OptionError for a temperature not above 0, SelectionError if no
    pair differs.

    >>> mad(np.array([[0.0, 0.5, 0.5], [0.0, 0.2, 0.0]])), mad(np.array([[0.2, 0.4]]), temperature=0.5)
    (array([0.  , 2.25, 0.75]), array([0.4, 1.6]))
    """
    if not (np.isfinite(temperature) and temperature > 0):
        raise OptionError(f"the temperature must be a number above 0; got {temperature}")
    pairs = _pairs(discrepancy)
    most = pairs.max(1, keepdims=True)
    differing = most[:, 0] > 0
    if not differing.any():
        raise SelectionError("no two models differ on any image: no label could separate them")
    sharp = (pairs[differing] / most[differing]) ** (1 / temperature)
    return pairs.shape[1] * (sharp / sharp.sum(1, keepdims=True)).mean(0)


def entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy (I,) in nats of the ensemble's class distribution (I, C); it is used to take the top
    images, not to draw.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(6)
    array([0.      , 0.693147])
    """
    probabilities = checked_arrays.numbers(probabilities, "probabilities", SelectionError).astype(
        float, copy=False
    )
    if probabilities.ndim < 2:
        raise SelectionError(f"probabilities: expected numbers, I x C; got shape {probabilities.shape}")
    return -(probabilities * np.log(np.where(probabilities > 0, probabilities, 1.0))).sum(1) + 0.0


def entropy_of_labels(labels: np.ndarray) -> np.ndarray:
    """Return the entropy (I,) of the votes of labels (J, I): -sum over classes of p log p is -mean over
    models of log p(its label).

    >>> entropy_of_labels(np.array([[0, 0], [0, 1]])).round(6)
    array([0.      , 0.693147])
    """
    return -np.log1p(-expected_of_labels(labels)).mean(0) + 0.0


def top(scores: np.ndarray, number: int, *, taken: np.ndarray | tuple[int, ...] = ()) -> np.ndarray:
    """Return the ``number`` images (N,) of largest score (I,) that are not ``taken``, ties in the order of
    images (see ``faultscape.ties``).

    >>> top(np.array([0.1, 0.7, 0.7, 0.3]), 2, taken=(1,))
    array([2, 3])
    """
    order = np.argsort(
        -np.round(
            checked_arrays.numbers(scores, "scores", SelectionError, "I").astype(float, copy=False), 12
        ),
        kind="stable",
    )
    return order[~np.isin(order, taken)][:number]


def floored(weights: np.ndarray, floor: float = FLOOR, where: np.ndarray | None = None) -> np.ndarray:
    """Return weights (I,) not below the floor times their mean, zero outside ``where`` (I,), ones there if
    all are zero.

    Errors: OptionError for a floor outside [0, 1), SelectionError if ``where`` is empty.

    >>> floored(np.array([0.0, 1.0, 3.0, 1.0]), where=np.array([True, True, True, False]))
    array([0.13333333, 1.        , 3.        , 0.        ])
    """
    if not 0 <= floor < 1:
        raise OptionError(f"the floor must lie in [0, 1), a share of uniform drawing; got {floor}")
    inside = np.ones(len(weights), bool) if where is None else np.asarray(where, dtype=bool)
    if not inside.any():
        raise SelectionError("no two models differ on any image: no label could separate them")
    mean = weights[inside].mean()
    weights = equal_to_zero(weights)
    return np.where(inside, np.maximum(weights, floor * mean) if mean > 0 else 1.0, 0.0)


def _losses(expected: np.ndarray) -> np.ndarray:
    """Return expected losses (J, I); SelectionError for anything else."""
    losses = checked_arrays.numbers(expected, "expected", SelectionError, "J x I").astype(float, copy=False)
    if not losses.size:
        raise SelectionError(f"expected: has no losses; its shape is {losses.shape}")
    return losses


def _pairs(discrepancy: np.ndarray) -> np.ndarray:
    """Return (P, I) finite discrepancies; SelectionError for anything else."""
    pairs = checked_arrays.numbers(discrepancy, "discrepancy", SelectionError).astype(float, copy=False)
    if pairs.ndim != 2 or not (np.isfinite(pairs) & (pairs >= 0)).all():
        raise SelectionError(
            "a selector needs one finite discrepancy, not below 0, for every pair of models and image (P, I);"
            " leave out images that lack a prediction"
        )
    return equal_to_zero(pairs)
