"""How likely people are right is estimated from how they agree, near what it is, and only where that is
told.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.labelling.people.estimated_accuracy import COMMON, estimated_accuracy


def votes(
    rng: np.random.Generator, skill: list[float], items: int, overlap: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items that so many people answer, who err independently."""
    who = np.concatenate([rng.permutation(len(skill))[:overlap] for _ in range(items)])
    item, truth = np.repeat(range(items), overlap), rng.integers(0, 2, items)
    right = rng.random(len(who)) < np.array(skill)[who]
    return item, who, np.where(right, truth[item], 1 - truth[item])


def test_it_is_near_the_accuracy_that_people_have() -> None:
    skill = [0.95, 0.9, 0.8, 0.7, 0.6]
    found = estimated_accuracy(*votes(np.random.default_rng(0), skill, 2000, 2), symmetric=True)
    assert found.value == pytest.approx(skill, abs=0.05)
    assert found.common.min() > COMMON


def test_two_people_say_how_often_they_agree_and_not_who_is_right() -> None:
    found = estimated_accuracy(*votes(np.random.default_rng(1), [0.9, 0.6], 500, 2))
    assert np.isnan(found.value).all()
    assert found.common.tolist() == [0, 0]


def test_people_who_meet_each_other_through_one_alone_tell_nothing_of_anybody() -> None:
    """Ann has many items with ben and many with cyd, who have none together."""
    item, who = np.repeat(range(100), 2), np.array([0, 1] * 50 + [0, 2] * 50)
    assert np.isnan(estimated_accuracy(item, who, np.ones(200, int)).value).all()


def test_which_of_two_models_comes_first_by_name_means_nothing() -> None:
    item, who, label = votes(np.random.default_rng(2), [0.9, 0.8, 0.65], 60, 3)
    turned = np.random.default_rng(3).integers(0, 2, 60)[item]
    one, other = (
        estimated_accuracy(item, who, said, symmetric=True).value for said in (label, label ^ turned)
    )
    assert one == pytest.approx(other, abs=1e-6)


def test_nothing_is_said_of_nobody() -> None:
    assert estimated_accuracy([], [], []).value.shape == (0,)
    assert np.isnan(estimated_accuracy([0], [0], [2]).value).all()
