"""S2 written down a second time, slowly and plainly: selection, accuracies, dominance, Perron's rank. It
shares no code with the package.

Conventions: labels and confidences are {model: {image: value}}, the truth {image: set of labels}, distances a
function of two labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import combinations

import numpy as np


def chains(parents: dict[str, list[str]], node: str) -> list[list[str]]:
    """Every chain from the root to a node."""
    above = [chain for parent in parents[node] for chain in chains(parents, parent)]
    return [[*chain, node] for chain in above] if parents[node] else [[node]]


def weighted(parents: dict[str, list[str]], one: str, other: str) -> float:
    """The least over pairs of chains of the sum over nodes of either chain that the other lacks of 2^(1 -
    position).
    """
    best = float("inf")
    for first in chains(parents, one):
        for second in chains(parents, other):
            sides = ((first, second), (second, first))
            best = min(
                best,
                sum(
                    2.0 ** (1 - k)
                    for mine, theirs in sides
                    for k, node in enumerate(mine)
                    if node not in theirs
                ),
            )
    return best


def slots(
    labels: dict[str, dict[str, str]],
    sure: dict[str, dict[str, float]],
    distance: Callable[[str, str], float],
    *,
    top: int,
    confidence: float,
    cap: int,
) -> dict[tuple[str, str], list[str]]:
    """The images of every unordered pair, in order; what is equal follows a hash of its id, as images of
    which no bytes are known do under seed 0.
    """
    out = {}
    for one, other in combinations(labels, 2):
        candidates = []
        for image in labels[one]:
            a, b = labels[one][image], labels[other][image]
            least = min(sure[one][image], sure[other][image]) if sure else 1.0
            if a != b and least >= confidence:
                chance = hashlib.blake2b(f"0 {image}".encode(), digest_size=8).digest()
                candidates.append((-distance(a, b), -least, chance, image, a, b))
        taken, held = [], {}
        for *_, image, a, b in sorted(candidates):
            if held.get(("one", a), 0) < cap and held.get(("other", b), 0) < cap and len(taken) < top:
                held["one", a], held["other", b] = held.get(("one", a), 0) + 1, held.get(("other", b), 0) + 1
                taken.append(image)
        out[one, other] = taken
    return out


def matrices(
    chosen: dict[tuple[str, str], list[str]],
    labels: dict[str, dict[str, str]],
    truth: dict[str, set[str]],
    laplace: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and Perron's rank."""
    names = list(labels)
    a = np.full((len(names), len(names)), np.nan)
    for (one, other), images in chosen.items():
        i, j = names.index(one), names.index(other)
        for model, x, y in ((one, i, j), (other, j, i)):
            right = sum(labels[model][image] in truth[image] for image in images)
            a[x, y] = (right + laplace) / (len(images) + 2 * laplace)
    b = a / a.T
    np.fill_diagonal(b, 1)
    power, rank = np.ones(len(names)), np.zeros(len(names))
    for _ in range(3000):  # eq. 5: the mean of B^alpha 1 / (1' B^alpha 1)
        power = b @ power
        power /= power.sum()
        rank = power
    return a, b, rank
