"""How much the answer to an image says about which model is best: the mutual information of the two, from the
predictions alone.

Conventions: ``belief`` (J,) is the probability that each model is the best, ``sharpness`` how closely answers
follow the best model. If model j is best, a possible answer has a probability proportional to exp(sharpness x
its similarity to the prediction of j). Similarity is 1 or 0 for classes (``labels`` (J, I)), the concordance
for label maps (``similarity`` (J, J, I): possible answer, model, image). Possible answers are the classes
that any model predicts, and all other classes as one; for maps the predictions of the models. The most
informative image finds the best model fast but says little about the others: ``select`` draws in proportion
to the value, with a floor, so that estimates stay unbiased.

``mad`` (I,) are the weights of ``mad``.

Source: derived by us from the idea of Select-LLM (arXiv 2605.24981), whose text we did not have.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.maps import checked_arrays

SHARE = 0.75  # of MAD's weights in a mixture
FITTED = 25  # number of labels after which the sharpness is judged
SAMPLE = 500  # number of images that suffice to fit it
_GRID = np.geomspace(0.05, 35, 28)
_REPEATS = 20


def information_of_labels(labels: np.ndarray, belief: np.ndarray, sharpness: float) -> np.ndarray:
    """Return (I,) the mutual information, in nats, of the best model and the true class, from predicted
    classes (J, I).

    OptionError for a sharpness not above 0.

    >>> labels = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 2], [0, 1, 2]])
    >>> information_of_labels(labels, np.full(4, 0.25), sharpness=1.0).round(
    ...     3
    ... )  # all agree; one against three; two against two
    array([0.   , 0.066, 0.087])
    """
    return LabelValues(labels, sharpness)(belief)


class LabelValues:
    """``information_of_labels`` of the same labels (J, I) and sharpness under successive beliefs: everything
    that does not depend on the belief is cached.
    """

    def __init__(self, labels: np.ndarray, sharpness: float) -> None:
        labels = checked_arrays.numbers(labels, "labels", SelectionError, "J x I")
        sharpness = _positive(sharpness)
        j, images = labels.shape
        first = np.zeros((j, images), np.intp)  # the first model that predicts the same class
        for k in range(j - 1, -1, -1):
            first = np.where(labels == labels[k], k, first)
        self._place = (first * images + np.arange(images)).ravel()
        self._named = first == np.arange(j)[:, None]
        answers = self._named.sum(0) + 1  # all other classes count as one
        total = np.exp(sharpness) + answers - 1
        self._low, self._high = 1 / total, np.exp(sharpness) / total
        # whichever model is best, one answer is likelier than the others, which are equal
        self._given = -(self._high * np.log(self._high) + (answers - 1) * self._low * np.log(self._low))

    def __call__(self, belief: np.ndarray) -> np.ndarray:
        """Return (I,) the mutual information under a belief (J,)."""
        j, images = self._named.shape
        belief = checked_arrays.numbers(belief, "belief", SelectionError, "J").astype(float, copy=False)
        if len(belief) != j:
            raise SelectionError(f"labels (J, I) are of {j} models, the belief (J,) of {len(belief)}")
        share = np.bincount(self._place, np.repeat(belief, images), j * images).reshape(j, images)
        answer = self._low + (self._high - self._low) * share
        mixed = np.where(self._named, answer * np.log(answer), 0.0).sum(0) + self._low * np.log(self._low)
        return np.maximum(-mixed - self._given, 0.0)


def information_of_similarities(similarity: np.ndarray, belief: np.ndarray, sharpness: float) -> np.ndarray:
    """Return (I,) the mutual information, in nats, of the best model and the true map, from similarities (J,
    J, I).

    Similarity of a model to itself may be NaN, and is 1. OptionError for a sharpness not above 0.

    >>> similarity = np.array([[[1.0, 1.0], [0.2, 1.0]], [[0.2, 1.0], [1.0, 1.0]]])
    >>> information_of_similarities(similarity, np.array([0.5, 0.5]), sharpness=5.0).round(3)
    array([0.603, 0.   ])
    """
    answer = _answers(similarity, sharpness)
    belief = checked_arrays.numbers(belief, "belief", SelectionError, "J").astype(float, copy=False)
    if len(belief) != len(answer):
        raise SelectionError(f"similarities are of {len(answer)} models, the belief (J,) of {len(belief)}")
    mixed = np.einsum("kji,j->ki", answer, belief)
    return np.maximum(_entropy(mixed) - belief @ _entropy(answer), 0.0)


def belief_of_labels(right: np.ndarray, sharpness: float) -> np.ndarray:
    """Return (J,) the probability that each model is the best, from whether each was ``right`` (J, M) on the
    labelled images; M may be 0.

    >>> belief_of_labels(np.array([[True, True], [True, False]]), sharpness=1.0).round(3)
    array([0.731, 0.269])
    """
    right = checked_arrays.numbers(right, "right", SelectionError, "J x M").astype(float, copy=False)
    if not len(right):
        raise SelectionError(f"right: has no models; its shape is {right.shape}")
    return _softmax(_positive(sharpness) * right.sum(1))


def belief_of_similarities(similarity: np.ndarray, scores: np.ndarray, sharpness: float) -> np.ndarray:
    """Return (J,) the probability that each model is the best, from ``scores`` (J, M) on the labelled images
    and the similarities (J, J, M) there.

    >>> similarity = np.array([[[1.0], [0.2]], [[0.2], [1.0]]])
    >>> belief_of_similarities(similarity, np.array([[0.9], [0.3]]), sharpness=5.0).round(3)
    array([0.953, 0.047])
    """
    sharpness = _positive(sharpness)
    scores = checked_arrays.numbers(scores, "scores", SelectionError, "J x M").astype(float, copy=False)
    similarity = _whole(similarity)
    if similarity.shape[1:] != scores.shape:
        raise SelectionError(
            f"similarity (J, J, M) has the shape {similarity.shape}, scores (J, M) {scores.shape}; give them"
            " for the same images"
        )
    return _softmax((sharpness * scores - _log_total(similarity, sharpness)).sum(1))


def fit_sharpness(similarity: np.ndarray, *, labels: int = FITTED, seed: int = 0) -> float:
    """Return the sharpness with which the belief in the best model is strongest after ``labels`` labels, with
    each model in turn as the truth.

    ``similarity`` (J, J, I) is of images on which models differ, 0 or 1 for classes; a few hundred of them
    suffice. The best model is the one nearest to the stand-in for the truth; the logarithm of the belief in
    it is averaged over stand-ins and draws of images, which errs towards doubt. Errors: SelectionError for
    fewer than three models, of which no two could be compared, or no image.

    >>> rng = np.random.default_rng(0)
    >>> labels = np.where(
    ...     rng.random((5, 300)) < np.linspace(0.5, 0.9, 5)[:, None], 0, rng.integers(1, 9, (5, 300))
    ... )
    >>> round(fit_sharpness((labels[:, None] == labels).astype(float)), 2)
    0.57
    """
    similarity = _whole(similarity)
    j, _, images = similarity.shape
    if j < 3 or not images:
        raise SelectionError(
            "the sharpness of answers is fitted with each model in the truth's place, which needs three"
            f" models and an image on which they differ; got {j} models and {images} images"
        )
    graded = not np.isin(similarity, (0.0, 1.0)).all()
    drawn = np.random.default_rng(seed).integers(images, size=(_REPEATS, labels))
    found = np.zeros(len(_GRID))
    for truth in range(j):
        others = np.flatnonzero(np.arange(j) != truth)
        scores = similarity[truth, others]
        mean = scores.mean(1)
        best = mean >= mean.max() - 1e-12
        own = similarity[np.ix_(others, others)]
        for k, sharpness in enumerate(_GRID):
            # with classes every model has the same total, which makes no difference
            told = sharpness * scores - (_log_total(own, sharpness) if graded else 0.0)
            belief = told[:, drawn].sum(2)
            found[k] += (belief[best].mean(0) - _log_sum(belief)).mean()
    return float(f"{_GRID[int(np.argmax(np.round(found, 12)))]:.12g}")


def mix(mad: np.ndarray, value: np.ndarray, share: float = SHARE) -> np.ndarray:
    """Return weights (I,) that draw with MAD's weights ``share`` of the time and in proportion to ``value``
    otherwise; they sum to the number of images.

    OptionError for a share outside [0, 1].

    >>> mix(np.array([3.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]), share=0.5)
    array([1.125, 1.125, 0.75 ])
    """
    if not 0 <= share <= 1:
        raise OptionError(f"the share of MAD's weights must lie in [0, 1]; got {share}")
    mad, value = (
        checked_arrays.numbers(weights, name, SelectionError, "I").astype(float, copy=False)
        for name, weights in (("mad", mad), ("value", value))
    )
    checked_arrays.same_shape(SelectionError, mad=mad, value=value)
    return len(mad) * (share * mad / mad.sum() + (1 - share) * value / value.sum())


def _whole(similarity: np.ndarray) -> np.ndarray:
    """Return similarities (J, J, I) with 1 of each model with itself."""
    out = checked_arrays.numbers(similarity, "similarity", SelectionError, "J x J x I").astype(float)
    if len(out) != out.shape[1] or not len(out):
        raise SelectionError(f"similarity: expected numbers, J x J x I; got shape {out.shape}")
    out[range(len(out)), range(len(out))] = 1.0
    return out


def _answers(similarity: np.ndarray, sharpness: float) -> np.ndarray:
    """Return (J, J, I) the probability of each possible answer if each model is the best."""
    weight = np.exp(_positive(sharpness) * (_whole(similarity) - 1))
    return weight / weight.sum(0)


def _log_total(similarity: np.ndarray, sharpness: float) -> np.ndarray:
    """Return (J, I) the logarithm of the normalising constant of the probabilities of all possible
    answers.
    """
    return _log_sum(sharpness * similarity)


def _log_sum(values: np.ndarray) -> np.ndarray:
    most = values.max(0)
    return most + np.log(np.exp(values - most).sum(0))


def _softmax(values: np.ndarray) -> np.ndarray:
    weight = np.exp(values - values.max())
    return weight / weight.sum()


def _entropy(probability: np.ndarray) -> np.ndarray:
    """Return the entropy over the first axis."""
    return -(probability * np.log(np.where(probability > 0, probability, 1.0))).sum(0)


def _positive(sharpness: float) -> float:
    if not (np.isfinite(sharpness) and sharpness > 0):
        raise OptionError(f"the sharpness of answers must be a number above 0; got {sharpness}")
    return float(sharpness)
