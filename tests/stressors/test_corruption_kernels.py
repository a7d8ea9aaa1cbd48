"""Compiled loops and their plain twins give the same bytes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import faultscape as fs
from corrupted_images import COMPILED, NAMES, drawn_image, without_numba
from faultscape.stressors.corruptions import loops
from faultscape.stressors.kernels import filters, noise, plain_filters, plain_noise, plain_weather, weather

# what sums 16 bits in wider integers than 8 bits; the other loops are of 64 bits for both, and each type
# takes a second to compile
WIDE = ("defocus_blur", "motion_blur", "zoom_blur", "gaussian_blur", "pixelate", "gaussian_noise")


def test_the_plain_twins_serve_where_there_is_no_numba() -> None:
    with without_numba():
        served = [
            getattr(loops, f"{name}_loops".replace("filters", "filter"))().__name__ for name in COMPILED
        ]
    assert served == [f"faultscape.stressors.kernels.plain_{name}" for name in COMPILED]
    assert loops.noise_loops() is noise


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(
    st.integers(1, 45),
    st.integers(1, 45),
    st.sampled_from([1, 3]),
    st.integers(1, 5),
    st.sampled_from([np.uint8, np.uint16]),
    st.integers(0, 99),
)
@example(41, 67, 3, 5, np.uint8, 0)
@example(70, 66, 1, 2, np.uint8, 1)
def test_a_corruption_is_the_same_with_and_without_numba(
    name: str, high: int, wide: int, channels: int, severity: int, kind: type, seed: int
) -> None:
    image = drawn_image(high, wide, channels, kind if name in WIDE else np.uint8)
    made = fs.stressors.corrupt(image, name, severity, seed=seed)
    labels = np.arange(high * wide).reshape(high, wide)
    moved = fs.stressors.move_labels(labels, name, severity, seed=seed, key="a")
    with without_numba():
        assert (fs.stressors.corrupt(image, name, severity, seed=seed) == made).all()
        assert (fs.stressors.move_labels(labels, name, severity, seed=seed, key="a") == moved).all()


def test_the_rarest_deviates_are_the_same_too() -> None:
    from faultscape.stressors.corruptions.noise import normal_table

    table, tail = normal_table(1000.0)
    drawn = noise.normals(np.uint64(5), 400_003, table, tail)
    assert np.abs(drawn).max() > 4400  # only the second draw reaches so far
    assert (drawn == plain_noise.normals(5, 400_003, table, tail)).all()


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**31))
def test_edges_and_distances_are_the_same_for_any_image(high: int, wide: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 3, (high, wide), dtype=np.uint8) * np.uint8(85)
    found = weather.edges(image, 50, 150)
    assert (found == plain_weather.edges(image, 50, 150)).all()
    assert (weather.distances(found, 20 << 16) == plain_weather.distances(found, 20 << 16)).all()


def test_the_difference_form_of_a_disc_is_the_sum_under_its_kernel() -> None:
    kernel = np.array([[0, 2, 0], [2, 5, 2], [0, 2, 0]], np.int32)
    rows = drawn_image(6, 7, 1)
    up, across = np.array([1, *range(6), 4]), np.array([1, *range(7), 5])
    made, expected = np.empty((6, 7), np.uint8), np.empty((6, 7), np.uint8)
    filters.disc(rows, 1, up, across, kernel, 4, 255, made)
    plain_filters.disc(rows, 1, up, across, kernel, 4, 255, expected)
    by_hand = (
        5 * int(rows[2, 3]) + 2 * (int(rows[1, 3]) + int(rows[3, 3]) + int(rows[2, 2]) + int(rows[2, 4]))
    ) >> 4
    assert (made == expected).all()
    assert made[2, 3] == by_hand
