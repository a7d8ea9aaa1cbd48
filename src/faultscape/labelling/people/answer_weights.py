"""How much each person's answers count if they are weighted by how likely they are right.

Conventions: answers are columns (see ``vote_columns``). The weight of a person who is right with
probability p is log(p / (1 - p)): with two classes and people who err independently, the class with the
larger sum of weights is the likelier one. p is `estimated_accuracy`, Dawid and Skene's one-coin model, and
taken for no less than 1/2, where the weight is 0 (a person is left out, never turned round), and for no
more than ``MOST``, since an estimate may be 5 to 10 points off. A person whose accuracy cannot be estimated
counts like the mean of those whose accuracy can; if nobody's can, all count the same.
Source: Nitzan and Paroush 1982 (the weights); Dawid and Skene 1979 (the model). The bounds are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from faultscape.labelling.people.estimated_accuracy import COMMON, estimated_accuracy

MOST = 0.95


@dataclass(frozen=True, eq=False)
class AnswerWeights:
    """The weight of each person (A,), and the estimated accuracy (A,) that it comes from, NaN if unknown."""

    weight: np.ndarray
    accuracy: np.ndarray


def answer_weights(
    item: ArrayLike, annotator: ArrayLike, label: ArrayLike, *, symmetric: bool = False, common: int = COMMON
) -> AnswerWeights:
    """Return the weight of each person by their answers (N,); LabellingError for invalid columns.

    ``symmetric`` and ``common`` (how many items people must share) are those of `estimated_accuracy`.

    >>> said = answer_weights(np.repeat(range(20), 3), [0, 1, 2] * 20, ([0, 0, 1] + [1, 1, 1]) * 10)
    >>> said.weight.round(2).tolist()
    [2.94, 2.94, 0.22]
    """
    accuracy = estimated_accuracy(item, annotator, label, symmetric=symmetric, common=common).value
    known = np.clip(accuracy, 0.5, MOST)
    weight = np.log(known / (1 - known))
    if np.isnan(weight).all():
        return AnswerWeights(np.ones(len(weight)), accuracy)
    return AnswerWeights(np.where(np.isnan(weight), np.nanmean(weight), weight), accuracy)
