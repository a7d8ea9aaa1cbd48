"""Steps of blending: what each is for, before and after, and how much it does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import faultscape as fs
from blend_digests import base_frame
from faultscape.stressors import (
    BLEND_STEPS,
    Layer,
    add_colour_noise,
    add_glow,
    blur_depth,
    blur_motion,
    drawn_cutout,
    layer_of,
    match_brightness,
    match_histogram,
    noise_levels,
    smooth_alpha,
    steps_of,
)
from faultscape.stressors.blend_steps.steps import BRIGHT, farness, mean_brightness
from refusals import refused

GREY, WHOLE = 256, 4096


def layer(name: str = "cow", *, hard: bool = False, corner: tuple[int, int] = (30, 20)) -> Layer:
    """A drawn object of 60 x 60 pixels in a frame of 100 x 160."""
    cutout = drawn_cutout(name)
    if hard:
        cutout = replace(cutout, alpha=((cutout.alpha > 127) * 255).astype(np.uint8))
    return layer_of(cutout, base_frame(100, 160), (*corner, 60, 60), flip=False, margin=12)


def quantile_distance(of: Layer) -> float:
    """Mean distance of the channels' deciles of object and window, in grey levels."""
    own, window = of.colour[of.alpha > WHOLE // 2] / GREY, of.window.reshape(-1, 3)
    at = np.arange(0.1, 1, 0.1)
    return float(np.abs(np.quantile(own, at, axis=0) - np.quantile(window, at, axis=0)).mean())


def sharpness(of: Layer) -> float:
    """Energy of differences between neighbours, of what would be seen over black."""
    seen = of.colour[..., 1] / GREY * of.alpha / WHOLE
    return float((np.diff(seen, axis=0) ** 2).sum() + (np.diff(seen, axis=1) ** 2).sum())


def test_alpha_smoothing_turns_a_hard_border_into_a_gradient_that_is_half_on_it() -> None:
    before = layer(hard=True)
    after, _ = smooth_alpha(before, 1.2)
    steepest = [max(np.abs(np.diff(of.alpha, axis=k)).max() for k in (0, 1)) for of in (before, after)]
    assert steepest[1] < 0.6 * steepest[0]
    assert (after.alpha >= WHOLE // 2).sum() == pytest.approx((before.alpha >= WHOLE // 2).sum(), rel=0.04)


def test_alpha_smoothing_takes_border_colours_from_inside_not_from_what_was_behind_the_object() -> None:
    red = np.zeros((40, 40, 3), np.int32)
    red[..., 0] = 200 * GREY
    alpha = np.zeros((40, 40), np.int32)
    alpha[10:30, 10:30] = WHOLE
    # a green rim of one pixel above and to the left
    red[10], red[:, 10] = ((0, 255 * GREY, 0), (0, 255 * GREY, 0))
    before = Layer(red, alpha, (0, 0), np.zeros((40, 40, 3), np.uint8), (40, 40))
    after, _ = smooth_alpha(before, 1.2)
    seen = [(of.colour * of.alpha[..., None]).sum((0, 1)) / of.alpha.sum() for of in (before, after)]
    assert seen[1][1] < 0.15 * seen[0][1]
    assert np.array_equal(after.colour[15:25, 15:25], before.colour[15:25, 15:25])


def test_no_smoothing_changes_nothing() -> None:
    before = layer()
    assert smooth_alpha(before, 0.0)[0] is before


@pytest.mark.parametrize("strength", [0.5, 0.8, 1.0])
def test_brightness_leaves_the_rest_of_the_distance_of_means(strength: float) -> None:
    before = layer()
    after, change = match_brightness(before, strength)
    covered = mean_brightness(before.window.astype(np.int32) * GREY, before.alpha)
    distances = [covered - mean_brightness(of.colour, of.alpha) for of in (before, after)]
    assert abs(distances[0]) > 10 * GREY
    assert distances[1] / distances[0] == pytest.approx(1 - strength, abs=0.01)
    assert change * GREY == pytest.approx(distances[0] - distances[1], abs=3)


@pytest.mark.parametrize(("own", "covered"), [(40, 250), (250, 20), (0, 128), (120, 150)])
def test_brightness_moves_any_object_and_clips_no_colour(own: int, covered: int) -> None:
    colour = np.full((20, 20, 3), own * GREY, np.int32)
    colour[..., 0] = min(255, 2 * own) * GREY
    before = Layer(
        colour, np.full((20, 20), WHOLE, np.int32), (0, 0), np.full((20, 20, 3), covered, np.uint8), (20, 20)
    )
    after, change = match_brightness(before, 0.8)
    mean = mean_brightness(colour, before.alpha) / GREY
    assert change == pytest.approx(0.8 * (covered - mean), abs=0.2)
    assert after.colour.max() <= 255 * GREY
    assert (np.argsort(after.colour[0, 0], kind="stable") == np.argsort(colour[0, 0], kind="stable")).all()


def test_histograms_come_nearer_the_stronger_the_step() -> None:
    before = layer()
    left = [quantile_distance(match_histogram(before, strength)[0]) for strength in (0.0, 0.5, 1.0)]
    assert left[0] == quantile_distance(before)
    assert left[1] < 0.65 * left[0]
    assert left[2] < 0.3 * left[0]


def test_histogram_matching_keeps_the_order_of_values_and_a_flat_surface_flat() -> None:
    ramp = np.repeat(np.arange(64, dtype=np.int32)[None, :, None] * 4 * GREY, 64, 0).repeat(3, 2)
    flat = np.full((64, 64, 3), 77 * GREY, np.int32)
    window = base_frame(64, 64)
    for colour in (ramp, flat):
        after, _ = match_histogram(
            Layer(colour, np.full((64, 64), WHOLE, np.int32), (0, 0), window, (64, 64)), 1.0
        )
        assert (np.diff(after.colour, axis=1) >= 0).all()
    assert np.ptp(after.colour[..., 0]) == 0


def test_histogram_matching_leaves_a_surface_of_nearly_one_colour_so_before_any_frame() -> None:
    rng = np.random.default_rng(0)
    colour = (100 * GREY + rng.integers(-2, 3, (64, 64, 3)) * GREY).astype(np.int32)
    window = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    after, _ = match_histogram(
        Layer(colour, np.full((64, 64), WHOLE, np.int32), (0, 0), window, (64, 64)), 1.0
    )
    assert after.colour.std() / GREY < 0.2 * window.std()


def test_motion_blurs_along_the_ray_from_the_focus_and_not_across_it() -> None:
    dot = np.zeros((41, 41), np.int32)
    dot[20, 20] = WHOLE
    before = Layer(
        np.full((41, 41, 3), GREY, np.int32), dot, (480, 280), np.zeros((41, 41, 3), np.uint8), (600, 1000)
    )
    after, longest = blur_motion(before, (0, 300), 0.02)  # the focus lies far to the left in the same row
    rows, columns = np.nonzero(after.alpha > WHOLE // 64)
    assert longest == pytest.approx(0.02 * 521, rel=0.02)
    assert np.ptp(rows) <= 1
    assert np.ptp(columns) == pytest.approx(10, abs=1)
    assert columns.mean() == pytest.approx(20, abs=0.1)
    assert after.alpha.sum() == pytest.approx(WHOLE, rel=0.02)


@pytest.mark.parametrize("length", [0.3, 0.6, 0.9])
def test_motion_below_a_pixel_is_the_mean_over_its_way(length: float) -> None:
    """A way of L pixels along a row leaves 1 - L / 4 in place and takes L / 8 from each side."""
    dot = np.zeros((21, 21), np.int32)
    dot[10, 10] = WHOLE
    colour = np.full((21, 21, 3), GREY, np.int32)
    before = Layer(colour, dot, (990, 290), np.zeros((21, 21, 3), np.uint8), (600, 2000))
    after, longest = blur_motion(before, (0, 300), length / 1000)  # the focus is 1,000 pixels to the left
    assert longest == pytest.approx(length, rel=0.02)
    expected = [length / 8, 1 - length / 4, length / 8]
    assert after.alpha[10, 9:12] / WHOLE == pytest.approx(expected, abs=0.004)
    assert after.alpha.sum() == pytest.approx(WHOLE, rel=0.002)


def test_motion_that_changes_nothing_says_so() -> None:
    before = layer()
    for share in (0.0, 1e-5):
        after, longest = blur_motion(before, (60, 50), share)
        assert after is before
        assert longest == 0


def test_objects_in_small_frames_move_too() -> None:
    """Frames of CamVid have 360 rows, and most ways there are shorter than a pixel."""
    cutout = drawn_cutout("cow")
    base = base_frame(360, 480)
    ways = []
    for key in "abcdefgh":
        plan = fs.stressors.plan_blend((360, 480), [cutout], "fishyscapes-v2", seed=0, key=key)
        made = fs.stressors.blend(base, plan.placed([cutout]), plan)
        ways += [step.value for step in made.steps if step.step == "motion"]
    assert min(ways) > 0
    assert min(ways) < 1


def test_motion_grows_with_the_distance_from_the_focus() -> None:
    near, far = (blur_motion(layer(corner=(x, 20)), (40, 50), 0.05)[1] for x in (30, 95))
    assert far > 1.5 * near > 0


def test_blurs_take_sharpness_and_keep_the_area() -> None:
    before = layer()
    for after in (blur_depth(before, 1.0)[0], blur_motion(before, (-200, 50), 0.02)[0]):
        assert sharpness(after) < 0.8 * sharpness(before)
        assert after.alpha.sum() == pytest.approx(before.alpha.sum(), rel=0.002)


def test_what_is_farther_is_less_sharp() -> None:
    cutout = drawn_cutout("cow")
    plans = [
        fs.stressors.plan_blend((400, 600), [cutout], "fishyscapes-v2", seed=0, key=str(k))
        for k in range(300)
    ]
    placed = sorted((plan.objects[0] for plan in plans), key=lambda placed: placed.y + placed.height)
    assert np.mean([p.depth for p in placed[:60]]) > 1.7 * np.mean([p.depth for p in placed[-60:]])
    assert farness(399, 100, 400) < farness(200, 100, 400) <= farness(50, 100, 400) == 1


@pytest.mark.parametrize("own", [0, 2])
def test_noise_brings_the_object_to_the_frame_s_variance(own: int) -> None:
    rng = np.random.default_rng(0)
    window = np.clip(rng.normal(128, 5, (120, 120, 3)), 0, 255).astype(np.uint8)
    colour = np.rint((100 + own * rng.normal(size=(120, 120, 3))) * GREY).astype(np.int32)
    before = Layer(colour, np.full((120, 120), WHOLE, np.int32), (0, 0), window, (120, 120))
    after, sigma = add_colour_noise(before, 9, 1.0)
    assert (after.colour / GREY).std((0, 1)) == pytest.approx([5, 5, 5], rel=0.06)
    assert sigma == pytest.approx(np.sqrt(25 - own**2), rel=0.12)
    across = np.corrcoef(after.colour[..., 0].ravel(), after.colour[..., 1].ravel())[0, 1]
    assert abs(across) < 0.05, "each channel has noise of its own"


def test_an_object_that_is_noisier_than_the_frame_gets_no_noise() -> None:
    rng = np.random.default_rng(0)
    colour = np.rint((100 + 9 * rng.normal(size=(60, 60, 3))) * GREY).astype(np.int32)
    before = Layer(
        colour, np.full((60, 60), WHOLE, np.int32), (0, 0), np.full((60, 60, 3), 90, np.uint8), (60, 60)
    )
    after, sigma = add_colour_noise(before, 9, 1.0)
    assert sigma == 0
    assert np.array_equal(after.colour, colour)


def test_the_estimate_of_noise_sees_no_straight_edges_and_no_shading() -> None:
    ramp = (np.arange(80)[:, None, None] * 200 + np.arange(80)[None, :, None] * 100 + np.zeros(3)).astype(
        np.int32
    )
    ramp[:, 40:] += 10000
    assert noise_levels(ramp, np.ones((80, 80), bool)).max() == 0


def test_glow_of_a_bright_frame_lies_on_the_object_s_rim_and_not_inside() -> None:
    alpha = np.zeros((80, 80), np.int32)
    alpha[15:65, 15:65] = WHOLE
    before = Layer(
        np.full((80, 80, 3), 60 * GREY, np.int32),
        alpha,
        (0, 0),
        np.full((80, 80, 3), 250, np.uint8),
        (80, 80),
    )
    after, most = add_glow(before, 4.0, 2.0)
    gain = (after.colour - before.colour)[..., 0] / GREY
    assert gain[16, 40] > 5
    assert gain[40, 40] == 0
    assert most == pytest.approx(gain.max(initial=0, where=alpha > 0), abs=1)


def test_glow_of_a_bright_object_spills_over_the_edge_and_that_of_a_dark_one_does_not() -> None:
    alpha = np.zeros((80, 80), np.int32)
    alpha[25:55, 25:55] = WHOLE
    window = np.full((80, 80, 3), 60, np.uint8)
    bright = Layer(np.full((80, 80, 3), 250 * GREY, np.int32), alpha, (0, 0), window, (80, 80))
    light = add_glow(bright, 4.0, 2.0)[0].light
    assert light is not None
    assert light[23, 40, 0] > 5 * GREY
    assert light[23, 40, 0] > light[18, 40, 0] > light[2, 40, 0]
    dark = replace(bright, colour=np.full((80, 80, 3), BRIGHT * GREY, np.int32))
    assert add_glow(dark, 4.0, 2.0) == (dark, 0.0)


def test_presets_have_the_paper_s_steps_in_its_order() -> None:
    assert [step.name for step in BLEND_STEPS] == [
        "alpha",
        "brightness",
        "histogram",
        "motion",
        "depth",
        "noise",
        "glow",
    ]
    assert [step.name for step in steps_of("fishyscapes-v1", "anomaly")] == ["alpha", "brightness", "noise"]
    assert steps_of("fishyscapes-v2", "anomaly") == BLEND_STEPS == steps_of("fishyscapes-v3", "anomaly")
    assert [step.name for step in BLEND_STEPS if step not in steps_of("fishyscapes-v3", "known")] == [
        "histogram"
    ]
    with refused(
        fs.errors.OptionError,
        r"preset must be one of fishyscapes-v1, .*; got 'fishyscapes-v4'\. Did you mean",
    ):
        steps_of("fishyscapes-v4", "anomaly")


@pytest.mark.parametrize("sigma", [-1.0, float("nan"), float("inf")])
def test_a_deviation_that_is_no_width_is_refused(sigma: float) -> None:
    for step in (smooth_alpha, blur_depth):
        with refused(
            fs.errors.OptionError, f"the deviation of a Gaussian must be 0 pixels or more; got {sigma:g}"
        ):
            step(layer(), sigma)
