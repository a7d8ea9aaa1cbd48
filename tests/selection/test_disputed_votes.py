"""Disputes counted by what labels say of the models: draws stay unbiased, and labels fall where models that
know something differ.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn.estimates import lure, vote_weights
from faultscape.selection import draws, proposals


@pytest.mark.slow
def test_one_inverted_model_costs_no_labels_and_estimates_stay_unbiased() -> None:
    """Six classifiers of ten classes that differ on 45 % of 1,000 images, and one that is always wrong, which
    differs everywhere: 60 labels in three rounds, 300 times.
    """
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 1000)
    right = rng.random((7, 1000)) < np.array([0.95, 0.93, 0.91, 0.89, 0.87, 0.85, 0.0])[:, None]
    labels = np.where(right, truth, (truth + 1 + rng.integers(0, 9, (7, 1000))) % 10)
    losses = 1.0 - right
    alike, risk = proposals.uniform(1000), losses.mean(1)
    assert (labels != labels[0]).any(0).all()
    found: dict[bool, list[np.ndarray]] = {False: [], True: []}
    for weighed, seed in [(weighed, seed) for weighed in found for seed in range(300)]:
        first = draws.draw(alike, 20, seed=seed)
        images, chances = first.images, first.probability
        for _ in range(2):
            weight = (
                proposals.disputed_among_trusted(labels, vote_weights(losses[:, images]))
                if weighed
                else alike
            )
            more = draws.draw(weight, 20, seed=seed, taken=images)
            images, chances = np.append(images, more.images), np.append(chances, more.probability)
        found[weighed].append(lure(losses[:, images], chances, 1000).loss)
    alone, weighed = (np.array(found[key]) for key in (False, True))
    assert (np.abs(weighed.mean(0) - risk) < 3 * weighed.std(0) / 300**0.5).all()
    assert (weighed.std(0)[:6] < 0.85 * alone.std(0)[:6]).all()
    order = [np.mean([spearman(-loss[:6], -risk[:6]) for loss in one]) for one in (alone, weighed)]
    assert order[1] > order[0] + 0.05
