"""How much standings depend on single models and on the number of images per cell: stability of the first
faithful ranking, for both tasks.

Conventions: leaving a model out drops the slots that it chose: those it attacked (Yan et al. 2021:
aggressiveness), or those of its pairs (Wang et al. 2020: Perron). ``top_k`` are Spearman's correlations of
the ranking from places 1..k with that from all places, for k of ``top_k_places``: all places, or sixty of
them if there are more. Numbers as ``stability`` returns them.
Source: Wang et al. 2020, Fig. 5; Phang et al. 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultscape.nouns import Slot
from faultscape.ranking.catalogue import entry
from faultscape.ranking.choice_shares import Shares
from faultscape.ranking.classifiers import PairSlot, pair_places
from faultscape.ranking.matrices import aggressiveness
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.ranking.pair_cases import pair_counts
from faultscape.ranking.stability import Score, against_places, connectivity, leave_one_out, places_shown
from faultscape.ranking.tables import duels
from faultscape.standings import Stability, WithoutModel


def of_pairs(
    models: Sequence[str],
    rows: Sequence[PairSlot],
    correct: np.ndarray,
    images: Sequence[str],
    *,
    laplace: float = 1,
) -> Stability:
    """Return the stability of Perron's ranking of classifiers, from (J, I) whether each is right; ``rows``
    have a place each.

    >>> from types import SimpleNamespace as Row
    >>> rows = [
    ...     Row(model_a="vgg", model_b="resnet", image=image, place=k) for k, image in enumerate("xyz", 1)
    ... ]
    >>> of_pairs(["vgg", "resnet"], rows, np.array([[1, 1, 0], [0, 1, 0]]), ["x", "y", "z"]).top_k
    [1.0, 1.0, 1.0]
    """
    first, second, image = pair_places(models, rows, images)
    correct = np.asarray(correct, dtype=float)

    def score(keep: np.ndarray) -> np.ndarray:
        return entry("perron").compute(pair_counts(first[keep], second[keep], image[keep], correct), laplace)[
            0
        ]

    takes_part = np.stack([(first == k) | (second == k) for k in range(len(models))])
    met = pair_counts(first, second, image, correct).total[0]
    return _said("perron", score, models, takes_part, rows, met)


def of_duels(
    models: Sequence[str],
    rows: Sequence[Slot],
    accuracy: np.ndarray,
    images: Sequence[str],
    class_names: Sequence[str],
    *,
    epsilon: float = 0.01,
    choices: Shares | None = None,
) -> Stability:
    """Return the stability of the ranking by aggressiveness, from (J, I) concordances with the truth and
    people's ``choices``.
    """
    found = duels(tuple(models), rows, list(images), list(class_names), choices)
    accuracy = np.asarray(accuracy, dtype=float)

    def performance(keep: np.ndarray) -> np.ndarray:
        return found.only(keep).outcomes(accuracy, groups=len(class_names)).performance[0]

    def score(keep: np.ndarray) -> np.ndarray:
        ratios = aggressiveness(performance(keep), epsilon)
        # a pair compared in one direction only is left out of eq. 6
        return thurstone(np.where(np.isnan(ratios.T), np.nan, ratios))

    takes_part = np.stack([found.attacker == k for k in range(len(models))])
    met = np.zeros((len(models), len(models)))
    np.add.at(met, (found.defender, found.attacker), found.image >= 0)
    return _said("aggressiveness", score, models, takes_part, rows, met)


def _said(
    name: str,
    score: Score,
    models: Sequence[str],
    takes_part: np.ndarray,
    rows: Sequence[Any],
    met: np.ndarray,
) -> Stability:
    left = leave_one_out(score, models, takes_part)
    place = np.array([row.place for row in rows], dtype=int)
    shown = places_shown(place.max(initial=0))
    return Stability(
        ranking=name,
        leave_one_out={
            one.model: WithoutModel(one.slots, one.spearman, one.largest_change, one.moved) for one in left
        },
        top_k=against_places(score, place, shown).tolist(),
        top_k_places=shown.tolist(),
        connectivity=connectivity(models, met),
    )
