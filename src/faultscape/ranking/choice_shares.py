"""What people's choices between two models amount to: shares for each slot, and games between every two
models.

Conventions: ``Shares`` are {(image, model, other): (share of the choices for the model, number of choices)},
with each image and pair of models once, in either order. A share is between 0 and 1; choices without a
decision count half for each.
Source: Yan et al. 2021, section 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from faultscape.errors import RankingError
from faultscape.nouns import Slot
from faultscape.ranking.methods.bradley_terry import linked_strengths

Shares: TypeAlias = Mapping[tuple[str, str, str], tuple[float, int]]


def slot_shares(rows: Sequence[Slot], choices: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Return (S,) the share of choices for the defender of each slot, NaN if nobody chose between its models
    on its image, and (S,) the number of choices.

    An image may serve several cells: a choice counts in each cell of its two models.

    >>> rows = [
    ...     Slot("mad", 1, 1, "unet", "fcn", "car", 1, "x", 0.1, 1.0, 9),
    ...     Slot("mad", 1, 1, "fcn", "unet", "bus", 1, "x", 0.1, 1.0, 9),
    ... ]
    >>> slot_shares(rows, {("x", "fcn", "unet"): (0.25, 4)})
    (array([0.75, 0.25]), array([4, 4]))
    """
    share = np.full(len(rows), np.nan)
    number = np.zeros(len(rows), np.int64)
    for place, row in enumerate(rows):
        if held := choices.get((row.image, row.defender, row.attacker)):
            share[place], number[place] = held
        elif held := choices.get((row.image, row.attacker, row.defender)):
            share[place], number[place] = 1 - held[0], held[1]
    return share, number


def choice_games(models: Sequence[str], images: Sequence[str], choices: Shares) -> np.ndarray:
    """Return (I, J, J) the number of choices for the row model against the column model on each image;
    RankingError for an invalid share.

    >>> choice_games(("fcn", "unet"), ["x"], {("x", "fcn", "unet"): (0.25, 4)})
    array([[[0., 1.],
            [3., 0.]]])
    """
    model, image = ({name: place for place, name in enumerate(names)} for names in (models, images))
    out = np.zeros((len(images), len(models), len(models)))
    for (of, a, b), (share, number) in choices.items():
        if not 0 <= share <= 1 or number < 1:
            raise RankingError(
                f"choices between {a} and {b} on {of}: expected a share from 0 to 1 of one choice or more;"
                f" got {share} of {number}"
            )
        if of in image and a in model and b in model:
            out[image[of], model[a], model[b]] += share * number
            out[image[of], model[b], model[a]] += (1 - share) * number
    return out


def choice_strengths(games: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (B, J) Bradley-Terry strengths from the games (I, J, J) of `choice_games`, with images drawn as
    often as the weights (B, I) say.

    >>> choice_strengths(np.array([[[0.0, 1], [3, 0]]]), np.ones((1, 1))).round(3)  # (3 + 1/2) to (1 + 1/2)
    array([[-0.424,  0.424]])
    """
    return linked_strengths(np.tensordot(weights, games, axes=1))
