"""What the definition of a selection that draws for all models at once implies: whether it learns from
labels, its stream of random numbers, its weights.

Conventions: a definition is what a selection's file holds, in a form that JSON can hold: ``selector``,
``seed`` and the options that can change what is drawn.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from faultscape.errors import OptionError
from faultscape.nouns import Definition
from faultscape.selection.catalogue import Selector, find_selector
from faultscape.selection.weights import drawing_weights

# in the definition of disputed classifiers whose draws use labels; missing in earlier versions
WEIGHED = {"votes": "weighed"}
# in the definition of draws with a random stream of their own; missing in earlier versions, whose stream
# depends on the selector alone
STREAM = {"stream": "definition"}
ROUND = 10  # initial number of images when looking for the best model: the next draws use their labels


def learns(define: Definition) -> bool:
    """Return whether draws learn from the labels before them; False if the order of all models is asked for,
    since what is learnt is soon about the best model alone (docs/benchmarks/choice.md).
    """
    return (find_selector(define["selector"]).adaptive and define.get("goal") != "order") or weighs_votes(
        define
    )


def draws_evenly(define: Definition) -> bool:
    """Return whether each image had the same probability; False for a selector whose file is gone, since it
    cannot be checked.

    >>> (
    ...     draws_evenly({"selector": "random"}),
    ...     draws_evenly({"selector": "disputed"}),
    ...     draws_evenly({"selector": "gone.py:MINE"}),
    ... )
    (True, False, False)
    """
    found = _selector_there(define)
    return found is not None and found.even


def may_duel(define: Definition) -> bool:
    """Return whether models duel under this selector when it has no temperature."""
    found = _selector_there(define)
    return found is not None and bool(found.duels)


def _selector_there(define: Definition) -> Selector | None:
    try:
        return find_selector(define["selector"])
    except OptionError:  # one of the user's own, whose file is gone
        return None


def weighs_votes(define: Definition) -> bool:
    """Return whether disputes are weighted by how reliable labels so far show the models to be; without
    labels all models count alike.
    """
    return find_selector(define["selector"]).learns == "votes" and define.get("votes") == WEIGHED["votes"]


def stream(define: Definition) -> tuple[int, int]:
    """Return the seed of a selection's random numbers: different definitions get different streams, so that
    labels of two selections come from independent draws.

    >>> (
    ...     stream({"selector": "random", "seed": 0}),
    ...     stream({"selector": "random", "seed": 0, "goal": "order", **STREAM}),
    ... )
    ((0, 373021397), (0, 995265046))
    """
    words = [find_selector(define["selector"]).name]
    if define.get("stream") == STREAM["stream"]:  # for files only the name: their folder does not matter
        told = (
            define.get(key) for key in ("goal", "temperature", "concordance", "over", "distance", "combined")
        )
        words += [
            f"{one:g}" if isinstance(one, float | int) else Path(one).name for one in told if one is not None
        ]
    return define["seed"], zlib.crc32(" ".join(words).encode())


def weights_as_defined(define: Definition, facts: dict[str, np.ndarray]) -> np.ndarray:
    """Return the weights (I,) in proportion to which a selection with this definition draws images, zero
    outside the pool.
    """
    asked = {key: define[key] for key in ("temperature", "sharpness") if key in define}
    return drawing_weights(define["selector"], facts, **asked)
