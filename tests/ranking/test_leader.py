"""The order of classifiers from their agreement and a few labels: against loops written out, and on models of
which most err alike.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import RankingError
from faultscape.ranking.drawn.leader import NOISE, PRIOR, WORTH, Consensus, believed, leading_margins
from faultscape.ranking.drawn.scores import Expected, reused_margins
from faultscape.ranking.panel import Panel

CLASSES = 5


def answers(rng: np.random.Generator, right: list[float], images: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels (J, I) of models that are right so often, each on images of its own, and the truth."""
    truth = rng.integers(CLASSES, size=images)
    other = (truth + rng.integers(1, CLASSES, size=(len(right), images))) % CLASSES
    return np.where(rng.random(other.shape) < np.array(right)[:, None], truth, other), truth


def written_out(labels: np.ndarray, classes: int, scores: np.ndarray) -> np.ndarray:
    """How likely each answer is right, image by image."""
    models, images = labels.shape

    def right(votes: list[float]) -> np.ndarray:
        out = np.zeros((models, images))
        for i in range(images):
            total = {
                c: sum(v for v, said in zip(votes, labels[:, i], strict=True) if said == c)
                for c in labels[:, i]
            }
            all_of_them = sum(np.exp(value) for value in total.values())
            out[:, i] = [np.exp(total[c]) / all_of_them for c in labels[:, i]]
        return out

    def votes(accuracy: np.ndarray) -> list[float]:
        return [max(float(np.log((classes - 1) * a / (1 - a))), 0.01) for a in accuracy]

    found = right([1.0] * models)
    for _ in range(2):
        found = right(votes((found.sum(1) + 1) / (images + 2)))
    agree = (found.sum(1) + 1) / (images + 2)
    known = (PRIOR * agree + scores.sum(1)) / (PRIOR + scores.shape[1])
    return right(votes(np.clip(known, 0.02, 0.98)))


def test_the_consensus_is_that_of_votes_written_out() -> None:
    labels, truth = answers(np.random.default_rng(0), [0.9, 0.7, 0.4, 0.1], 30)
    everyone = Consensus(labels, CLASSES)
    for number in (0, 7):
        scores = (labels == truth)[:, :number].astype(float)
        np.testing.assert_allclose(everyone(scores), written_out(labels, CLASSES, scores), atol=1e-12)


def test_the_noise_is_that_of_a_random_model_taken_for_the_truth() -> None:
    labels, _ = answers(np.random.default_rng(1), [0.8, 0.6, 0.5, 0.3], 20)
    right = (labels[:, None] == labels).astype(float)  # model, the one taken for the truth, image
    margins = right - right.mean(0)
    assert Consensus(labels, CLASSES).noise == pytest.approx(margins.var(1).sum(0).mean())


def test_without_labels_agreement_orders_models_also_below_chance() -> None:
    right = [0.85, 0.75, 0.65, 0.55, 0.1, 0.05]
    labels, _ = answers(np.random.default_rng(2), right, 2000)
    expected = Consensus(labels, CLASSES)(np.zeros((6, 0)))
    margins = leading_margins(np.zeros((6, 0)), expected, np.zeros(0, int), noise=1.0)
    assert np.argsort(-margins).tolist()[:4] == [0, 1, 2, 3]
    assert margins.sum() == pytest.approx(0)


def test_labels_win_against_a_majority_that_errs_alike() -> None:
    rng = np.random.default_rng(3)
    labels, truth = answers(rng, [0.8, *[0.15] * 9], 600)
    tempting = (truth + 1) % CLASSES
    labels[1:] = np.where(rng.random((9, 600)) < 0.7, tempting, labels[1:])
    everyone = Consensus(labels, CLASSES)
    leads = []
    for number in (0, 20):
        scores = (labels == truth)[:, :number].astype(float)
        leads.append(
            int(leading_margins(scores, everyone(scores), np.arange(number), everyone.noise).argmax())
        )
    assert leads[0] != 0
    assert leads[1] == 0


def test_labels_that_say_what_agreement_says_are_hardly_believed_against_it() -> None:
    rng = np.random.default_rng(4)
    agreed = rng.normal(0, 0.3, (8, 30))
    agreed -= agreed.mean(0)
    against = agreed + np.linspace(0.4, -0.4, 8)[:, None]
    assert believed(agreed, 0.7) < 0.35
    assert believed(against, 0.7) > 0.95
    assert believed(agreed[:, :0], 0.7) == 0
    assert believed(np.zeros((3, 4)), 0.0) == 1  # labels without noise


def test_how_far_labels_are_believed_is_the_mean_over_what_agreement_may_be_worth() -> None:
    residual = np.random.default_rng(5).normal(0, 0.4, (4, 9))
    average = residual.mean(1)
    one = (NOISE * 0.5 + ((residual - average[:, None]) ** 2).sum()) / (NOISE + 8)
    likely, told = [], []
    for worth in WORTH:
        variance = one * (1 / 9 + 1 / worth)
        likely.append(variance**-1.5 * np.exp(-1.5 * (average @ average) / variance))
        told.append(9 / (9 + worth))
    assert believed(residual, 0.5) == pytest.approx(np.average(told, weights=likely))


def test_classes_and_models_may_come_in_any_order() -> None:
    labels, truth = answers(np.random.default_rng(6), [0.8, 0.6, 0.4, 0.3], 50)
    scores = (labels == truth)[:, :5].astype(float)
    plain = Consensus(labels, CLASSES)(scores)
    renamed = np.array([3, 0, 4, 1, 2])[labels]
    np.testing.assert_allclose(Consensus(renamed[::-1], CLASSES)(scores[::-1]), plain[::-1], atol=1e-12)


def test_replicates_of_reused_labels_differ_as_labels_alone_do() -> None:
    labels, truth = answers(np.random.default_rng(7), [0.9, 0.7, 0.6, 0.2], 40)
    images = [f"{k:02}" for k in range(40)]
    drawn = np.array([3, 31, 8, 20, 11])
    scores = (labels == truth)[:, drawn].astype(float)
    everyone = Consensus(labels, CLASSES)
    consensus = everyone(scores)
    panel = Panel.of(["a", "b", "c", "d"], [images[k] for k in drawn], scores)
    drawn = np.array([images.index(name) for name in panel.images])  # it has an order of its own
    scores = panel.scores
    weights = np.array([[1.0, 1, 1, 1, 1], [3, 0, 0, 1, 1]])
    expected = Expected(images, np.zeros((4, 40)), consensus=consensus, noise=everyone.noise)
    found = reused_margins(panel, weights, expected)
    assert found is not None
    np.testing.assert_allclose(
        found[0], leading_margins(scores, consensus, drawn, everyone.noise), atol=1e-12
    )
    residual = scores - scores.mean(0) - (consensus - consensus.mean(0))[:, drawn]
    again = residual @ weights[1] / 5 - residual.mean(1)
    np.testing.assert_allclose(found[1] - found[0], again, atol=1e-12)


def test_some_images_of_a_pool_keep_their_consensus() -> None:
    whole = Expected(
        "abc", np.zeros((2, 3)), consensus=np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]]), noise=0.5
    )
    part = whole.only("ca")
    assert part.images == ["a", "c"]
    assert part.noise == 0.5
    np.testing.assert_array_equal(part.consensus, [[0.1, 0.3], [0.9, 0.7]])


def test_a_consensus_needs_models_and_images() -> None:
    with pytest.raises(RankingError, match=r"labels: expected models and images, J x N; got shape \(0, 3\)"):
        Consensus(np.zeros((0, 3), int), 2)
