"""Which classifiers are right, by the labels of images or by people's answers to questions about them.

Conventions: (J, I), 1 if model j is right on image i, 0 if it is wrong, NaN if nothing decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from faultscape.errors import counted
from faultscape.nouns import Predictions

Verdicts = Mapping[tuple[str, str], bool | None]  # see answers.majority


def right_or_wrong(
    predictions: Predictions, sets: Sequence[Collection[int] | None], verdicts: Verdicts
) -> np.ndarray:
    """Return (J, I) which models are right: by an image's set of labels (places of classes), if it has one,
    else by the verdicts on its questions.

    A set of labels decides for every model. "Yes" counts for the models that predicted this class, "no"
    against them; a tie decides nothing.

    >>> from faultscape.nouns import Classes
    >>> classes = Classes(("cat", "dog"), (0, 1), ())
    >>> said = Predictions(
    ...     classes, ("a", "b"), ("x", "y"), np.array([[0, 0], [1, 1]]), np.full((2, 2), np.nan)
    ... )
    >>> right_or_wrong(said, [{1}, None], {("y", "cat"): True})
    array([[ 0.,  1.],
           [ 1., nan]])
    """
    correct = np.full(predictions.labels.shape, np.nan)
    names = predictions.classes.names
    for column, image in enumerate(predictions.images):
        labels = predictions.labels[:, column]
        if (full := sets[column]) is not None:
            correct[:, column] = np.isin(labels, list(full))
        else:
            for label in set(labels.tolist()) - {-1}:
                verdict = verdicts.get((image, names[label]))
                correct[labels == label, column] = np.nan if verdict is None else float(verdict)
        correct[labels < 0, column] = np.nan
    return correct


def ties_text(verdicts: Verdicts, names: Collection[str]) -> list[str]:
    """Return a message about tied questions about these classes, empty if there are none."""
    ties = sum(verdict is None for (_, class_), verdict in verdicts.items() if class_ in names)
    if not ties:
        return []
    return [
        (f"{counted(ties, 'question is', 'questions are')} tied, or all annotators were unsure: undecided")
    ]
