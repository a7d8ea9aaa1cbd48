"""How much an answer tells about who is best, against the plain sum over models and answers, and what it must
never do.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from faultscape.errors import OptionError, SelectionError
from faultscape.selection import information, model_picker
from refusals import refused

RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 4, (5, 30))
LABELS[:, :5] = 2  # all agree
BELIEF = RNG.dirichlet(np.ones(5))
BOTH = RNG.random((5, 5, 12))
BOTH[range(5), range(5)] = np.nan


def shared(probability: dict[int, list[float]], belief: np.ndarray) -> float:
    """Return sum_j sum_y b_j p(y | j) log(p(y | j) / p(y)) from {answer: p(answer | j)}."""
    whole = {y: sum(b * p for b, p in zip(belief, row, strict=True)) for y, row in probability.items()}
    return sum(
        b * row[j] * log(row[j] / whole[y]) for y, row in probability.items() for j, b in enumerate(belief)
    )


@pytest.mark.parametrize("sharpness", [0.3, 2.0, 30.0])
def test_classes_against_the_plain_sum(sharpness: float) -> None:
    plainly = []
    for column in LABELS.T.tolist():
        answers = [*sorted(set(column)), -1]  # -1: any class that nobody names
        total = exp(sharpness) + len(answers) - 1
        plainly.append(
            shared(
                {y: [(exp(sharpness) if own == y else 1) / total for own in column] for y in answers}, BELIEF
            )
        )
    found = information.information_of_labels(LABELS, BELIEF, sharpness)
    assert found == pytest.approx(plainly, abs=1e-12)
    assert found[:5] == pytest.approx(0, abs=1e-12)
    assert (found[5:] > 0).all()


@pytest.mark.parametrize("sharpness", [0.3, 6.0])
def test_label_maps_against_the_plain_sum(sharpness: float) -> None:
    plainly = []
    for image in range(12):
        weight = [
            [exp(sharpness * (1.0 if k == j else BOTH[k, j, image])) for j in range(5)] for k in range(5)
        ]
        totals = [sum(row[j] for row in weight) for j in range(5)]
        plainly.append(shared({k: [weight[k][j] / totals[j] for j in range(5)] for k in range(5)}, BELIEF))
    assert information.information_of_similarities(BOTH, BELIEF, sharpness) == pytest.approx(
        plainly, abs=1e-12
    )


def test_the_belief_is_bayes_rule_over_the_answers_that_came() -> None:
    truth, sharpness = LABELS[2].copy(), 0.7
    truth[::3] = 9  # nobody is right
    likelihood = np.ones(5)
    for column, answer in zip(LABELS.T, truth, strict=True):
        likelihood *= np.where(column == answer, exp(sharpness), 1) / (
            exp(sharpness) + len(set(column.tolist()))
        )
    found = information.belief_of_labels(truth == LABELS, sharpness)
    assert found == pytest.approx(likelihood / likelihood.sum(), rel=1e-12)
    assert information.belief_of_labels(np.zeros((3, 0), bool), 1.0).tolist() == [1 / 3] * 3
    # the model picker's odds are exp(sharpness)
    epsilon = 1 / (1 + exp(sharpness))
    assert found == pytest.approx(model_picker.belief(LABELS, truth, epsilon), rel=1e-9)


def test_the_belief_in_label_maps_weighs_scores_against_what_each_model_makes_likely() -> None:
    scores, sharpness = RNG.random((5, 12)), 4.0
    likelihood = np.ones(5)
    for image in range(12):
        for j in range(5):
            total = sum(exp(sharpness * (1.0 if k == j else BOTH[k, j, image])) for k in range(5))
            likelihood[j] *= exp(sharpness * scores[j, image]) / total
    assert information.belief_of_similarities(BOTH, scores, sharpness) == pytest.approx(
        likelihood / likelihood.sum(), rel=1e-9
    )


def test_what_is_surely_known_tells_nothing_more() -> None:
    sure = np.eye(5)[1]
    assert information.information_of_labels(LABELS, sure, 2.0) == pytest.approx(np.zeros(30), abs=1e-12)
    assert information.information_of_similarities(BOTH, sure, 2.0) == pytest.approx(np.zeros(12), abs=1e-12)


def test_neither_names_of_classes_nor_the_order_of_models_or_images_matter() -> None:
    names, models, images = RNG.permutation(4), RNG.permutation(5), RNG.permutation(30)
    found = information.information_of_labels(names[LABELS][models][:, images], BELIEF[models], 1.3)
    assert found == pytest.approx(information.information_of_labels(LABELS, BELIEF, 1.3)[images], abs=1e-12)
    turned = BOTH[np.ix_(models, models, images[images < 12])]
    found = information.information_of_similarities(turned, BELIEF[models], 1.3)
    assert found == pytest.approx(
        information.information_of_similarities(BOTH, BELIEF, 1.3)[images[images < 12]], abs=1e-12
    )


def test_kept_values_answer_one_belief_after_another() -> None:
    values = information.LabelValues(LABELS, 1.3)
    for belief in (BELIEF, np.full(5, 0.2), np.eye(5)[0]):
        assert values(belief).tolist() == information.information_of_labels(LABELS, belief, 1.3).tolist()


def made(accuracy: np.ndarray, images: int, seed: int) -> np.ndarray:
    """Return agreements (J, J, I) of classifiers that err on their own."""
    rng = np.random.default_rng(seed)
    labels = np.where(
        rng.random((len(accuracy), images)) < accuracy[:, None],
        0,
        rng.integers(1, 10, (len(accuracy), images)),
    )
    return (labels[:, None] == labels).astype(float)


def test_the_sharpness_follows_how_far_models_differ_in_how_near_they_are_to_one_another() -> None:
    unlike = information.fit_sharpness(made(np.linspace(0.4, 0.95, 8), 400, 1))
    alike = information.fit_sharpness(made(np.full(8, 0.7), 400, 1))
    assert 2 * alike < unlike


def test_the_sharpness_is_the_best_of_the_grid_for_a_stand_in_truth() -> None:
    """Reckoned anew: the log of the belief in the stand-in's nearest, after 25 images with the fit's own
    draws.
    """
    alike = made(np.linspace(0.4, 0.9, 4), 60, 2)
    drawn = np.random.default_rng(3).integers(60, size=(20, 25))
    found = information.fit_sharpness(alike, seed=3)

    def told(sharpness: float) -> float:
        total = 0.0
        for truth in range(4):
            others = [k for k in range(4) if k != truth]
            best = int(np.argmax([alike[truth, k].mean() for k in others]))
            for images in drawn:
                total += log(
                    information.belief_of_labels(alike[truth, others][:, images] == 1, sharpness)[best]
                )
        return total

    assert all(told(found) >= told(found * by) - 1e-9 for by in (0.5, 0.8, 1.25, 2))


def test_label_maps_have_a_sharpness_of_their_own() -> None:
    rng = np.random.default_rng(4)
    right = rng.random((6, 200, 400)) < np.linspace(0.6, 0.9, 6)[:, None, None]
    maps = np.where(right, 0, rng.integers(1, 5, right.shape))  # six models, 200 images of 400 pixels
    both = np.array([[(a == b).mean(1) for b in maps] for a in maps])
    # concordances lie close together: answers must be read sharply
    assert information.fit_sharpness(both) > 2
    with refused(SelectionError, "needs three models and an image on which they differ; got 2 models"):
        information.fit_sharpness(both[:2, :2])


def test_a_mixture_draws_each_part_at_its_share() -> None:
    mad, value = RNG.random(9), RNG.random(9)
    found = information.mix(mad, value)
    assert found.sum() == pytest.approx(9)
    assert found / 9 == pytest.approx(0.75 * mad / mad.sum() + 0.25 * value / value.sum())
    with refused(OptionError, "share of MAD's weights must lie in"):
        information.mix(mad, value, 1.5)


@pytest.mark.parametrize("sharpness", [0.0, -1.0, float("nan"), float("inf")])
def test_a_sharpness_is_above_zero(sharpness: float) -> None:
    with refused(OptionError, "sharpness of answers must be a number above 0"):
        information.information_of_labels(LABELS, BELIEF, sharpness)
