"""Which image to ask about next to find the best classifier: the model picker.

Conventions: ``labels`` (J, I) are predicted classes 0..C-1; every model is right with probability 1 - epsilon
if it is the best one, and agrees with the truth at even odds otherwise, so an agreement multiplies the belief
in a model by (1 - epsilon) / epsilon. The choice is deterministic, ties go to the earlier image (see
``faultscape.ties``): there are no draw probabilities and no unbiased estimates. It is defined only for losses
of 0 and 1, and looks for the first model, not for the order of the others.

``truth`` (M,) is the class that people named. ``epsilon`` is the chance that the best model errs. ``belief``
(J,) is the probability that each model is the best. ``classes`` is the number of classes C.

Source: Karimi et al. 2021; Okanovic et al. 2024, eq. 2-4 (uniform prior over classes, epsilon .46 by
default).
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.maps import checked_arrays
from faultscape.ties import DECIMALS

EPSILON = 0.46
ONLY_CLASSES = (
    "the model picker is defined for losses of 0 and 1 (right or wrong), which a segmentation does not have; "
    "use --selector disputed, expected-loss or vma"
)


def belief(labels: np.ndarray, truth: np.ndarray, epsilon: float = EPSILON) -> np.ndarray:
    """Return (J,) the posterior that each model is the best, from labels (J, M) and truth (M,) of the images
    asked about; M may be 0.

    OptionError for an epsilon outside (0, .5), or labels that are not classes, such as concordances of label
    maps.

    >>> belief(np.array([[0, 1], [1, 1]]), np.array([0, 1]), epsilon=0.25)
    array([0.75, 0.25])
    """
    labels = _classes(labels)
    truth = checked_arrays.whole_numbers(truth, "truth", OptionError, "M")
    if len(truth) != labels.shape[1]:
        raise OptionError(
            f"labels (J, M) have the shape {labels.shape}, truth {truth.shape}; give the same images"
        )
    agreed = (labels == truth).sum(1)
    scale = (agreed - agreed.max()) * np.log(_odds(epsilon))
    weight = np.exp(scale)
    return weight / weight.sum()


def query(
    labels: np.ndarray,
    belief: np.ndarray,
    classes: int,
    *,
    asked: np.ndarray | tuple[int, ...] = (),
    epsilon: float = EPSILON,
) -> int:
    """Return the image, not yet ``asked``, whose answer is expected to leave the least entropy of the belief
    (J,).

    Errors: OptionError for an epsilon outside (0, .5), SelectionError if all are asked.

    >>> query(np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0]]), np.full(4, 0.25), classes=2)
    1
    """
    labels = _classes(labels)
    left = np.setdiff1d(np.arange(np.shape(labels)[1]), np.asarray(asked, dtype=np.intp))
    if not len(left):
        raise SelectionError(f"all {np.shape(labels)[1]} images have been asked")
    return int(left[np.argmin(remaining(labels[:, left], belief, classes, epsilon=epsilon))])


def remaining(
    labels: np.ndarray, belief: np.ndarray, classes: int, *, epsilon: float = EPSILON
) -> np.ndarray:
    """Return (I,) the expected entropy of the belief (J,) after an answer to each image of labels (J, I).

    The expectation is over ``classes`` equally likely answers; those that no model predicts leave the belief
    unchanged. OptionError for an epsilon outside (0, .5).

    >>> remaining(np.array([[0, 1], [0, 1], [1, 1]]), np.full(3, 1 / 3), classes=2).round(3)
    array([1.096, 1.099])
    """
    labels = _classes(labels)
    belief = checked_arrays.numbers(belief, "belief", OptionError, "J").astype(float, copy=False)
    if len(belief) != len(labels):
        raise OptionError(f"labels (J, I) are of {len(labels)} models, the belief (J) of {len(belief)}")
    odds = _odds(epsilon)
    now = _entropy(np.asarray(belief, dtype=float)[:, None])[0]
    out = np.full(labels.shape[1], now * classes)
    for j, own in enumerate(labels):  # each predicted class counts once, at the first model that predicts it
        agree = labels == own
        first = np.flatnonzero(~agree[:j].any(0))
        after = belief[:, None] * np.where(agree[:, first], odds, 1.0)
        out[first] += _entropy(after / after.sum(0)) - now
    return np.round(out / classes, DECIMALS)


def _classes(labels: np.ndarray) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise OptionError(f"{ONLY_CLASSES}; got numbers of type {labels.dtype}")
    if labels.ndim != 2 or not len(labels):
        raise OptionError(
            f"labels: expected whole numbers, J x I; got {labels.dtype} of shape {labels.shape}"
        )
    return labels


def _odds(epsilon: float) -> float:
    if not 0 < epsilon < 0.5:
        raise OptionError(
            f"epsilon, the error rate of the best model, must lie between 0 and .5; got {epsilon}"
        )
    return (1 - epsilon) / epsilon


def _entropy(belief: np.ndarray) -> np.ndarray:
    """Return the entropy (I,) of beliefs (J, I)."""
    return -(belief * np.log(np.where(belief > 0, belief, 1.0))).sum(0)
