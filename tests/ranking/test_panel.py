"""The panel that every ranking is computed from: which images count, in which order, drawn how."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.panel import Panel, RankingOptions
from refusals import refused

NAN = float("nan")
SCORES = np.array([[0.1, 0.2, NAN, 0.4], [0.5, NAN, NAN, 0.8]])


def test_images_are_in_one_order_whatever_order_they_are_given_in() -> None:
    images, keys = list("wxyz"), ["k3", "k1", "k0", "k2"]
    for held in (None, keys):
        found = [
            Panel.of(
                ["a", "b"],
                [images[k] for k in order],
                SCORES[:, order],
                keys=held and [held[k] for k in order],
            )
            for order in permutations(range(4))
        ]
        assert all(one.images == found[0].images for one in found)
        assert all(np.array_equal(one.scores, found[0].scores, equal_nan=True) for one in found)


@pytest.mark.parametrize(
    ("chosen", "all_labels", "images", "selected"),
    [("wy", False, "w", 1), ("wy", True, "wxz", 1), ("wzz", False, "wz", 2), ("zv", False, "z", 1)],
)
def test_chosen_images_with_a_label_count_and_others_where_all_labels_do(
    chosen: str, all_labels: bool, images: str, selected: int
) -> None:
    panel = Panel.of(["a", "b"], list("wxyz"), SCORES)
    part = panel.counting([*chosen], panel.labelled, "chosen images", all_labels=all_labels)
    assert sorted(part.images) == [*images]
    assert (part.chosen.sum(), part.slots, part.wanted) == (selected, len(chosen), len({*chosen}))
    for image, row in zip(part.images, part.scores.T, strict=True):
        assert np.array_equal(row, SCORES[:, "wxyz".index(image)], equal_nan=True)


@pytest.mark.parametrize("chosen", [[True] * 4, [True, False, True, False]])
def test_images_of_a_group_are_drawn_together_whether_chosen_or_not(chosen: list[bool]) -> None:
    panel = Panel.of(["a", "b"], list("wxyz"), SCORES, groups={"w": "g", "z": "g", "x": "h"})
    panel = replace(panel, chosen=np.array(chosen)).grouped()
    weights = dict(zip(panel.images, panel.weights(RankingOptions(resamples=50)).T, strict=True))
    assert (weights["w"] == weights["z"]).all()
    assert (np.sum([weights[image][1:] for image in "wxy"], axis=0) == 3).all()
    assert panel.draws(np.ones(4, bool)) == 3
    assert Panel.of(["a", "b"], list("wxyz"), SCORES, groups={"w": "g"}).grouped().group is None


def test_chosen_and_other_images_are_drawn_apart_so_that_more_labels_move_no_chosen_one() -> None:
    panel = Panel.of(["a", "b"], list("wxyz"), SCORES)
    panel = replace(panel, chosen=np.array([image in "wy" for image in panel.images]))
    options = RankingOptions(resamples=50, seed=3)
    weights = panel.weights(options)
    assert (weights[0] == 1).all()
    assert (weights[:, panel.chosen].sum(1) == 2).all()
    assert (weights[:, ~panel.chosen].sum(1) == 2).all()
    alone = panel.only(np.flatnonzero(panel.chosen))
    assert (alone.weights(options) == weights[:, panel.chosen]).all()


def test_what_does_not_fit_is_refused() -> None:
    panel = Panel.of(["a", "b"], list("wxyz"), SCORES)
    with refused(RankingError, "none of the 2 chosen images has a label; label them, then rank"):
        panel.counting(["y", "v"], panel.labelled, "chosen images", all_labels=True)
    with refused(RankingError, "a ranking needs two models; there is a"):
        Panel.of(["a"], list("wxyz"), SCORES[:1])
    with refused(RankingError, r"scores have shape \(2, 4\); expected 2 models by 3 images"):
        Panel.of(["a", "b"], list("wxy"), SCORES)
    with refused(RankingError, "there are 3 keys for 4 images; give each image one"):
        Panel.of(["a", "b"], list("wxyz"), SCORES, keys=["1", "2", "3"])
    with refused(OptionError, "resamples cannot be negative; got -1"):
        RankingOptions(resamples=-1)
