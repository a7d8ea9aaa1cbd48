"""The weights by which a selector draws, given the models' predictions for every image. `select`, `plan`,
`rank` and the benchmarks all take them from here.

Conventions: as in ``selector_weights``; the weight of an image that is not complete is 0.

``facts`` hold the predictions for each image, by name, as ``selector_weights`` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultscape.errors import OptionError, SelectionError
from faultscape.selection.catalogue import SELECTORS, Selector, find_selector
from faultscape.selection.draws import has_sum

CHANCE = tuple(one.name for one in SELECTORS if one.weigh is not None)
INFORMED = tuple(one.name for one in SELECTORS if one.informed)


def drawing_weights(
    selector: str | Selector,
    facts: Mapping[str, np.ndarray],
    *,
    temperature: float = 1.0,
    sharpness: float | None = None,
) -> np.ndarray:
    """Return the weights (I,) in proportion to which a selector draws images, zero outside its pool.

    ``selector`` is a name of the catalogue, ``file.py:NAME`` or an entry. ``temperature`` applies to ``mad``,
    ``sharpness`` to information: fitted on the facts if None. Errors: SelectionError if there is no image to
    draw; OptionError for a selector that does not draw at random, or invalid weights.

    >>> facts = {"complete": np.array([True, True, True, False]), "dispute": np.array([0.0, 1.0, 1.0, 0.0])}
    >>> drawing_weights("random", facts), drawing_weights("disputed", facts)
    (array([1., 1., 1., 0.]), array([0., 1., 1., 0.]))
    >>> drawing_weights(
    ...     "information", facts | {"labels": np.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 2, 0]])}
    ... ).round(3)
    array([0.   , 0.595, 1.014, 0.   ])
    """
    entry = find_selector(selector) if isinstance(selector, str) else selector
    called = f"selector {selector if isinstance(selector, str) else selector.name}"
    complete = facts["complete"]
    if not complete.any():
        raise SelectionError("there is no image that every model has an answer for")
    if entry.weigh is None:
        raise OptionError(f"selector {entry.name!r} does not draw at random: it has no weights")
    weight = np.asarray(entry.weigh(facts, {"temperature": temperature, "sharpness": sharpness}), dtype=float)
    if weight.shape != complete.shape or not (np.isfinite(weight[complete]) & (weight[complete] >= 0)).all():
        raise OptionError(
            f"{called} must give each of {len(complete)} images one finite weight, none below 0"
        )
    weight = np.where(complete, weight, 0.0)
    if not has_sum(weight):
        raise OptionError(f"{called} gives weights whose sum is not finite; divide them by the largest")
    if not weight.any():
        raise SelectionError("no two models differ on any image: no label could separate them")
    return weight
