"""Corruptions against slow plain references, written from the published formulas in floats with SciPy,
colorsys, Pillow and OpenCV; all of severities 1 to 5.
"""

import colorsys
import io
import math

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

import faultscape as fs
from corrupted_images import PUBLISHED, drawn_image
from faultscape.stressors.corruptions.blur import motion_blur, motion_steps
from faultscape.stressors.corruptions.blur import move_by_glass_blur as glass_move
from faultscape.stressors.corruptions.digital import displacements
from faultscape.stressors.corruptions.weather import plasma_map, snow_layer, water
from faultscape.stressors.definition import Parameters
from faultscape.stressors.streams import Stream, stream_start

ENTRIES = {each.name: each for each in fs.stressors.CORRUPTIONS}


def of_channels(image: np.ndarray, function: object) -> np.ndarray:
    """Apply a function of (H, W) floats on 0..1 to each channel, and bring the result back to grey levels."""
    planes = image[..., None] if image.ndim == 2 else image
    made = np.stack([function(planes[..., c] / 255.0) for c in range(planes.shape[2])], axis=2)
    return (np.clip(made, 0, 1) * 255).reshape(image.shape)


def of_pixels(image: np.ndarray, change: object) -> np.ndarray:
    """Change each pixel's (hue, saturation, value) with colorsys."""
    flat = [
        colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*pixel))) for pixel in image.reshape(-1, 3) / 255.0
    ]
    return np.clip(np.array(flat), 0, 1).reshape(image.shape) * 255


def defocus_blur(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    radius, rim = parameters
    reach, window = (8, 1) if radius <= 8 else (radius, 2)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disc = (x**2 + y**2 <= radius**2) / (x**2 + y**2 <= radius**2).sum()
    side = np.exp(-(np.arange(-window, window + 1) ** 2) / (2 * rim**2))
    kernel = ndimage.correlate(disc, np.outer(side, side) / side.sum() ** 2, mode="mirror")
    return of_channels(image, lambda plane: ndimage.correlate(plane, kernel, mode="mirror"))


def zoom_blur(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    zooms = np.arange(1, *parameters)

    def mean(plane: np.ndarray) -> np.ndarray:
        total = plane.copy()
        for zoom in zooms:
            high, wide = (math.ceil(size / zoom) for size in plane.shape)
            top, left = (plane.shape[0] - high) // 2, (plane.shape[1] - wide) // 2
            layer = ndimage.zoom(plane[top : top + high, left : left + wide], zoom, order=1, mode="nearest")
            total += layer[: plane.shape[0], : plane.shape[1]]
        return total / (len(zooms) + 1)

    return of_channels(image, mean)


def brightness(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    if image.ndim == 2:
        return np.clip(image / 255.0 + parameters[0], 0, 1) * 255
    return of_pixels(image, lambda h, s, v: (h, s, min(v + parameters[0], 1)))


def saturate(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    if image.ndim == 2:
        return image.astype(float)
    return of_pixels(image, lambda h, s, v: (h, min(s * parameters[0] + parameters[1], 1), v))


def contrast(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    return of_channels(image, lambda plane: (plane - plane.mean()) * parameters[0] + plane.mean())


def pixelate(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    high, wide = image.shape[:2]
    small = Image.fromarray(image).resize(
        (int(wide * parameters[0]), int(high * parameters[0])), Image.Resampling.BOX
    )
    return np.asarray(small.resize((wide, high), Image.Resampling.NEAREST), float)


def jpeg_compression(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Another build of the library: OpenCV's, with its own files; grey as a colour image of greys."""
    colour = np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image
    _, file = cv2.imencode(
        ".jpg", cv2.cvtColor(colour, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, parameters[0]]
    )
    assert Image.open(io.BytesIO(file.tobytes())).mode == "RGB"
    decoded = cv2.cvtColor(cv2.imdecode(file, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB).astype(float)
    return decoded[..., 0] if image.ndim == 2 else decoded


def gaussian_blur(image: np.ndarray, parameters: Parameters) -> np.ndarray:
    return of_channels(
        image, lambda plane: ndimage.gaussian_filter(plane, parameters[0], mode="nearest", truncate=4)
    )


REFERENCES = (
    defocus_blur,
    zoom_blur,
    brightness,
    saturate,
    contrast,
    pixelate,
    jpeg_compression,
    gaussian_blur,
)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.__name__)
@pytest.mark.parametrize("shape", [(61, 83, 3), (64, 48, 1), (33, 130, 3)])
def test_without_chance_every_pixel_is_within_a_grey_level_of_the_formula(
    reference: object, shape: tuple[int, int, int]
) -> None:
    image = drawn_image(*shape)
    image[:3] = 255 * (image[:3] % 2)  # the blackest and whitest pixels beside each other, also at the border
    if shape[2] == 3:
        image[5:8, 4:20] = image[5:8, 4:20, :1]  # greys
    assert not ENTRIES[reference.__name__].random
    for severity, parameters in enumerate(ENTRIES[reference.__name__].parameters, 1):
        expected = reference(image, parameters)
        made = fs.stressors.corrupt(image, reference.__name__, severity).astype(float)
        assert np.abs(made - np.floor(expected + 1e-9)).max() <= 1, severity
        assert np.abs(made - np.floor(expected + 1e-9)).mean() < 0.1
        changed = np.abs(made - image).mean()
        assert changed > 0.5 or (image.ndim == 2 and reference is saturate)


def test_without_chance_nothing_is_left_out() -> None:
    assert {reference.__name__ for reference in REFERENCES} == {
        name for name in PUBLISHED if not ENTRIES[name].random
    }


def test_motion_is_the_sum_of_moved_images_along_the_drawn_angle() -> None:
    image = drawn_image(70, 90)
    for severity, (radius, sigma) in enumerate(ENTRIES["motion_blur"].parameters, 1):
        start = stream_start(0, "a", "motion_blur", severity)
        angle = math.radians(Stream(start, "angle").uniform(-45, 45))
        weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
        total = np.zeros(image.shape)
        for i, weight in enumerate(weights / weights.sum()):
            down, right = -math.ceil(i * math.sin(angle) - 0.5), -math.ceil(i * math.cos(angle) - 0.5)
            y, x = np.clip(np.arange(70) - down, 0, 69), np.clip(np.arange(90) - right, 0, 89)
            total += weight * image[y][:, x]
        made = motion_blur(image, (radius, sigma), start)
        assert (made == fs.stressors.corrupt(image, "motion_blur", severity, key="a")).all()
        assert np.abs(made - np.floor(total + 1e-6)).max() <= 1


def test_angles_of_motion_are_even_between_45_degrees_to_both_sides() -> None:
    angles = [
        Stream(stream_start(seed, "a", "motion_blur", 1), "angle").uniform(-45.0, 45.0)
        for seed in range(2000)
    ]
    counts = np.histogram(angles, bins=9, range=(-45, 45))[0]
    assert counts.sum() == 2000
    assert np.abs(counts - 2000 / 9).max() < 4 * math.sqrt(2000 / 9)
    down, right, weights = motion_steps(10, 3.0, 45.0, 20)
    assert (down[-4], right[-4]) == (-14, -14)  # the last of 21, then three of weight 0
    assert weights[21:].tolist() == [0, 0, 0]


def test_elastic_reads_the_image_at_its_displacements_by_linear_interpolation() -> None:
    image = drawn_image(90, 70)
    for severity, (amount,) in enumerate(ENTRIES["elastic_transform"].parameters, 1):
        start = stream_start(0, "a", "elastic_transform", severity)
        down, right = displacements(90, 70, amount, start)
        y, x = np.mgrid[:90, :70].astype(float)
        places = (y + down / 2048, x + right / 2048)
        expected = of_channels(
            image,
            lambda plane, places=places: ndimage.map_coordinates(plane, places, order=1, mode="reflect"),
        )
        made = fs.stressors.corrupt(image, "elastic_transform", severity, key="a")
        assert np.abs(made - np.floor(expected + 1e-6)).max() <= 1
        assert (down.min() < -1024) or severity < 3


def test_fog_is_added_from_a_height_map_and_scaled_to_the_brightest_value() -> None:
    image = drawn_image(40, 50)
    for severity, (amount, decay) in enumerate(ENTRIES["fog"].parameters, 1):
        heights = plasma_map(50, decay, stream_start(0, "a", "fog", severity)).astype(float)
        heights = (heights - heights.min()) / (heights.max() - heights.min())
        most = image.max() / 255
        expected = (
            np.clip((image / 255 + amount * heights[:40, :50, None]) * most / (most + amount), 0, 1) * 255
        )
        assert (
            np.abs(fs.stressors.corrupt(image, "fog", severity, key="a") - np.floor(expected + 1e-6)).max()
            <= 1
        )


def test_snow_whitens_the_image_and_adds_its_layer_and_the_layer_turned() -> None:
    image = drawn_image(40, 50)
    for severity, parameters in enumerate(ENTRIES["snow"].parameters, 1):
        keep = parameters[6]
        layer = snow_layer(40, 50, parameters, stream_start(0, "a", "snow", severity)) / 255
        grey = image @ [0.299, 0.587, 0.114] / 255
        white = keep * image / 255 + (1 - keep) * np.maximum(image / 255, (1.5 * grey + 0.5)[..., None])
        expected = np.clip(white + (layer + np.rot90(layer, 2))[..., None], 0, 1) * 255
        assert (
            np.abs(fs.stressors.corrupt(image, "snow", severity, key="a") - np.floor(expected + 1e-6)).max()
            <= 1
        )


def test_edges_and_distances_of_spatter_are_those_of_opencv() -> None:
    from faultscape.stressors.kernels import weather

    field = ndimage.gaussian_filter(np.random.default_rng(0).normal(0.65, 0.3, (120, 150)), 2)
    liquid = (np.where(field < 0.68, 0, field) * 255).astype(np.uint8)
    edges = weather.edges(liquid, 50, 150)
    assert (edges * 255 == cv2.Canny(liquid, 50, 150)).mean() > 0.999
    assert 0.02 < edges.mean() < 0.5
    far = cv2.distanceTransform(1 - edges, cv2.DIST_L2, 5)
    assert np.abs(weather.distances(edges, 20 << 16) / 65536 - np.minimum(far, 20)).max() < 1e-3


def test_glass_is_a_blur_pixels_taken_from_others_and_the_blur_again() -> None:
    image = drawn_image(60, 70)
    for severity, parameters in enumerate(ENTRIES["glass_blur"].parameters, 1):
        rows, columns = glass_move(60, 70, parameters, stream_start(0, "a", "glass_blur", severity))

        def blurred(of: np.ndarray, sigma: float = parameters[0]) -> np.ndarray:
            return np.floor(
                of_channels(of, lambda plane: ndimage.gaussian_filter(plane, sigma, mode="nearest")) + 1e-6
            )

        expected = blurred(blurred(image)[rows, columns])
        # truncated twice
        assert np.abs(fs.stressors.corrupt(image, "glass_blur", severity, key="a") - expected).max() <= 2
        assert np.abs(fs.stressors.corrupt(image, "glass_blur", severity, key="a") - expected).mean() < 0.2


def test_frost_adds_a_part_of_the_enlarged_texture() -> None:
    image, texture = drawn_image(90, 60), drawn_image(40, 50)
    for severity, (kept, added) in enumerate(ENTRIES["frost"].parameters, 1):
        stream = Stream(stream_start(0, "a", "frost", severity), "texture")
        stream.integer(1)
        scale = 1.1 * (90 / 40)  # what the height takes, and a tenth more
        high, wide = math.ceil(40 * scale), math.ceil(50 * scale)
        large = cv2.resize(texture, (wide, high), interpolation=cv2.INTER_LINEAR).astype(float)
        top, left = stream.integer(high - 90), stream.integer(wide - 60)
        expected = np.minimum(kept * image + added * large[top : top + 90, left : left + 60], 255)
        made = fs.stressors.corrupt(image, "frost", severity, key="a", textures=[texture])
        assert np.abs(made - np.floor(expected)).max() <= 2


def test_water_is_embossed_from_the_distance_to_its_edges_as_with_opencv() -> None:
    field = ndimage.gaussian_filter(np.random.default_rng(1).normal(0.65, 0.3, (120, 150)), 3)
    liquid = (np.where(field < 0.68, 0, field) * 255).astype(np.uint8)
    far = np.minimum(cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5), 20)
    far = cv2.equalizeHist(cv2.blur(far, (3, 3)).astype(np.uint8))
    far = cv2.filter2D(far, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    drops = liquid * cv2.blur(far, (3, 3)).astype(float)
    made = water(liquid.astype(np.int32), 0.6) / 65536
    apart = np.abs(made - 0.6 * drops / drops.max())
    assert apart.mean() < 0.002
    assert np.quantile(apart, 0.99) < 0.02
    assert made.max() == pytest.approx(0.6, abs=1e-4)
