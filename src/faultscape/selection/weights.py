"""What each selector that draws by chance prefers, once it is known what the models say of every image: the one place from which `select`, `plan`, `rank` and the benchmarks have it.

Conventions: ``facts`` are those of ``stored_facts``, (..., I): ``complete`` always; ``dispute``, ``expected``, ``discrepancy``, and ``labels`` of classifiers or ``agreement`` of label maps, as
``NEEDS`` says. What labels so far say stands beside them: the ``trust`` (J,) in each model's vote, the ``belief`` (J,) that it is the best (equal without), or ``value`` (I,), what each answer tells under such a belief,
where that is known already. Nothing is read of images that are not complete; their weight is 0.
Source: the selectors are those of ``proposals`` and ``information``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultscape.errors import SelectionError
from faultscape.selection import information, proposals

INFORMED = ("information", "mad+information")
NEEDS = {
    "random": (), "disputed": ("dispute",), "expected-loss": ("expected", "dispute"), "vma": ("expected", "dispute"), "mad": ("discrepancy",),
    "information": ("similarity", "dispute"), "mad+information": ("similarity", "dispute", "discrepancy"),
}  # fmt: skip
CHANCE = tuple(NEEDS)
# sharpness of classifiers' answers and of label maps, where two models alone leave nothing to fit it on
UNFITTED = {True: 0.5, False: 5.0}
_BLOCK = 20_000  # images at a time


def drawing_weights(
    selector: str, facts: Mapping[str, np.ndarray], *, temperature: float = 1.0, sharpness: float | None = None
) -> np.ndarray:
    """Return the weights (I,) in proportion to which a selector draws images, zero outside its pool.

    ``temperature`` is of ``mad``, ``sharpness`` of information: fitted on the facts where it is None. SelectionError where there is no image to draw.

    >>> facts = {"complete": np.array([True, True, True, False]), "dispute": np.array([0.0, 1.0, 1.0, 0.0])}
    >>> drawing_weights("random", facts), drawing_weights("disputed", facts)
    (array([1., 1., 1., 0.]), array([0., 1., 1., 0.]))
    >>> drawing_weights("information", facts | {"labels": np.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 2, 0]])}).round(3)
    array([0.   , 0.595, 1.014, 0.   ])
    """
    complete = facts["complete"]
    if not complete.any():
        raise SelectionError("there is no image of which every model has something to say")
    if selector == "random":
        weight = proposals.uniform(len(complete))
    elif selector == "disputed":
        weight = facts["dispute"]
        if "trust" in facts:  # of classifiers one, below chance, would make every image disputed
            weight = np.zeros(len(complete))
            weight[complete] = proposals.disputed_among_trusted(facts["labels"][:, complete], facts["trust"])
    elif selector == "mad":
        weight = np.zeros(len(complete))
        weight[complete] = proposals.mad(facts["discrepancy"][:, complete], temperature)
    elif selector in INFORMED:
        inside = complete & (facts["dispute"] > 0)
        weight = np.zeros(len(complete))
        if inside.any():
            weight = proposals.floored(_value(facts, inside, sharpness), where=inside)
        if selector == "mad+information" and inside.any():
            weight[complete] = information.mix(proposals.mad(facts["discrepancy"][:, complete]), weight[complete])
    else:
        function = proposals.expected_loss if selector == "expected-loss" else proposals.vma
        # where all agree losses are equal: labels there tell no model from another, and the ensemble, sure and wrong, would mislead the estimate
        weight = function(facts["expected"], where=complete & (facts["dispute"] > 0))
    weight = np.where(complete, weight, 0.0)
    if not weight.any():
        raise SelectionError("no two models differ on any image: there is nothing that a label could decide")
    return weight


def fitted_sharpness(facts: Mapping[str, np.ndarray]) -> float:
    """Return how closely answers are to be expected to follow the best model, fitted on images where models differ.

    >>> fitted_sharpness({"complete": np.ones(2, bool), "dispute": np.ones(2), "labels": np.array([[0, 1], [1, 0]])})
    0.5
    """
    some = np.flatnonzero(facts["complete"] & (facts["dispute"] > 0))
    some = some[np.random.default_rng(0).permutation(len(some))[: information.SAMPLE]]
    said = facts["labels"] if "labels" in facts else facts["agreement"]
    if len(said) < 3 or not len(some):
        return UNFITTED["labels" in facts]
    return information.fit_sharpness((said[:, None, some] == said[:, some]) if "labels" in facts else said[..., some])


def _value(facts: Mapping[str, np.ndarray], inside: np.ndarray, sharpness: float | None) -> np.ndarray:
    """Return (I,) how much the answer to each image ``inside`` tells about which model is best, 0 elsewhere."""
    if "value" in facts:
        return facts["value"]
    sharpness = fitted_sharpness(facts) if sharpness is None else sharpness
    said = facts["labels"] if "labels" in facts else facts["agreement"]
    belief = facts.get("belief", np.full(len(said), 1 / len(said)))
    tell = information.information_of_labels if "labels" in facts else information.information_of_similarities
    out = np.zeros(len(inside))
    for places in np.split(np.flatnonzero(inside), range(_BLOCK, int(inside.sum()), _BLOCK)):
        out[places] = tell(said[..., places], belief, sharpness)
    return out
