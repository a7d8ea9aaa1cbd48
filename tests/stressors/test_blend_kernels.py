"""Kernels of blending: compiled loops and plain twins give the same bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.stressors.blend_steps.kernels import plain_planes, planes
from faultscape.stressors.blend_steps.layer import WHOLE, gaussian, resized

SEEDS = st.integers(0, 2**32 - 1)


def some_planes(seed: int, channels: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 12, 2)
    return rng.integers(0, 65280 * 4096 + 1, (height, width, channels)).astype(np.int32)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([0.4, 1.0, 2.7]))
def test_blurs_of_both_twins_are_equal(seed: int, sigma: float) -> None:
    source, weights = some_planes(seed), gaussian(sigma)
    found = [np.empty_like(source), np.empty_like(source)]
    for twin, out in zip((planes, plain_planes), found, strict=True):
        twin.blur(source, weights, np.empty_like(source), out)
    assert np.array_equal(*found)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 33), st.integers(-50, 50), st.integers(-50, 50))
def test_motion_of_both_twins_is_equal_also_for_the_brightest_planes_and_the_most_points(
    seed: int, taps: int, y: int, x: int
) -> None:
    source = some_planes(seed)
    source[..., 0] = 65280 * 4096
    found = [np.empty_like(source), np.empty_like(source)]
    for twin, out in zip((planes, plain_planes), found, strict=True):
        twin.move(source, y, x, 50000, taps, out)
    assert np.array_equal(*found)
    assert found[0].min() >= 0


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 20), st.integers(1, 20))
def test_resampling_of_both_twins_is_equal_and_keeps_a_flat_plane_flat(
    seed: int, height: int, width: int
) -> None:
    from faultscape.stressors.blend_steps.layer import _weights

    source = some_planes(seed)
    source[..., 3] = 1234567
    rows, columns = _weights(source.shape[0], height), _weights(source.shape[1], width)
    found = [np.empty((height, width, 4), np.int32) for _ in range(2)]
    for twin, out in zip((planes, plain_planes), found, strict=True):
        twin.resample(source, *rows, *columns, np.empty((source.shape[0], width, 4), np.int32), out)
    assert np.array_equal(*found)
    assert (found[0][..., 3] == 1234567).all()


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_noise_and_counts_of_both_twins_are_equal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    colour = rng.integers(0, 65281, (7, 5, 3)).astype(np.int32)
    found = [colour.copy(), colour.copy()]
    for twin, out in zip((planes, plain_planes), found, strict=True):
        twin.add_noise(out, np.uint64(seed), np.array([0, 900, 40000], np.int64))
    assert np.array_equal(*found)
    assert np.array_equal(found[0][..., 0], colour[..., 0])
    image = rng.integers(0, 256, (6, 4, 3), dtype=np.uint8)
    assert np.array_equal(planes.count_values(image), plain_planes.count_values(image))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_colours_without_alpha_and_overexposed_light_of_both_twins_are_equal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.choice([0, 1, 700, 4095, 4096], (9, 7)).astype(np.int32)
    colour = rng.integers(0, 65281, (9, 7, 3)).astype(np.int32)
    window = rng.integers(0, 256, (9, 7, 3), dtype=np.uint8)
    source = np.dstack([colour * alpha[..., None], alpha])
    found = []
    for twin in (planes, plain_planes):
        own, share, light = np.empty_like(colour), np.empty_like(alpha), np.empty((3, 2, 6), np.int32)
        twin.straighten(source, own, share)
        found.append((own, share, twin.overexposed(colour, alpha, window, 225, 4, light), light))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(found[0][0][alpha > 0], colour[alpha > 0])


def test_noise_has_the_mean_and_the_standard_deviation_that_are_asked_for() -> None:
    colour = np.full((100, 100, 3), 30000, np.int32)
    plain_planes.add_noise(colour, np.uint64(3), np.array([500, 1000, 2000], np.int64))
    assert np.abs(colour.mean((0, 1)) - 30000).max() < 60
    assert np.abs(colour.std((0, 1)) / [500, 1000, 2000] - 1).max() < 0.03


@given(st.floats(0, 30))
def test_weights_of_a_blur_are_symmetric_and_add_up(sigma: float) -> None:
    weights = gaussian(sigma)
    assert weights.sum() == WHOLE
    assert (weights >= 0).all()
    assert np.array_equal(weights, weights[::-1])


def test_resizing_to_half_takes_means_and_to_the_same_size_nothing() -> None:
    source = np.arange(16, dtype=np.int32).reshape(4, 4, 1) * 4096
    assert np.array_equal(resized(source, (4, 4)), source)
    assert abs(int(resized(source, (1, 1))[0, 0, 0]) - int(source.mean())) < 40
