"""The probability that each person is right, if the truth is unknown: Dawid and Skene's model with one coin
per person, if there are enough answers for it.

Conventions: answers are columns (see ``vote_columns``), one per person and item, of two classes 0 and 1;
those from 2 on decide nothing and are left out. The model assumes that people's errors are independent of
each other given the truth. If all err alike, as on items that are hard for everyone, it takes their error for
the truth, and accuracies are too high. Two people alone show only how often they agree, not who is right: an
accuracy is given if a person has ``common`` items or more with each of two others, who have as many with each
other.
Source: the model is ``crowd_votes.one_coin``; the pairwise agreement of three people determines each one's
accuracy: Parisi, Strino, Nadler and Kluger 2014. The minimum is ours: there, accuracies of .6 to .97 had mean
errors of .05 to .08 in simulations of three and five people who err independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from faultscape.labelling.people.crowd_votes import PSEUDO_COUNT, dawid_skene, one_coin
from faultscape.labelling.people.vote_columns import same_length, size_of, vote_column

COMMON = 20


@dataclass(frozen=True, eq=False)
class EstimatedAccuracy:
    """For each person (A,): the probability of being right, NaN with fewer than ``common`` items; and the
    number of items in common with each of the two others with whom they share most.
    """

    value: np.ndarray
    common: np.ndarray


def estimated_accuracy(
    item: ArrayLike, annotator: ArrayLike, label: ArrayLike, *, symmetric: bool = False, common: int = COMMON
) -> EstimatedAccuracy:
    """Return the probability that each person is right by their answers (N,); LabellingError for invalid
    columns.

    Classes of a ``symmetric`` question are exchangeable, like the first and the second of two models whose
    order means nothing: neither is likelier than the other.

    >>> said = estimated_accuracy(np.repeat(range(20), 3), [0, 1, 2] * 20, ([0, 0, 1] + [1, 1, 1]) * 10)
    >>> said.value.round(1).tolist(), said.common.tolist()
    ([1.0, 1.0, 0.6], [20, 20, 20])
    """
    item = vote_column(item, "item")
    annotator = vote_column(annotator, "annotator")
    label = vote_column(label, "label")
    same_length(item=item, annotator=annotator, label=label)
    people = size_of(annotator, None, "annotator")
    decided = label < 2
    item = item[decided]
    annotator = annotator[decided]
    label = label[decided]
    enough = _in_common(item, annotator, people)
    if not (enough >= common).any():
        return EstimatedAccuracy(np.full(people, np.nan), enough)
    weight = 1
    if symmetric:  # add every answer again with the classes exchanged
        item = np.append(item, item + item.max() + 1)
        annotator = np.tile(annotator, 2)
        label = np.append(label, 1 - label)
        weight = 2
    skill = one_coin(item, annotator, label, 2, annotators=people, pseudo_count=weight * PSEUDO_COUNT).skill
    assert skill is not None
    return EstimatedAccuracy(np.where(enough >= common, skill, np.nan), enough)


def likely_yes(
    item: ArrayLike, annotator: ArrayLike, label: ArrayLike, *, common: int = COMMON
) -> np.ndarray:
    """Return (I,) the probability that each item is of class 1, by Dawid and Skene's model with one confusion
    per person, in which all answers from 2 on are one of their own; NaN for all if nobody's accuracy is
    known.

    >>> likely_yes(np.repeat(range(20), 3), [0, 1, 2] * 20, ([0, 0, 1] + [1, 1, 1]) * 10).round(2)[:2]
    array([0.01, 0.99])
    """
    item = vote_column(item, "item")
    annotator = vote_column(annotator, "annotator")
    label = vote_column(label, "label")
    same_length(item=item, annotator=annotator, label=label)
    people = size_of(annotator, None, "annotator")
    decided = label < 2
    if not (_in_common(item[decided], annotator[decided], people) >= common).any():
        return np.full(size_of(item, None, "item"), np.nan)
    return dawid_skene(item, annotator, np.minimum(label, 2), 2, answers=3).posterior[:, 1]


def _in_common(item: np.ndarray, annotator: np.ndarray, people: int) -> np.ndarray:
    """Return (A,) the most items that a person and two others have in common, any two of the three."""
    _, place = np.unique(item, return_inverse=True)
    given = np.zeros((int(place.max(initial=-1)) + 1, people), np.int32)
    given[place, annotator] = 1
    both = given.T @ given
    np.fill_diagonal(both, 0)
    return np.array(
        [np.minimum(both, np.minimum.outer(mine, mine)).max(initial=0) for mine in both], np.int64
    )
