"""The model picker: beliefs by agreement, questions by what they are expected to tell."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import OptionError, SelectionError
from faultscape.selection.model_picker import belief, query
from refusals import refused

LABELS = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 2]])  # all agree; one against two; all differ


def entropy(weights: list[float]) -> float:
    p = np.array(weights) / sum(weights)
    return -(p * np.log(p)).sum()


def test_an_agreement_multiplies_the_belief_by_the_odds() -> None:
    assert belief(LABELS[:, :0], np.array([], int)).tolist() == pytest.approx([1 / 3] * 3)
    assert belief(LABELS[:, 1:], np.array([1, 1]), epsilon=0.25) == pytest.approx(np.array([1, 9, 3]) / 13)


def test_a_million_answers_overflow_nothing() -> None:
    many = np.zeros((2, 200_000), int)
    many[1] = 1
    assert belief(many, many[0], epsilon=0.01).tolist() == [1, 0]


def test_the_question_is_the_one_expected_to_leave_least_entropy() -> None:
    flat = np.full(3, 1 / 3)
    # of three equally likely classes: image 1 has answers 0, 1 and one that nobody predicts; image 2 has 0,
    # 1, 2
    two = (entropy([3, 1, 1]) + entropy([1, 3, 3]) + entropy([1, 1, 1])) / 3
    three = entropy([3, 1, 1])
    assert three < two < entropy([1, 1, 1])
    assert query(LABELS, flat, 3, epsilon=0.25) == 2
    assert query(LABELS, flat, 3, asked=(2,), epsilon=0.25) == 1
    assert query(LABELS, flat, 3, asked=(1, 2), epsilon=0.25) == 0
    with refused(SelectionError, "all 3 images have been asked"):
        query(LABELS, flat, 3, asked=(0, 1, 2))


def test_questions_equal_a_plain_loop_over_classes() -> None:
    rng = np.random.default_rng(2)
    labels, weights = rng.integers(0, 4, (5, 30)), rng.random(5)
    weights /= weights.sum()
    odds = 0.6 / 0.4
    plain = [np.mean([entropy(weights * odds ** (column == c)) for c in range(4)]) for column in labels.T]
    assert query(labels, weights, 4, epsilon=0.4) == int(np.argmin(plain))


def test_label_maps_are_refused_with_the_reason() -> None:
    with refused(OptionError, r"defined for losses of 0 and 1 .*use --selector disputed.*float64"):
        belief(np.array([[0.5, 0.7]]), np.array([0.5, 0.7]))
    with refused(OptionError, "epsilon, the error rate of the best model"):
        belief(LABELS, np.array([0, 1, 1]), epsilon=0.5)
