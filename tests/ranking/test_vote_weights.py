"""Votes weighed by what labels say of each model: models below chance must not lead the control variate
astray.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.selection import proposals


def test_a_vote_is_worth_the_log_odds_of_accuracy_after_eight_labels_of_three_quarters() -> None:
    losses = np.array([[0.0] * 12, [1.0] * 12, [0.0] * 6 + [1.0] * 6, [0.0] * 4 + [np.nan] * 8])
    found = estimates.vote_weights(losses)
    shares = np.array([(12 + 6) / 20, 6 / 20, (6 + 6) / 20, (4 + 6) / 12])
    assert found[[0, 2, 3]] == pytest.approx(np.log(shares / (1 - shares))[[0, 2, 3]])
    assert found[1] == estimates.LEAST_VOTE  # below a half: next to nothing, and never a vote against
    assert estimates.vote_weights(np.zeros((3, 0))).tolist() == [pytest.approx(np.log(3))] * 3


def test_where_most_models_are_below_chance_weighed_votes_order_them_sooner_and_more_surely() -> None:
    """17 of 30 classifiers of two classes say the opposite of what they know: 25 labels of 2,000 images,
    forty times.
    """
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2000)
    right = rng.random((30, 2000)) < np.linspace(0.6, 0.95, 30)[:, None]
    right[rng.permutation(30)[:17]] ^= True
    losses, labels = 1.0 - right, np.where(right, truth, 1 - truth)
    risk = losses.mean(1)
    found: dict[str, list[tuple[float, float, float]]] = {"equal": [], "weighed": []}
    for _ in range(40):
        drawn = rng.choice(2000, 25, replace=False)
        even = estimates.uniform_steps(25, 2000)
        for name, trust in (("equal", None), ("weighed", estimates.vote_weights(losses[:, drawn]))):
            expected = proposals.expected_of_labels(labels, trust)
            own, said = estimates.margins(losses[:, drawn], 1.0), estimates.margins(expected, 1.0)
            one = estimates.prediction_powered(own, even, said, drawn)
            gaps = difference_intervals(one)[np.triu_indices(30, 1)]
            real = (risk[:, None] - risk)[np.triu_indices(30, 1)]
            held = ((gaps[:, 0] <= real) & (real <= gaps[:, 1])).mean()
            found[name].append((spearman(-one.loss, -risk), float(np.ptp(gaps, axis=1).mean()), float(held)))
    equal, weighed = (np.mean(found[name], 0) for name in ("equal", "weighed"))
    assert 1 - weighed[0] < 0.5 * (1 - equal[0])  # what Spearman's rho lacks of 1
    assert weighed[1] < 0.7 * equal[1]  # width
    assert weighed[2] > 0.92  # and the narrower intervals still hold
