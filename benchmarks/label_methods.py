"""The selectors and rankings of the label-efficiency benchmark, as the rooms give them.

Conventions: a selector returns the images in the order in which they would be labelled, so that a budget is a
prefix, and the probabilities of the draws and the pool where it has them. A ranking returns one score a
model, large = good.
"""

from __future__ import annotations

import numpy as np
from label_sets import Set

from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.methods.bradley_terry import bradley_terry, wins
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.selection import model_picker, proposals
from faultscape.selection.draws import Draws
from faultscape.selection.weights import drawing_weights

POWER = 1 / 3  # of margins, as `rank` had them when docs/benchmarks/labels.md was made


def weights(chosen: Set) -> dict[str, np.ndarray]:
    """Return the weights (I,) of every selector that draws."""
    graded = chosen.labels is None
    facts = {
        "complete": np.ones(chosen.losses.shape[1], bool),
        "dispute": proposals.disputed(chosen.discrepancy, graded=graded),
    }
    facts |= {"expected": chosen.expected, "discrepancy": chosen.discrepancy}
    given = {name: drawing_weights(name, facts) for name in ("random", "disputed", "expected-loss", "vma")}
    given["mad, temperature 1"] = drawing_weights("mad", facts)
    if graded:
        return given | {"mad, temperature .5": drawing_weights("mad", facts, temperature=0.5)}
    return given | {"expected-loss, whole pool": proposals.expected_loss(chosen.expected)}


def top_pairs(chosen: Set, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return MAD's images, each pair's best, then each pair's second, ...; and its duels (rows: pair, image
    place).
    """
    order = np.argsort(-chosen.discrepancy, axis=1, kind="stable")[:, :most]
    images: dict[int, int] = {}
    duels = []
    for pair, image in ((p, int(i)) for column in order.T for p, i in enumerate(column)):
        if chosen.discrepancy[pair, image] > 0:
            if image not in images and len(images) == most:
                break
            duels.append((pair, images.setdefault(image, len(images))))
    return np.array(list(images)), np.array(duels)


def picked(chosen: Set, most: int, epsilon: float = model_picker.EPSILON) -> np.ndarray:
    """Return the images that the model picker asks for, each after the answers to those before."""
    assert chosen.labels is not None
    assert chosen.truth is not None
    differ = np.flatnonzero((chosen.discrepancy > 0).any(0))
    labels, truth = chosen.labels[:, differ], chosen.truth[differ]
    classes = int(max(chosen.labels.max(), chosen.truth.max())) + 1
    asked: list[int] = []
    while len(asked) < min(most, len(differ)):
        belief = model_picker.belief(labels[:, asked], truth[asked], epsilon)
        asked.append(model_picker.query(labels, belief, classes, asked=tuple(asked), epsilon=epsilon))
    return differ[asked]


def reused(losses: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rankings that re-use labels (J, M) as they come."""
    return {"mean": -losses.mean(1), "Bradley-Terry": bradley_terry(wins(-losses))[0]}


def weighted(chosen: Set, draws: Draws, budget: int, proxies: dict[str, np.ndarray]) -> dict[str, Estimates]:
    """Return the estimates from the first draws; ``proxies`` are (J, N) over the pool of these draws."""
    images, q = draws.images[:budget], draws.probability[:budget]
    places = np.searchsorted(proxies["images"], images)
    losses = chosen.losses[:, images]
    return {
        "LURE": estimates.lure(losses, q, draws.pool),
        "LURE + control": estimates.prediction_powered(losses, q, proxies["loss"], places),
        "margins + control": estimates.prediction_powered(
            estimates.margins(losses, POWER), q, proxies["margin"], places
        ),
    }


def controlled(losses: np.ndarray, images: np.ndarray, proxies: dict[str, np.ndarray]) -> np.ndarray:
    """Return margins re-used as they come, as if drawn evenly: what the choice of images tilts, the control
    variate takes back.
    """
    size = len(proxies["images"])
    places = np.searchsorted(proxies["images"], images)
    even = estimates.uniform_steps(len(images), size)
    return -estimates.prediction_powered(
        estimates.margins(losses, POWER), even, proxies["margin"], places
    ).loss


def proxies(chosen: Set, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Return the pool of these weights and the expected losses and margins on it."""
    pool = np.flatnonzero(weight > 0)
    expected = chosen.expected[:, pool]
    return {"images": pool, "loss": expected, "margin": estimates.margins(expected, POWER)}


def truth(chosen: Set, pool: np.ndarray) -> dict[str, np.ndarray]:
    """Return each model's mean loss and mean margin on the pool, by all labels."""
    losses = chosen.losses[:, pool]
    return {"loss": losses.mean(1), "margin": estimates.margins(losses, POWER).mean(1)}


def faithful(chosen: Set, losses: np.ndarray, duels: np.ndarray) -> np.ndarray:
    """Return the papers' own rankings, from each pair's own labels: Perron (S2 eq. 5) of classes,
    aggressiveness of maps (S0).
    """
    j = len(losses)
    score = np.ones((j, j))  # of the row model on the images of its pair with the column model
    for pair, (a, b) in enumerate(zip(*np.triu_indices(j, 1), strict=True)):
        own = 1 - losses[:, duels[duels[:, 0] == pair, 1]]
        if chosen.labels is None:
            score[a, b], score[b, a] = (own.mean(1)[[a, b]] if own.size else np.ones(2)) + 0.01
        else:
            score[a, b], score[b, a] = (own.sum(1)[[a, b]] + 1) / (own.shape[1] + 2)
    ratio = score / score.T
    if chosen.labels is None:
        return thurstone(ratio)
    values, vectors = np.linalg.eig(ratio)
    return np.abs(vectors[:, np.argmax(values.real)].real)
