"""How often at least one of two classifiers is right, by the number of labels, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.nouns import PairSlot
from faultscape.ranking.classifiers import either_right
from faultscape.ranking.pair_cases import pair_counts

NAN = float("nan")
MODELS = ("a", "b", "c")


def row(one: str, other: str, place: int, image: str) -> PairSlot:
    return PairSlot("mad", 1, place, one, other, "cat", "car", place, image, 1.0, 0.9, 1.0, 9)


def made(images: int, seed: int = 0) -> tuple[list[PairSlot], np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    names = [f"i{k}" for k in range(images)]
    correct = (rng.random((3, images)) < 0.5).astype(float)
    rows = [
        row(one, other, place, image)
        for one, other in (("a", "b"), ("c", "a"), ("b", "c"))
        for place, image in enumerate(rng.permutation(names).tolist(), 1)
    ]
    return rows, correct, names


def test_the_whole_curve_is_what_cases_one_and_two_make() -> None:
    rows, correct, names = made(20)
    every, *pairs = either_right(MODELS, rows, correct, names)
    places = [(MODELS.index(r.model_a), MODELS.index(r.model_b), names.index(r.image)) for r in rows]
    first, second, image = np.array(places).T
    found = pair_counts(first, second, image, correct)
    assert [(pair.model_a, pair.model_b) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair in pairs:
        a, b = MODELS.index(pair.model_a), MODELS.index(pair.model_b)
        assert pair.labels == tuple(range(1, 21))
        assert pair.share[-1] == pytest.approx(1 - found.both_wrong[0, a, b] / found.total[0, a, b])
    (first,) = [r.image for r in rows if (r.model_a, r.place) == ("a", 1)]
    assert pairs[0].share[0] == float(correct[:2, names.index(first)].any())
    assert every.labels[-1] == 60
    assert every.share[-1] == pytest.approx(np.mean([pair.share[-1] for pair in pairs]))


def test_an_interval_is_wilsons_and_wider_for_whole_groups() -> None:
    rows, correct, names = made(30)
    alone = [r for r in rows if (r.model_a, r.model_b) == ("a", "b")]
    _, pair = either_right(MODELS, alone, correct, names)
    assert np.isnan(pair.low[:9]).all()  # fewer than ten
    assert not np.isnan(pair.low[9:]).any()
    p, n, t = pair.share[-1], 30, 2.0452296421  # Student's quantile of 29
    middle, half = p + t**2 / (2 * n), t * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    ends = np.array([middle - half, middle + half]) / (1 + t**2 / n)
    np.testing.assert_allclose((pair.low[-1], pair.high[-1]), ends, atol=0.02)
    # ten drives whose frames all end alike are ten cases
    correct[:2] = np.repeat(np.random.default_rng(1).random(10) < 0.6, 3)
    drives = {name: f"drive {k // 3}" for k, name in enumerate(names)}
    _, free = either_right(MODELS, alone, correct, names)
    _, bound = either_right(MODELS, alone, correct, names, drives)
    assert free.share == bound.share
    assert bound.high[-1] - bound.low[-1] > 1.5 * (free.high[-1] - free.low[-1])


def test_an_image_of_many_pairs_is_one_and_undecided_or_repeated_ones_are_none() -> None:
    correct = np.array([[1.0, 0.0, NAN], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    rows = [row("b", "a", 1, "x"), row("a", "b", 2, "x"), row("a", "b", 3, "z"), row("a", "b", 4, "y")]
    _, pair = either_right(MODELS, [*rows, row("a", "b", 5, "unlabelled")], correct, ["x", "y", "z"])
    assert (pair.labels, pair.share) == ((1, 2), (1.0, 0.5))
    assert either_right(MODELS, rows[2:3], correct, ["x", "y", "z"]) == []
    names = [f"i{k}" for k in range(3)]
    many = [row(one, other, 1, name) for one, other in ("ab", "ac", "bc") for name in names]
    every = either_right(MODELS, many, np.eye(3), names)[0]
    assert every.labels[-1] == 9
    assert np.isnan(every.low).all()  # three images
