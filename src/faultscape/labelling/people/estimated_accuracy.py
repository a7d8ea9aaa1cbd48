"""The probability that each person is right, if the truth is unknown: Dawid and Skene's model with one coin
per person, if there are enough answers for it.

Conventions: answers are columns (see ``vote_columns``), one per person and item, of classes 0 to C - 1, by
default two; those from C on decide nothing and are left out. The model assumes that people's errors are
independent of each other given the truth. If all err alike, as on items that are hard for everyone, it takes
their error for the truth, and accuracies are too high. Two people alone show only how often they agree, not
who is right: an accuracy is given if a person has ``common`` items or more with each of two others, who have
as many with each other.
Source: the model is ``crowd_votes.one_coin``; the pairwise agreement of three people determines each one's
accuracy: Parisi, Strino, Nadler and Kluger 2014. The minimum is ours: there, accuracies of .6 to .97 had mean
errors of .05 to .08 in simulations of three and five people who err independently.

The likely truth if several people voted and some make more errors than others: majority vote, and Dawid and
Skene's model by expectation-maximisation.

Conventions: votes are columns (see ``vote_columns``); classes are 0..C-1. Answers from C on name no class
("unsure"): they have a column of their own in a confusion, and count for no class in a majority. Several
votes of one annotator on one item all count, as in 1979. ``confusion`` (A, C, R): the probability that
annotator a gives answer r if c is true. ``log_likelihood`` has one number per iteration, of the votes
together with the pseudo-counts as if these were votes; it never decreases. An item without votes has the
prior as its posterior and affects nothing. There is no randomness.
Source: Dawid and Skene 1979; one coin: Zhang, Chen, Zhou and Jordan 2016, 2.3; pseudo-counts: the mode under
Dirichlet's distribution.

How much each person's answers count if they are weighted by how likely they are right.

Conventions: answers are columns (see ``vote_columns``). The weight of a person who is right with probability
p is log(p / (1 - p)): with two classes and people who err independently, the class with the larger sum of
weights is the likelier one. p is `estimated_accuracy`, Dawid and Skene's one-coin model, and taken for no
less than 1/2, where the weight is 0 (a person is left out, never turned round), and for no more than
``MOST``, since an estimate may be 5 to 10 points off. A person whose accuracy cannot be estimated counts like
the mean of those whose accuracy can; if nobody's can, all count the same.
Source: Nitzan and Paroush 1982 (the weights); Dawid and Skene 1979 (the model). The bounds are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from faultscape.errors import OptionError
from faultscape.labelling.people.vote_columns import same_length, size_of, vote_column

COMMON = 20
# votes in each class; 1 to 10 were tried on simulated votes, 3 to 5 per item: fewer left posteriors too
# certain
PSEUDO_COUNT = 5.0
ITERATIONS = 1000
TOLERANCE = 1e-9
MOST = 0.95


@dataclass(frozen=True, eq=False)
class EstimatedAccuracy:
    """For each person (A,): the probability of being right, NaN with fewer than ``common`` items; and the
    number of items in common with each of the two others with whom they share most.
    """

    value: np.ndarray
    common: np.ndarray


def estimated_accuracy(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    classes: int = 2,
    *,
    symmetric: bool = False,
    common: int = COMMON,
) -> EstimatedAccuracy:
    """Return the probability that each person is right by their answers (N,) of so many ``classes``;
    LabellingError for invalid columns.

    The two classes of a ``symmetric`` question are exchangeable, like the first and the second of two models
    whose order means nothing: neither is likelier than the other.

    >>> said = estimated_accuracy(np.repeat(range(20), 3), [0, 1, 2] * 20, ([0, 0, 1] + [1, 1, 1]) * 10)
    >>> said.value.round(1).tolist(), said.common.tolist()
    ([1.0, 1.0, 0.6], [20, 20, 20])
    """
    item = vote_column(item, "item")
    annotator = vote_column(annotator, "annotator")
    label = vote_column(label, "label")
    same_length(item=item, annotator=annotator, label=label)
    people = size_of(annotator, None, "annotator")
    decided = label < classes
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
    pseudo_count = weight * PSEUDO_COUNT
    skill = one_coin(item, annotator, label, classes, annotators=people, pseudo_count=pseudo_count).skill
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


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """Posterior (I, C), prior (C,), and of each annotator the confusion (A, C, R) or, with one coin, the
    skill (A,); the log likelihood of each iteration.
    """

    posterior: np.ndarray
    prior: np.ndarray
    confusion: np.ndarray | None
    skill: np.ndarray | None
    log_likelihood: np.ndarray
    iterations: int
    converged: bool

    def accuracy(self) -> np.ndarray:
        """Return (A,) the probability that each annotator is right on an item of the prior's classes, NaN for
        one without votes and without pseudo-counts.
        """
        if self.confusion is None:
            return np.asarray(self.skill)
        own = np.diagonal(self.confusion, axis1=1, axis2=2)
        return np.where(np.isnan(own).all(1), np.nan, (np.nan_to_num(own) * self.prior).sum(1))


def vote_counts(item: ArrayLike, label: ArrayLike, classes: int, items: int | None = None) -> np.ndarray:
    """Return (I, C) the number of votes of each item for each class; labels from C on count for none.
    LabellingError for invalid columns.

    >>> vote_counts([0, 0, 1, 1], [1, 1, 0, 2], 2).tolist()
    [[0, 2], [1, 0]]
    """
    item = vote_column(item, "item")
    label = vote_column(label, "label")
    same_length(item=item, label=label)
    number = size_of(item, items, "item")
    named = label < classes
    return np.bincount(item[named] * classes + label[named], minlength=number * classes).reshape(
        number, classes
    )


def majority_vote(item: ArrayLike, label: ArrayLike, classes: int, items: int | None = None) -> np.ndarray:
    """Return (I,) the class with most votes of each item, -1 for a tie or no votes.

    >>> majority_vote([0, 0, 0, 1, 1], [1, 1, 0, 0, 1], 2, items=3).tolist()
    [1, -1, -1]
    """
    counts = vote_counts(item, label, classes, items)
    most = counts.max(1, keepdims=True, initial=0)
    first = (counts == most).argmax(1) if classes else np.zeros(len(counts), np.int64)
    return np.where((most[:, 0] > 0) & ((counts == most).sum(1) == 1), first, -1)


def dawid_skene(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    classes: int,
    *,
    answers: int | None = None,
    items: int | None = None,
    annotators: int | None = None,
    pseudo_count: float = PSEUDO_COUNT,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> DawidSkene:
    """Return the likely classes of items and the confusion of each annotator, by expectation-maximisation
    from the shares of the votes.

    ``answers`` R >= C are the answers that can be given, where those from C on name no class.
    ``pseudo_count`` votes are added to each annotator in each class, distributed as all annotators together
    answered where the majority saw that class: an annotator with few votes is treated as an average person,
    and no answer is impossible only because it was not given yet. 0 is the likelihood of 1979, where three
    votes suffice for an estimated accuracy of 1 or 0. Stops once an iteration adds less than ``tolerance`` of
    the log likelihood. LabellingError for invalid columns, OptionError for invalid numbers.

    >>> who, what = [0, 1, 2] * 4, [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0]
    >>> said = dawid_skene(np.repeat(range(4), 3), who, what, 2, pseudo_count=0)
    >>> said.posterior.argmax(1).tolist(), said.accuracy().round(1).tolist()
    ([0, 1, 0, 1], [1.0, 1.0, 0.5])
    """
    _check_limits(pseudo_count, iterations, tolerance)
    votes = _votes(item, annotator, label, classes, answers, items, annotators)
    a = votes.annotators
    r = votes.answers
    start = votes.start()
    extra = np.zeros((1, classes, r))
    if pseudo_count:
        pooled = (votes.matrix.T @ start).reshape(a, r, classes).sum(0).T + 1.0 / r
        extra = pseudo_count * (pooled / pooled.sum(1, keepdims=True))[None]

    def fit(posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        counts = (votes.matrix.T @ posterior).reshape(a, r, classes).transpose(0, 2, 1) + extra
        total = counts.sum(2, keepdims=True)
        confusion = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
        # a class that an annotator certainly never saw: its items cannot be of it
        log = _log(np.nan_to_num(confusion))
        return (
            confusion,
            log.transpose(0, 2, 1).reshape(a * r, classes),
            float((extra * log).sum()) if pseudo_count else 0.0,
        )

    posterior, prior, confusion, likelihood, converged = _maximise(
        votes, start, fit, pseudo_count, iterations, tolerance
    )
    return DawidSkene(posterior, prior, confusion, None, likelihood, len(likelihood), converged)


def one_coin(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    classes: int,
    *,
    items: int | None = None,
    annotators: int | None = None,
    pseudo_count: float = PSEUDO_COUNT,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> DawidSkene:
    """Return the likely classes of items and the skill of each annotator: the probability of naming the true
    class, with all others equally likely.

    Answers from C on are left out. ``pseudo_count`` as for ``dawid_skene``, at the skill of all annotators
    together. LabellingError for invalid columns, OptionError for invalid numbers.

    >>> what = [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0]
    >>> one_coin(np.repeat(range(4), 3), [0, 1, 2] * 4, what, 2, pseudo_count=0).skill.round(1).tolist()
    [1.0, 1.0, 0.5]
    """
    label = vote_column(label, "label")
    item = vote_column(item, "item")
    annotator = vote_column(annotator, "annotator")
    same_length(item=item, annotator=annotator, label=label)
    people = size_of(annotator, annotators, "annotator")
    number = size_of(item, items, "item")
    named = label < classes
    _check_limits(pseudo_count, iterations, tolerance)
    votes = _votes(item[named], annotator[named], label[named], classes, None, number, people)
    given = np.bincount(annotator[named], minlength=people).astype(float)
    start = votes.start()
    others = max(classes - 1, 1)

    def right(posterior: np.ndarray) -> np.ndarray:
        return (
            (votes.matrix.T @ posterior)
            .reshape(people, classes, classes)[:, range(classes), range(classes)]
            .sum(1)
        )

    pooled = (right(start).sum() + 0.5) / (given.sum() + 1)

    def fit(posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        hits = right(posterior) + pseudo_count * pooled
        total = given + pseudo_count
        skill = np.divide(hits, total, out=np.full(people, np.nan), where=total > 0)
        known = np.clip(np.nan_to_num(skill), 0.0, 1.0)
        yes = _log(known)
        no = _log((1 - known) / others)
        log = np.where(np.eye(classes, dtype=bool), yes[:, None, None], no[:, None, None])
        extra = float((pooled * yes + (1 - pooled) * no).sum()) * pseudo_count if pseudo_count else 0.0
        return skill, log.reshape(people * classes, classes), extra

    posterior, prior, skill, likelihood, converged = _maximise(
        votes, start, fit, pseudo_count, iterations, tolerance
    )
    return DawidSkene(posterior, prior, None, skill, likelihood, len(likelihood), converged)


@dataclass(frozen=True, eq=False)
class _Votes:
    """How many times each item (rows) got each answer of each annotator (columns, A R), sparse; ``voted``
    (I,) says which items have votes.
    """

    matrix: csr_array
    voted: np.ndarray
    classes: int
    answers: int
    annotators: int

    def start(self) -> np.ndarray:
        """Return (I, C) the shares of the votes, uniform if no vote names a class; zero if there is no
        vote.
        """
        counts = np.asarray(self.matrix @ np.tile(np.eye(self.answers, self.classes), (self.annotators, 1)))
        total = counts.sum(1, keepdims=True)
        shares = np.divide(counts, total, out=np.full(counts.shape, 1 / self.classes), where=total > 0)
        return shares * self.voted[:, None]


def _check_limits(pseudo_count: float, iterations: int, tolerance: float) -> None:
    if not (np.isfinite(pseudo_count) and pseudo_count >= 0):
        raise OptionError(f"the pseudo-count must be 0 or more; got {pseudo_count}")
    if iterations < 1 or not tolerance >= 0:
        raise OptionError(
            f"expected one iteration or more, and a tolerance of 0 or more; got {iterations} and {tolerance}"
        )


def _votes(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    classes: int,
    answers: int | None,
    items: int | None,
    annotators: int | None,
) -> _Votes:
    answers = classes if answers is None else answers
    if classes < 2 or answers < classes:
        raise OptionError(
            f"expected two classes or more, and an answer for each; got {classes} classes, {answers} answers"
        )
    item = vote_column(item, "item")
    annotator = vote_column(annotator, "annotator")
    label = vote_column(label, "label", answers)
    same_length(item=item, annotator=annotator, label=label)
    number = size_of(item, items, "item")
    people = size_of(annotator, annotators, "annotator")
    cells = (np.ones(len(item)), (item, annotator * answers + label))
    matrix = csr_array(cells, shape=(number, people * answers))
    return _Votes(matrix, np.bincount(item, minlength=number) > 0, classes, answers, people)


# posterior -> parameters, their logs (A R, C), the pseudo-counts' share
Fit = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, float]]


def _maximise(
    votes: _Votes, posterior: np.ndarray, fit: Fit, pseudo_count: float, iterations: int, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return posterior, prior, parameters, the log likelihood of each iteration, and whether it converged."""
    share = pseudo_count / votes.classes
    found = []
    converged = False
    while True:
        prior = posterior.sum(0) + share
        prior = prior / prior.sum() if prior.sum() else np.full(votes.classes, 1 / votes.classes)
        parameters, logs, extra = fit(posterior)
        log_prior = _log(prior)
        joint = np.asarray(votes.matrix @ logs) + log_prior
        top = joint.max(1, keepdims=True)
        posterior = np.exp(joint - top)
        total = posterior.sum(1, keepdims=True)
        posterior /= total
        own = (top + np.log(total))[votes.voted]
        found.append(float(own.sum()) + extra + (share * float(log_prior.sum()) if pseudo_count else 0.0))
        converged = len(found) > 1 and found[-1] - found[-2] <= tolerance * abs(found[-1])
        if converged or len(found) == iterations:
            return posterior, prior, parameters, np.array(found), converged
        posterior[~votes.voted] = 0.0


def _log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)


@dataclass(frozen=True, eq=False)
class AnswerWeights:
    """The weight of each person (A,), and the estimated accuracy (A,) that it comes from, NaN if unknown."""

    weight: np.ndarray
    accuracy: np.ndarray


def answer_weights(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    classes: int = 2,
    *,
    symmetric: bool = False,
    common: int = COMMON,
) -> AnswerWeights:
    """Return the weight of each person by their answers (N,) of so many ``classes``; LabellingError for
    invalid columns.

    ``symmetric`` and ``common`` (how many items people must share) are those of `estimated_accuracy`.

    >>> said = answer_weights(np.repeat(range(20), 3), [0, 1, 2] * 20, ([0, 0, 1] + [1, 1, 1]) * 10)
    >>> said.weight.round(2).tolist()
    [2.94, 2.94, 0.22]
    """
    accuracy = estimated_accuracy(item, annotator, label, classes, symmetric=symmetric, common=common).value
    known = np.clip(accuracy, 0.5, MOST)
    weight = np.log(known / (1 - known))
    if np.isnan(weight).all():
        return AnswerWeights(np.ones(len(weight)), accuracy)
    return AnswerWeights(np.where(np.isnan(weight), np.nanmean(weight), weight), accuracy)
