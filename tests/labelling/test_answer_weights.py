"""Answers weighted by how likely each person is right decide better than a majority where people differ."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.labelling.people.estimated_accuracy import MOST, answer_weights, estimated_accuracy


def test_weights_are_the_log_odds_of_estimated_accuracy_within_bounds() -> None:
    rng, skill = np.random.default_rng(0), np.array([0.99, 0.9, 0.75, 0.6, 0.3])
    truth = rng.integers(0, 2, 400)
    item, who = np.repeat(range(400), 5), np.tile(range(5), 400)
    label = np.where(rng.random(2000) < skill[who], truth[item], 1 - truth[item])
    found, known = answer_weights(item, who, label), estimated_accuracy(item, who, label).value
    assert found.accuracy == pytest.approx(known)
    bounded = np.clip(known, 0.5, MOST)
    assert found.weight == pytest.approx(np.log(bounded / (1 - bounded)))
    assert found.weight[4] == 0  # who is mostly wrong is left out, not turned round
    votes = np.zeros(400)
    plain = np.zeros(400)
    np.add.at(votes, item, found.weight[who] * (2 * label - 1))
    np.add.at(plain, item, 2 * label - 1)
    assert ((votes > 0) == truth).mean() > ((plain > 0) == truth).mean() + 0.05


def test_who_met_nobody_often_enough_counts_like_the_mean_and_where_nobody_did_all_count_the_same() -> None:
    item = np.append(np.repeat(range(40), 3), [0, 1])
    who, label = np.append(np.tile(range(3), 40), [3, 3]), np.append(np.tile([0, 0, 1, 1, 1, 1], 20), [0, 1])
    found = answer_weights(item, who, label)
    assert np.isnan(found.accuracy[3])
    assert found.weight[3] == pytest.approx(found.weight[:3].mean())
    assert answer_weights([0, 0, 1], [0, 1, 1], [1, 0, 1]).weight.tolist() == [1, 1]
