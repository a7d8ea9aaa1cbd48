"""Random corruptions are distributed as their formulas say: moments, shares, quantiles and spectra, derived
or from slow plain references.
"""

import math

import cv2
import numpy as np
import pytest
from scipy import ndimage, special

import faultscape as fs
from faultscape.stressors.corruptions.blur import move_by_glass_blur as glass_move
from faultscape.stressors.corruptions.digital import displacements
from faultscape.stressors.corruptions.noise import count_limits, quantiles
from faultscape.stressors.corruptions.weather import plasma_map, snow_layer
from faultscape.stressors.streams import stream_start

ENTRIES = {each.name: each for each in fs.stressors.CORRUPTIONS}
SIDE = 200


def corrupted(value: int, name: str, severity: int, kind: type = np.uint16) -> np.ndarray:
    """The values, on 0..1, that 120,000 equal ones become, of 16 bits."""
    return (
        fs.stressors.corrupt(np.full((SIDE, SIDE, 3), value, kind), name, severity, key="a").astype(float)
        / np.iinfo(kind).max
    )


def test_no_quantile_lies_where_the_last_bit_of_a_library_would_round_it_otherwise() -> None:
    places = np.arange(65536) + 0.5
    for count in (2.0**16, 2.0**32):
        steps = special.ndtri(places / count) * 2.0**24
        assert np.abs(steps - np.floor(steps) - 0.5).min() > 1e-6  # a last bit is 1e-8 of a step at most


def test_quantiles_have_the_moments_of_the_normal_distribution() -> None:
    table, tail = quantiles()
    outer = np.concatenate([-tail, tail]) / 65536
    assert abs(table[1:-1].sum() + outer.sum()) < 1e-9
    assert (np.square(table[1:-1]).sum() + 65536 * np.square(outer).sum()) / 65536 == pytest.approx(
        1, abs=1e-5
    )
    assert ((table[1:-1] ** 4).sum() + 65536**3 * (outer**4).sum()) / 65536 == pytest.approx(3, abs=1e-4)


@pytest.mark.parametrize("severity", range(1, 6))
def test_gaussian_noise_is_normal_with_the_published_deviation(severity: int) -> None:
    deviation = ENTRIES["gaussian_noise"].parameters[severity - 1][0]
    noise = corrupted(32768, "gaussian_noise", severity) - 0.5
    levels = np.linspace(-min(2.5 * deviation, 0.49), min(2.5 * deviation, 0.49), 41)
    reached = (noise.ravel()[:, None] <= levels).mean(axis=0)
    # Kolmogorov's bound at 0.1 %
    assert np.abs(reached - special.ndtr(levels / deviation)).max() < 1.95 / math.sqrt(noise.size)
    assert (noise == -0.5).mean() == pytest.approx(
        special.ndtr(-0.5 / deviation), abs=4 * math.sqrt(0.1 / noise.size)
    )
    flat = noise - noise.mean()
    for other in (np.roll(flat, 1, axis=2), np.roll(flat, 1, axis=1), np.roll(flat, 1, axis=0), flat[::-1]):
        assert abs((flat * other).mean()) < 5 * noise.var() / math.sqrt(noise.size / 2)


@pytest.mark.parametrize("severity", range(1, 6))
def test_speckle_noise_is_in_proportion_to_the_value(severity: int) -> None:
    deviation = ENTRIES["speckle_noise"].parameters[severity - 1][0]
    for value in (9000, 20000):
        noise = corrupted(value, "speckle_noise", severity) / (value / 65535) - 1
        inside = np.abs(noise) < 0.9
        assert inside.mean() == pytest.approx(2 * special.ndtr(0.9 / deviation) - 1, abs=0.005)
        middle = np.percentile(noise, [25, 50, 75])
        assert middle == pytest.approx(
            np.array([-0.67449, 0, 0.67449]) * deviation, abs=0.012 * deviation + 1e-4
        )


@pytest.mark.parametrize("severity", range(1, 6))
def test_shot_noise_counts_photons_as_poisson_does(severity: int) -> None:
    rate = ENTRIES["shot_noise"].parameters[severity - 1][0]
    limits = count_limits(rate, 255)[0] / 2**32
    exact = special.pdtr(np.arange(rate), np.arange(256)[:, None] * rate / 255)
    assert np.abs(limits - exact).max() < 3e-10
    for value in (0, 40, 128, 255):
        counts = np.bincount(
            np.rint(corrupted(value, "shot_noise", severity, np.uint8) * rate + 0.3).astype(int).ravel(),
            minlength=rate + 1,
        )[: rate + 1]
        chances = np.diff(np.concatenate([[0], exact[value], [1]]))
        assert counts.sum() == 3 * SIDE * SIDE
        assert (np.abs(counts - chances * counts.sum()) < 5 * np.sqrt(chances * counts.sum()) + 5).all()


@pytest.mark.parametrize("severity", range(1, 6))
def test_impulse_noise_is_black_or_white_as_often_as_published(severity: int) -> None:
    share = ENTRIES["impulse_noise"].parameters[severity - 1][0]
    made = corrupted(20000, "impulse_noise", severity)
    bound = 5 * math.sqrt(share / 2 / made.size)
    assert (made == 0).mean() == pytest.approx(share / 2, abs=bound)
    assert (made == 1).mean() == pytest.approx(share / 2, abs=bound)
    assert ((made == 0) | (made == 1) | (made == 20000 / 65535)).all()
    both = ((made[..., 0] != made[..., 1]) & (made[..., 0] % 1 == 0) & (made[..., 1] % 1 == 0)).mean()
    assert both == pytest.approx(share**2 / 2, abs=bound)  # each channel by itself


def test_steps_of_fog_are_uniform_and_shrink_as_published() -> None:
    for amount, decay in ENTRIES["fog"].parameters:
        del amount
        heights = plasma_map(256, decay, stream_start(0, "a", f"{decay}")).astype(float) / 8192
        for level, step in ((5, 8), (6, 4), (7, 2)):
            corners = heights[::step, ::step]
            means = (
                corners
                + np.roll(corners, -1, 0)
                + np.roll(corners, -1, 1)
                + np.roll(np.roll(corners, -1, 0), -1, 1)
            ) / 4
            wobble = (heights[step // 2 :: step, step // 2 :: step] - means) / (100 / decay**level) ** 2
            assert np.abs(wobble).max() < 1.02
            assert np.abs(np.sort(wobble.ravel()) - np.linspace(-1, 1, wobble.size)).max() < 4 / math.sqrt(
                wobble.size
            )


def test_displacements_have_the_deviation_of_blurred_uniform_noise() -> None:
    high, wide = 400, 300
    fields = [
        field / 2048
        for seed in range(4)
        for field in displacements(high, wide, 30.0, stream_start(seed, "a"))
    ]
    inner = np.stack(fields)[:, 30:-30, 30:-30]
    kernels = [
        np.exp(-(np.arange(-int(3 * s + 0.5), int(3 * s + 0.5) + 1) ** 2) / (2 * s * s)) for s in (4.0, 3.0)
    ]
    gain = math.sqrt(np.prod([(np.square(kernel) / kernel.sum() ** 2).sum() for kernel in kernels]))
    assert np.sqrt(np.square(inner).mean()) == pytest.approx(
        30 * 0.005 * high / math.sqrt(3) * gain, rel=0.03
    )
    likeness = [
        (inner * np.roll(inner, shift, axis))[:, 20:-20, 20:-20].mean() / np.square(inner).mean()
        for shift, axis in ((4, 1), (3, 2))
    ]
    # a Gaussian's own correlation at one deviation
    assert likeness == pytest.approx([math.exp(-1 / 4)] * 2, abs=0.03)
    assert abs(np.corrcoef(fields[0].ravel(), fields[1].ravel())[0, 1]) < 0.1


def glass_by_chance(rng: np.random.Generator, high: int, wide: int, reach: int, rounds: int) -> np.ndarray:
    """How far down each pixel came from, by the published loop on an array of colours (H, W, 2), as NumPy
    runs it.
    """
    x = np.stack(np.mgrid[:high, :wide], axis=2)
    for _ in range(rounds):
        for h in range(high - reach, reach, -1):
            for w in range(wide - reach, reach, -1):
                dx, dy = rng.integers(-reach, reach, 2)
                x[h, w], x[h + dy, w + dx] = x[h + dy, w + dx], x[h, w]
    return x - np.stack(np.mgrid[:high, :wide], axis=2)


@pytest.mark.parametrize(("reach", "rounds"), [(1, 2), (3, 1)])
def test_glass_takes_pixels_from_as_far_as_the_published_loop_does(reach: int, rounds: int) -> None:
    high, wide, rng = 60, 70, np.random.default_rng(0)
    expected = np.stack([glass_by_chance(rng, high, wide, reach, rounds) for _ in range(3)])
    y, x = np.mgrid[:high, :wide]
    moves = [glass_move(high, wide, (0.7, reach, rounds), stream_start(seed, "a")) for seed in range(3)]
    made = np.stack([np.stack([rows - y, columns - x], axis=3 - 1) for rows, columns in moves])
    for axis in (0, 1):
        shares = [
            np.bincount(np.clip(d[..., axis], -8, 8).ravel() + 8, minlength=17) / d[..., axis].size
            for d in (made, expected)
        ]
        assert shares[0] == pytest.approx(shares[1], abs=0.03)
        assert made[..., axis].std() == pytest.approx(expected[..., axis].std(), rel=0.15)
    assert not made[:, : reach + 1].any()  # the reach and one more are left out
    assert made[:, reach + 1 :, reach + 1 :].any(axis=(0, 3)).mean() > 0.9


def snow_by_floats(
    rng: np.random.Generator, high: int, wide: int, parameters: tuple[float, ...]
) -> np.ndarray:
    """The published layer before it is blurred."""
    mean, deviation, zoom, threshold = parameters[:4]
    layer = ndimage.zoom(
        rng.normal(mean, deviation, (math.ceil(high / zoom), math.ceil(wide / zoom))), zoom, order=1
    )
    return np.clip(np.where(layer < threshold, 0, layer), 0, 1)


@pytest.mark.parametrize("severity", range(1, 6))
def test_snow_has_as_much_snow_as_the_plain_reference(severity: int) -> None:
    parameters, rng = ENTRIES["snow"].parameters[severity - 1], np.random.default_rng(0)
    expected = [snow_by_floats(rng, 200, 240, parameters).mean() for _ in range(6)]
    made = [snow_layer(200, 240, parameters, stream_start(seed, "a")) / 255 for seed in range(6)]
    bound = 6 * math.hypot(np.std(expected), np.std([layer.mean() for layer in made])) / math.sqrt(6)
    assert np.mean(made) == pytest.approx(np.mean(expected), abs=bound + 0.002)
    steep = np.abs(np.fft.fft2(np.stack(made) - np.mean(made))) ** 2
    # flakes fall down, more or less: rows change less than columns
    assert steep[:, :6, 30:90].mean() > 1.5 * steep[:, 30:90, :6].mean()


def spatter_by_floats(
    rng: np.random.Generator, high: int, wide: int, parameters: tuple[float, ...]
) -> np.ndarray:
    """The published spatter on a grey of 0.4, (H, W, 3) on 0..1, with OpenCV."""
    mean, deviation, blur, threshold, amount, mud = parameters
    liquid = ndimage.gaussian_filter(rng.normal(mean, deviation, (high, wide)), blur, mode="nearest")
    liquid[liquid < threshold] = 0
    image = np.full((high, wide, 3), 0.4)
    if mud:
        cover = ndimage.gaussian_filter(np.where(liquid > threshold, 1.0, 0.0), amount, mode="nearest")[
            ..., None
        ]
        cover[cover < 0.8] = 0
        return image * (1 - cover) + cover * np.array([63, 42, 20]) / 255
    liquid = (liquid * 255).astype(np.uint8)
    far = np.minimum(cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5), 20)
    far = cv2.equalizeHist(cv2.blur(far, (3, 3)).astype(np.uint8))
    far = cv2.blur(
        cv2.filter2D(far, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])), (3, 3)
    ).astype(float)
    drops = (liquid * far / (liquid * far).max() * amount)[..., None]
    return np.clip(image + drops * np.array([175, 238, 238]) / 255, 0, 1)


@pytest.mark.parametrize("severity", range(1, 6))
def test_spatter_covers_and_colours_as_the_plain_reference(severity: int) -> None:
    parameters, rng = ENTRIES["spatter"].parameters[severity - 1], np.random.default_rng(0)
    expected = [spatter_by_floats(rng, 240, 300, parameters) * 255 - 102 for _ in range(8)]
    grey = np.full((240, 300, 3), 102, np.uint8)
    made = [
        fs.stressors.corrupt(grey, "spatter", severity, seed=seed, key="a").astype(float) - 102
        for seed in range(8)
    ]
    for of in (
        lambda d: d[..., 0].mean(),
        lambda d: d[..., 2].mean(),
        lambda d: (np.abs(d[..., 2]) > 8).mean(),
        lambda d: d.std(),
    ):
        ours, theirs = [of(d) for d in made], [of(d) for d in expected]
        bound = 5 * math.hypot(np.std(ours), np.std(theirs)) / math.sqrt(8)
        assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=bound + 0.03 * abs(np.mean(theirs)))
