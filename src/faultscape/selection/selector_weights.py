"""What each selector prefers, image by image: its weights, or the order in which it takes images
deterministically.

Conventions: ``facts`` are those of ``reading.pool``, (..., I): ``complete`` always, the rest as the
selector's entry in ``catalogue`` needs it. They include what labels so far say: the ``trust`` (J,) in each
model's vote, the ``belief`` (J,) that it is the best (uniform if missing), or ``value`` (I,), what each
answer says under this belief, if it is known already. ``options`` are the selector's. Images that are not
complete are ignored.
Source: the selectors are those of ``proposals``, ``information`` and ``model_picker``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import numpy as np

from faultscape.selection import information, model_picker, proposals

Facts = Mapping[str, np.ndarray]


class DrawOptions(TypedDict, total=False):
    """The options of a selector: the ``temperature`` of discrepancies, the ``sharpness`` of information
    (None: fitted), the number of ``classes``, and model picker's ``epsilon``.
    """

    temperature: float
    sharpness: float | None
    classes: int
    epsilon: float


# sharpness for classifiers' answers and for label maps, if there are only two models and nothing to fit it on
UNFITTED = {True: 0.5, False: 5.0}
_BLOCK = 20_000  # images at a time


def weigh_random(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) ones: all images weigh the same."""
    del options
    return proposals.uniform(len(facts["complete"]))


def weigh_disputed(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) how far models differ; with ``trust`` how far the trusted ones do."""
    del options
    complete = facts["complete"]
    if "trust" not in facts:
        return facts["dispute"]
    weight = np.zeros(len(complete))  # among classifiers, one below chance would make every image disputed
    weight[complete] = proposals.disputed_among_trusted(facts["labels"][:, complete], facts["trust"])
    return weight


def weigh_mad(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) the mean over pairs of each pair's discrepancies as shares, sharpened by
    ``temperature``.
    """
    complete = facts["complete"]
    weight = np.zeros(len(complete))
    weight[complete] = proposals.mad(facts["discrepancy"][:, complete], options.get("temperature", 1.0))
    return weight


def weigh_expected_loss(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) the expected loss of the models."""
    del options
    return proposals.expected_loss(facts["expected"], where=_differing(facts))


def weigh_vma(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) how much the expected losses vary among the models."""
    del options
    return proposals.vma(facts["expected"], where=_differing(facts))


def weigh_information(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) how much each answer says about which model is best, with a floor."""
    inside = _differing(facts)
    return (
        proposals.floored(_value(facts, inside, options.get("sharpness")), where=inside)
        if inside.any()
        else np.zeros(len(inside))
    )


def weigh_mad_and_information(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) three quarters of the weight by discrepancy, a quarter by information."""
    complete = facts["complete"]
    weight = weigh_information(facts, options)
    if weight.any():
        weight[complete] = information.mix(proposals.mad(facts["discrepancy"][:, complete]), weight[complete])
    return weight


def prefer_entropy(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) the entropy of the models' votes, larger first."""
    del options
    return facts["entropy"]


def prefer_model_picker(facts: Facts, options: DrawOptions) -> np.ndarray:
    """Return (I,) how little uncertainty about the best model, given ``belief``, is expected to remain after
    a label of one of ``classes``.
    """
    out = np.full(len(facts["complete"]), -np.inf)
    inside = facts["complete"]
    out[inside] = -model_picker.remaining(
        facts["labels"][:, inside], facts["belief"], options["classes"], epsilon=options["epsilon"]
    )
    return out


def _differing(facts: Facts) -> np.ndarray:
    """Return the images that distinguish models: if all agree, losses are equal, and a confident but wrong
    ensemble would mislead the estimate.
    """
    return facts["complete"] & (facts["dispute"] > 0)


def fitted_sharpness(facts: Facts) -> float:
    """Return how closely answers are expected to follow the best model, fitted on images where models differ.

    >>> fitted_sharpness(
    ...     {"complete": np.ones(2, bool), "dispute": np.ones(2), "labels": np.array([[0, 1], [1, 0]])}
    ... )
    0.5
    """
    some = np.flatnonzero(facts["complete"] & (facts["dispute"] > 0))
    some = some[np.random.default_rng(0).permutation(len(some))[: information.SAMPLE]]
    said = facts["labels"] if "labels" in facts else facts["agreement"]
    if len(said) < 3 or not len(some):
        return UNFITTED["labels" in facts]
    return information.fit_sharpness(
        (said[:, None, some] == said[:, some]) if "labels" in facts else said[..., some]
    )


def _value(facts: Facts, inside: np.ndarray, sharpness: float | None) -> np.ndarray:
    """Return (I,) how much the answer to each image ``inside`` says about which model is best, 0
    elsewhere.
    """
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
