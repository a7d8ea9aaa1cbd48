"""Selectors on eight real classifiers lie where they were measured before, within three standard errors of
the difference.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn.estimates import lure, prediction_powered
from faultscape.selection import model_picker, proposals
from faultscape.selection.draws import Draws, draw
from faultscape.selection.weights import drawing_weights

# (selector, labels): the Spearman correlation measured before, and over how many repeats
BEFORE = {
    ("random", 72): (0.466, 200),
    ("disputed", 72): (0.819, 200),
    ("expected-loss", 72): (0.807, 20),
    ("vma", 72): (0.747, 20),
    ("model-picker", 72): (0.580, 20),
    ("random", 104): (0.523, 20),
    ("disputed", 104): (0.86, 2000),
}


class Emotion:
    """The set, in the order of a seed: which images come first decides ties."""

    def __init__(self, predictions: np.ndarray, truth: np.ndarray, seed: int = 0) -> None:
        order = np.random.default_rng(seed).permutation(len(truth))
        self.labels, self.truth = predictions[order].T, truth[order]
        self.losses = (self.labels != self.truth).astype(float)
        first, second = np.triu_indices(len(self.labels), 1)
        self.differs = (self.labels[first] != self.labels[second]).astype(float)
        self.expected = proposals.expected_of_labels(self.labels)
        facts = {
            "complete": np.ones(len(truth), bool),
            "dispute": proposals.disputed(self.differs, graded=False),
        }
        facts |= {"expected": self.expected, "discrepancy": self.differs}
        self.weights = {  # as `select` makes them
            name: drawing_weights(name, facts)
            for name in ("random", "disputed", "expected-loss", "vma", "mad")
        }


@pytest.fixture(scope="module")
def given(data: Path) -> tuple[np.ndarray, np.ndarray]:
    file = data / "classifiers" / "model-picker" / "emotion_detection.npz"
    if not file.is_file():
        pytest.skip(f"no {file.name} in {data}")
    held = np.load(file)
    return held["predictions"].astype(int), held["labels"].ravel().astype(int)


@pytest.fixture(scope="module")
def emotion(given: tuple[np.ndarray, np.ndarray]) -> Emotion:
    return Emotion(*given)


def agreement(emotion: Emotion, loss: np.ndarray) -> float:
    return float(np.nan_to_num(spearman(loss, emotion.losses.mean(1))))


def near(found: list[float], selector: str, labels: int) -> None:
    """Hold the mean to the figure measured before; its error is taken from the spread here and its own
    repeats.
    """
    before, repeats = BEFORE[selector, labels]
    spread = np.std(found, ddof=1)
    error = spread * np.sqrt(1 / repeats + 1 / len(found))
    assert abs(np.mean(found) - before) < 3 * error, (np.mean(found), before, error)


@pytest.mark.slow
@pytest.mark.parametrize(("selector", "labels"), [key for key in BEFORE if key[0] != "model-picker"])
def test_a_selector_with_probabilities_ranks_as_measured_before(
    emotion: Emotion, selector: str, labels: int
) -> None:
    found = []
    for seed in range(200):
        drawn = draw(emotion.weights[selector], labels, seed=seed)
        found.append(
            agreement(emotion, lure(emotion.losses[:, drawn.images], drawn.probability, drawn.pool).loss)
        )
    near(found, selector, labels)


@pytest.mark.slow
def test_the_model_picker_ranks_as_measured_before(given: tuple[np.ndarray, np.ndarray]) -> None:
    found = []
    for seed in range(8):
        whole = Emotion(*given, seed=seed)
        where = np.flatnonzero(whole.weights["disputed"])
        labels, truth = whole.labels[:, where], whole.truth[where]
        asked: list[int] = []
        for _ in range(72):
            belief = model_picker.belief(labels[:, asked], truth[asked])
            asked.append(model_picker.query(labels, belief, 4, asked=tuple(asked)))
        found.append(agreement(whole, whole.losses[:, where[asked]].mean(1)))
    near(found, "model-picker", 72)


def powered(emotion: Emotion, drawn: Draws, weights: np.ndarray) -> np.ndarray:
    pool = np.flatnonzero(weights)
    places = np.searchsorted(pool, drawn.images)
    return prediction_powered(
        emotion.losses[:, drawn.images], drawn.probability, emotion.expected[:, pool], places
    ).loss


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["disputed", "mad"])
def test_a_control_variate_reaches_87_hundredths_with_104_labels(emotion: Emotion, selector: str) -> None:
    weights = emotion.weights[selector]
    found = [agreement(emotion, powered(emotion, draw(weights, 104, seed=s), weights)) for s in range(300)]
    assert np.mean(found) - 2 * np.std(found) / np.sqrt(len(found)) > 0.86
    assert np.mean(found) > 0.87


@pytest.mark.parametrize("selector", ["disputed", "expected-loss", "vma", "mad"])
def test_no_selector_but_random_draws_what_all_models_agree_on(emotion: Emotion, selector: str) -> None:
    assert ((emotion.weights[selector] > 0) == emotion.differs.any(0)).all()
    assert (emotion.weights["random"] > 0).all()


def test_differences_on_disputed_images_are_those_of_the_corpus(emotion: Emotion) -> None:
    where = emotion.weights["disputed"] > 0
    assert where.sum() == 902
    inside, whole = emotion.losses[:, where].mean(1), emotion.losses.mean(1)
    assert (inside - inside[0]) * where.mean() == pytest.approx(whole - whole[0], abs=1e-12)
