"""What the definition of a selection that draws for all models at once says: whether it learns from labels,
its stream of random numbers, its weights.

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

# in the definition of disputed classifiers that are drawn with what labels say; of earlier versions it lacks
WEIGHED = {"votes": "weighed"}
# in the definition of what is drawn from a stream of random numbers of its own; of earlier versions, whose
# stream is the selector's alone, it lacks
STREAM = {"stream": "definition"}
ROUND = 10  # images at first where the best is sought: the next are drawn with what labels say


def learns(define: Definition) -> bool:
    """Return whether draws learn from the labels before them; not where the order of all is asked for: what
    is learnt is soon of the best alone (docs/benchmarks/choice.md).
    """
    return (find_selector(define["selector"]).adaptive and define.get("goal") != "order") or weighs_votes(
        define
    )


def draws_evenly(define: Definition) -> bool:
    """Return whether each image had the same chance; of a selector whose file is gone that is not taken on
    trust.

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
    """Return whether the selector is one by which models duel, where it has no temperature."""
    found = _selector_there(define)
    return found is not None and bool(found.duels)


def _selector_there(define: Definition) -> Selector | None:
    try:
        return find_selector(define["selector"])
    except OptionError:  # one of a person's own, whose file is gone
        return None


def weighs_votes(define: Definition) -> bool:
    """Return whether disputes count by how far labels so far trust the models; without labels all models
    count alike.
    """
    return find_selector(define["selector"]).learns == "votes" and define.get("votes") == WEIGHED["votes"]


def stream(define: Definition) -> tuple[int, int]:
    """Return the seed of a selection's random numbers: what is drawn otherwise is drawn from others, so that
    labels of two selections are of independent draws.

    >>> (
    ...     stream({"selector": "random", "seed": 0}),
    ...     stream({"selector": "random", "seed": 0, "goal": "order", **STREAM}),
    ... )
    ((0, 373021397), (0, 995265046))
    """
    words = [find_selector(define["selector"]).name]
    if define.get("stream") == STREAM["stream"]:  # of files the name alone: where they lie decides nothing
        told = (define.get(key) for key in ("goal", "temperature", "concordance", "over", "distance"))
        words += [
            f"{one:g}" if isinstance(one, float | int) else Path(one).name for one in told if one is not None
        ]
    return define["seed"], zlib.crc32(" ".join(words).encode())


def weights_as_defined(define: Definition, facts: dict[str, np.ndarray]) -> np.ndarray:
    """Return the weights (I,) in proportion to which a selection so defined draws images, zero outside the
    pool.
    """
    asked = {key: define[key] for key in ("temperature", "sharpness") if key in define}
    return drawing_weights(define["selector"], facts, **asked)
