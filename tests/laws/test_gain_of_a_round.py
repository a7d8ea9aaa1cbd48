"""loop: the interval of what a round gained holds the true gain, whichever way the judged images were drawn."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.selection.draws import draw
from faultscape.verbs.loop.work import gain

REPEATS, POOLS, IMAGES = 400, 20, 200


def made_pool(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores (2, I) of a parent and of its child, who gains much on one image in three and little on the
    others, and how far models differ on each image (I,): mostly where these two do.
    """
    before = rng.beta(4, 3, IMAGES)
    cured = rng.random(IMAGES) < 1 / 3
    after = before + (1 - before) * (0.3 * cured + 0.1 * rng.standard_normal(IMAGES))
    return np.stack([before, after]), np.abs(after - before) + 0.1 * rng.beta(2, 2, IMAGES)


@pytest.mark.parametrize("number", [10, 20, 40])
@pytest.mark.parametrize("by", ["chance", "disagreement"])
def test_intervals_of_gains_hold_the_gain_over_the_pool(by: str, number: int) -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(POOLS):
        scores, differ = made_pool(rng)
        true = (scores[1] - scores[0]).mean()
        weights = np.ones(IMAGES) if by == "chance" else differ
        for seed in range(REPEATS // POOLS):
            drawn = draw(weights, number, seed=(seed, number))
            x, low, high = gain(scores[:, drawn.images], drawn.probability, drawn.pool)
            assert low <= x <= high
            held += low <= true <= high
    assert 0.92 <= held / REPEATS <= 0.98
