"""Fog: Koschmieder's law, with a depth map or from place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.stressors import Fog, add_fog, depth_by_place
from refusals import refused


@settings(deadline=None)
@given(st.floats(0, 0.2), st.integers(0, 255), st.integers(0, 2**32 - 1))
def test_fog_is_koschmieder_s_law_to_within_half_a_grey_level(beta: float, light: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image, depth = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8), rng.uniform(0.5, 300, (5, 7))
    through = np.exp(-beta * depth)[..., None]
    expected = image * through + light * (1 - through)
    assert np.abs(add_fog(image, Fog(beta, (light,) * 3), depth=depth) - expected).max() <= 0.65


def test_no_fog_changes_nothing_and_unknown_depth_is_far() -> None:
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    assert np.array_equal(add_fog(image, Fog(0.0)), image)
    depth = np.array([[np.nan, np.inf, 0.0, -1.0]])
    assert np.array_equal(
        add_fog(image[:1], Fog(0.01), depth=depth),
        add_fog(image[:1], Fog(0.01), depth=np.full((1, 4), 300.0)),
    )


def test_without_a_depth_map_fog_thickens_towards_the_horizon() -> None:
    black = np.zeros((100, 3, 3), np.uint8)
    rows = add_fog(black, Fog(0.03), horizon=40)[:, 0, 0].astype(int)
    assert (np.diff(rows) <= 0).all()
    assert rows[0] == rows[40] > 180
    assert 0 < rows[-1] < 60
    assert depth_by_place(100, 40)[99] == pytest.approx(1.22 * 2.2 * 100 / 59)


def test_fog_lies_only_where_it_is_asked_for() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    where = np.eye(4, dtype=bool)
    assert np.array_equal(add_fog(image, Fog(0.1), where).any(2), where)


def test_fog_out_of_range_and_depth_of_another_size_are_refused() -> None:
    with refused(fs.errors.OptionError, "beta of fog: expected 0 to 10 a metre; got -1"):
        Fog(-1)
    for light in ((0, 0, 300), (0, 0), 210):
        with refused(fs.errors.OptionError, "light of fog: expected three grey levels from 0 to 255"):
            Fog(0.1, light)
    for image in (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.uint16)):
        with refused(fs.errors.ImageError, r"fog: expected an image \(H, W, 3\) uint8; got uint"):
            add_fog(image, Fog(0.1))
    with refused(
        fs.errors.ImageError, r"the image has shape \(4, 4\), depth \(2, 2\); they must have the same size"
    ):
        add_fog(np.zeros((4, 4, 3), np.uint8), Fog(0.1), depth=np.ones((2, 2)))
