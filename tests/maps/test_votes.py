"""The entropy of an ensemble's votes equals a count of every pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import made
from faultscape.errors import LabelMapError
from faultscape.maps import counts
from faultscape.maps.counts import vote_entropy
from refusals import refused


def by_pixels(maps: np.ndarray, n: int) -> float:
    """The same, a class at a time over every pixel."""
    shares = np.stack([(maps == y).mean(0) for y in range(n)])
    return float(-(shares * np.log(np.where(shares > 0, shares, 1))).sum(0).mean())


@given(seed=st.integers(0, 10_000), models=st.integers(1, 7), n=st.integers(1, 40), noisy=st.booleans())
@settings(max_examples=60, deadline=None)
def test_it_is_that_of_every_pixel(seed: int, models: int, n: int, noisy: bool) -> None:
    rng = np.random.default_rng(seed)
    one = (
        rng.integers(0, n, (models, 5, 70))
        if noisy
        else np.stack([made.blobs(rng, (20, 30)) % n for _ in range(models)])
    )
    maps = one.astype(np.uint8)
    assert vote_entropy(maps, n) == pytest.approx(by_pixels(maps, n), abs=1e-12)


def test_models_that_agree_have_none_and_models_that_all_differ_have_the_most() -> None:
    label_map = np.arange(12, dtype=np.uint8).reshape(3, 4) % 5
    assert vote_entropy(np.stack([label_map] * 4), 5) == 0
    assert vote_entropy(np.stack([np.full((2, 2), y, np.uint8) for y in range(4)]), 4) == pytest.approx(
        np.log(4)
    )


def test_joint_tuples_hold_every_pixel_once() -> None:
    rng = np.random.default_rng(3)
    maps = rng.integers(0, 4, (3, 9, 11)).astype(np.uint8)
    columns, pixels = counts.joint_tuples(maps, 4)
    found = {tuple(column): int(number) for column, number in zip(columns.T.tolist(), pixels, strict=True)}
    wanted, number = np.unique(maps.reshape(3, -1), axis=1, return_counts=True)
    assert found == {tuple(column): int(k) for column, k in zip(wanted.T.tolist(), number, strict=True)}


def test_a_label_that_is_not_below_n_is_refused() -> None:
    with refused(LabelMapError, "holds the label 7"):
        vote_entropy(np.full((2, 3, 3), 7, np.uint8), 7)
