"""Other people's rules for finding the best of many classifiers, re-derived from their papers for the table of
`best_model.py`.

Conventions: a rule returns its scores (G, J) of the models of a pool after the numbers of labels that are
``looked`` at. All take the most informative image, ties by chance
(``rng``), and know no draw probabilities. *CODA* (Kay et al. 2025, arXiv 2507.23771): a Dirichlet prior of each
row of each model's confusion matrix, from agreement with the most frequent answer; a label adds a hundredth
of an observation, and the next is the one that is expected to say most about which model is best. *Model
Selector* (Okanovic et al. 2024): ``selection.model_picker``, ranked by right answers. *Select-LLM*
(arXiv 2605.24981), of which we had the abstract: ``selection.information``, largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from leave_one_out import Pool, picker
from scipy.special import betaln

from faultscape.selection import model_picker

BESIDE, STRENGTH, RATE, POINTS = 0.1, 2.0, 0.01, 256  # CODA's settings
LEAST = 1e-30


class Coda:
    """CODA's posterior over the confusion matrices of J models with C classes, and over which is best."""

    def __init__(self, labels: np.ndarray, classes: int) -> None:
        self.labels, self.classes = labels, classes
        j = len(labels)
        frequent = np.stack([(labels == c).sum(0) for c in range(classes)]).argmax(0)
        agreed = np.zeros((j, classes, classes))
        for own, row in zip(agreed, labels, strict=True):
            np.add.at(own, (frequent, row), 1)
        agreed /= np.maximum(agreed.sum(2, keepdims=True), 1e-6)
        base = np.full((classes, classes), 1 / (classes - 1))
        np.fill_diagonal(base, 1.0)
        self.counts = STRENGTH * (base + BESIDE * agreed)
        self.likely = np.stack(
            [self.counts[np.arange(j)[:, None], c, labels].sum(0) for c in range(classes)], axis=1
        )
        self.grid = np.linspace(1e-6, 1 - 1e-6, POINTS)
        step = np.diff(self.grid)
        self.step = step
        self.area = np.append(step, 0) / 2 + np.insert(step, 0, 0) / 2
        self.candidates = np.flatnonzero((labels != labels[0]).any(0))
        self.patterns, self.pattern_of = [], []
        for c in range(classes):
            found, place = np.unique(labels[:, self.candidates] == c, axis=1, return_inverse=True)
            self.patterns.append(found.T)
            self.pattern_of.append(place.ravel())
        self.rows = np.array([self.row(c) for c in range(classes)])
        self.after = [self.row(c, self.patterns[c]) for c in range(classes)]

    def row(self, c: int, right: np.ndarray | None = None) -> np.ndarray:
        """Return (J,) the probability that each model is best on a class, or (U, J) after one more answer of
        it, from which models would be ``right`` (U, J).
        """
        a = self.counts[:, c, c]
        b = self.counts[:, c].sum(1) - a
        if right is None:
            return self._best(np.ones((1, len(a)), bool), self._curves(a, b), self._curves(a, b))[0]
        return self._best(right, self._curves(a + 1, b), self._curves(a, b + 1))

    def _curves(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the densities and distributions (J, POINTS) of beta variables."""
        x = self.grid
        density = np.exp(
            (a[:, None] - 1) * np.log(x) + (b[:, None] - 1) * np.log1p(-x) - betaln(a, b)[:, None]
        )
        below = np.zeros_like(density)
        below[:, 1:] = np.cumsum((density[:, 1:] + density[:, :-1]) / 2 * self.step, 1)
        return density, np.maximum(below, LEAST)

    def _best(
        self, right: np.ndarray, if_right: tuple[np.ndarray, ...], if_wrong: tuple[np.ndarray, ...]
    ) -> np.ndarray:
        (up, below_up), (down, below_down) = if_right, if_wrong
        both = np.log(below_down).sum(0) + right @ (np.log(below_up) - np.log(below_down))
        inside = np.exp(both) * self.area
        found = np.where(right, inside @ (up / below_up).T, inside @ (down / below_down).T)
        return found / np.maximum(found.sum(1, keepdims=True), LEAST)

    def classes_of(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (I, C) and (C,) the probabilities of the classes of each image, and of all."""
        own = self.likely / self.likely.sum(1, keepdims=True)
        return own, own.mean(0)

    def best(self) -> np.ndarray:
        """Return (J,) the probability that each model is the best."""
        return self.classes_of()[1] @ self.rows

    def gain(self) -> np.ndarray:
        """Return the information that each candidate is expected to give about which model is best."""
        own, every = self.classes_of()
        now = every @ self.rows
        out = np.full(len(self.candidates), _bits(now))
        for c in range(self.classes):
            then = _bits(now + every[c] * (self.after[c] - self.rows[c]))
            out -= own[self.candidates, c] * then[self.pattern_of[c]]
        return out

    def learn(self, image: int, c: int) -> None:
        """Take in the true class of an image."""
        said = self.labels[:, image]
        self.counts[np.arange(len(said)), c, said] += RATE
        self.likely[:, c] += RATE * (self.labels == said[:, None]).sum(0)
        self.rows[c] = self.row(c)
        self.after[c] = self.row(c, self.patterns[c])


def _bits(p: np.ndarray) -> np.ndarray:
    p = np.maximum(p, 1e-12)
    return -(p * np.log2(p)).sum(-1)


def coda(pool: Pool, looked: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Return CODA's probabilities that each model is the best."""
    state = Coda(pool.labels, classes_of(pool))

    def learn(place: int) -> None:
        image = int(state.candidates[place])
        state.learn(image, int(pool.truth[image]))

    return _one_by_one(len(state.candidates), state.gain, learn, state.best, looked, rng)


def model_selector(pool: Pool, looked: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Return how many of Model Selector's answers each model had right."""
    labels, truth = pool.labels[:, pool.differ], pool.truth[pool.differ]
    value = picker(pool, classes_of(pool))
    asked: list[int] = []

    def right() -> np.ndarray:
        return (labels[:, asked] == truth[asked]).sum(1).astype(float)

    return _one_by_one(
        len(truth),
        lambda: value(model_picker.belief(labels[:, asked], truth[asked])),
        asked.append,
        right,
        looked,
        rng,
    )


def select_llm(pool: Pool, looked: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Return Select-LLM's beliefs that each model is the best."""
    asked: list[int] = []

    def belief() -> np.ndarray:
        return pool.belief(pool.differ[asked])

    return _one_by_one(len(pool.differ), lambda: pool.value(belief()), asked.append, belief, looked, rng)


def classes_of(pool: Pool) -> int:
    """Return the number of classes of a pool."""
    return int(max(pool.labels.max(), pool.truth.max())) + 1


def _one_by_one(
    images: int,
    value: Callable[[], np.ndarray],
    learn: Callable[[int], object],
    scores: Callable[[], np.ndarray],
    looked: Sequence[int],
    rng: np.random.Generator,
) -> np.ndarray:
    """Ask for the image of the largest value, again and again, and return the scores at each look."""
    free = np.ones(images, bool)
    out = []
    for number in range(1, min(max(looked), images) + 1):
        now = np.where(free, value(), -np.inf)
        most = now.max()
        place = int(rng.choice(np.flatnonzero(now >= most - 1e-8 * abs(most) - 1e-12)))
        free[place] = False
        learn(place)
        if number in looked:
            out.append(scores())
    return np.array(out)
