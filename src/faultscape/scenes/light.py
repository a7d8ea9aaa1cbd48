"""The light of a drawn street: turns a canvas in plain daylight into an image at dusk, at night, in fog, in
rain or against a low sun.

Conventions: colours are float32 on 0..1 here; light changes the image but never the truth. Fog reduces
contrast by exp(-thickness * depth).
"""

from __future__ import annotations

import cv2
import numpy as np

from faultscape.scenes.canvas import FARTHEST, PAVEMENT, ROAD, SKY, Canvas, rgb


def lit(
    canvas: Canvas, rng: np.random.Generator, light: str, truth: np.ndarray, depth: np.ndarray
) -> np.ndarray:
    """Return the image (H, W, 3) uint8 of a finished canvas."""
    h, w = truth.shape
    image = cv2.resize(canvas.image, (w, h), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    above = (truth == SKY).view(np.uint8)
    noise = 0.009
    blur = rng.uniform(0.3, 0.55)
    haze = rng.uniform(0.001, 0.003)
    air = rgb(0.78, 0.83, 0.88)
    if light == "day":
        image *= rng.uniform(0.88, 1.1) * rng.uniform(0.97, 1.03, 3).astype(np.float32)
    elif light == "dusk":
        dim = image * rgb(0.64, 0.52, 0.57) * rng.uniform(0.75, 1.1) + rgb(0.05, 0.02, 0.05)
        image = cv2.copyTo(image, above, dim)
        air = rgb(0.66, 0.44, 0.42)
        noise = 0.02
    elif light == "night":
        image = _night(canvas, rng, image, above, depth)
        air = rgb(0.07, 0.07, 0.1)
        noise = 0.035
        blur = rng.uniform(0.4, 0.75)
    elif light == "fog":
        haze = rng.uniform(0.015, 0.05)
        air = rgb(0.77, 0.79, 0.8) * rng.uniform(0.9, 1.05)
        noise = 0.012
        image = image * 0.85
    elif light == "rain":
        wet = _wet(canvas, image, truth) * rgb(0.78, 0.8, 0.85)
        image = cv2.copyTo(image, above, wet) * rng.uniform(0.85, 1.05)
        haze = rng.uniform(0.008, 0.018)
        air = rgb(0.58, 0.61, 0.64)
        noise = 0.02
    elif light == "low sun":
        image = cv2.copyTo(image, above, image * rgb(0.86, 0.7, 0.54) * rng.uniform(0.75, 1.05))
        air = rgb(1.0, 0.84, 0.6)
        haze = rng.uniform(0.004, 0.012)
    clear = np.exp(-haze * np.minimum(depth, 200 if light == "fog" else 90))
    hazy = image * _alike(clear) + cv2.merge([part * (1 - clear) for part in air])
    image = hazy if light == "fog" else cv2.copyTo(image, above, hazy)
    if canvas.dark:
        image = _bloom(canvas, image)
    if light == "low sun":
        image = _glare(canvas, rng, image)
    if light == "rain":
        image = _streaks(rng, image)
    image = cv2.GaussianBlur(image, (0, 0), blur)
    image += rng.standard_normal((h, w, 3), np.float32) * np.float32(1.1 * noise)
    return np.clip(image * 255 + 0.5, 0, 255).astype(np.uint8)


def _night(
    canvas: Canvas, rng: np.random.Generator, image: np.ndarray, above: np.ndarray, depth: np.ndarray
) -> np.ndarray:
    """Return the image in the light of street lamps and of the camera's own head lamps."""
    h, w = depth.shape
    camera = canvas.camera
    u = np.arange(w, dtype=np.float32)[None] * 2
    v = np.arange(h, dtype=np.float32)[:, None] * 2
    own = (
        0.75
        * np.exp(-depth / 16)
        * np.exp(-(((u - camera.u0) / (0.42 * camera.width)) ** 2))
        * (v > camera.horizon - 0.1 * camera.height_px)
    )
    dark = np.float32(rng.uniform(0.22, 0.36))
    levels = [dark * part + own for part in rgb(0.8, 0.9, 1.25)]
    for x, y, z in canvas.lamps:
        (cu, cv), (_, foot) = camera.project(np.array([[x, y, z], [x, 0.0, z]]))
        reach = 6.5 * camera.focal / z
        spread = np.exp(
            -(((u - cu) / reach) ** 2)
            - ((v - (0.3 * cv + 0.7 * foot)) / (0.75 * reach)) ** 2
            - ((depth - z) / 14) ** 2
        )
        for k, part in enumerate(rgb(0.85, 0.66, 0.38)):
            levels[k] += spread * part
    grey = _alike(0.3 * image.mean(axis=2))
    return cv2.copyTo(image, above, (0.7 * image + grey) * np.minimum(cv2.merge(levels), 1.1))


def _alike(values: np.ndarray) -> np.ndarray:
    """Return values (H, W) for each of three colours."""
    return cv2.merge([values, values, values])


def _bloom(canvas: Canvas, image: np.ndarray) -> np.ndarray:
    """Return the image with its lamps and lit windows, and the light that spills around them."""
    h, w = image.shape[:2]
    glow = canvas.glow * _alike((canvas.glow_owner == canvas.owner).view(np.uint8))
    glow = cv2.resize(glow, (w, h), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    return (
        np.maximum(image, glow)
        + 0.55 * cv2.GaussianBlur(glow, (0, 0), 3)
        + 0.5 * cv2.GaussianBlur(glow, (0, 0), 9)
    )


def _wet(canvas: Canvas, image: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the image with wet ground that mirrors what is above the horizon."""
    h = len(image)
    rows = np.clip(np.rint(canvas.camera.horizon - np.arange(h)).astype(int), 0, h - 1)
    mirror = cv2.blur(image[rows], (3, 13))
    wetness = np.zeros(256, np.float32)
    wetness[ROAD], wetness[PAVEMENT] = 0.5, 0.25
    wet = _alike(cv2.LUT(truth, wetness[None]))
    return image * (1 - wet) + (0.62 * mirror + 0.2 * image) * wet


def _glare(canvas: Canvas, rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Return the image with a low sun in it and glare around it."""
    h, w = image.shape[:2]
    u = w * rng.uniform(0.2, 0.8)
    v = canvas.camera.horizon / 2 - h * rng.uniform(0.04, 0.16)
    away = np.hypot(np.arange(w, dtype=np.float32)[None] - u, np.arange(h, dtype=np.float32)[:, None] - v) / w
    veil = 0.95 * np.exp(-((away / 0.05) ** 2)) + 0.42 * np.exp(-away / 0.16) + 0.05
    return image + cv2.merge([veil * part for part in rgb(1.0, 0.82, 0.52)])


def _streaks(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Return the image behind falling rain."""
    h, w = image.shape[:2]
    rain = np.zeros((h, w), np.uint8)
    slant = rng.uniform(-0.3, 0.3)
    for u, v, long in zip(
        rng.integers(0, w, 130), rng.integers(-10, h, 130), rng.integers(5, 16, 130), strict=True
    ):
        cv2.line(
            rain,
            (int(u), int(v)),
            (int(u + slant * long), int(v + long)),
            int(rng.integers(60, 200)),
            1,
            cv2.LINE_AA,
        )
    return image + _alike(rain.astype(np.float32) / 255 * 0.22)


def truth_of(canvas: Canvas) -> np.ndarray:
    """Return the truth at the finished size."""
    return np.array([kind for kind, *_ in canvas.surfaces], np.uint8)[canvas.owner[1::2, 1::2]]


def layers(canvas: Canvas) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return truth, instances and depth at the finished size."""
    table = np.array(canvas.surfaces, np.float64)
    owner = canvas.owner[1::2, 1::2]
    rows = table[:, 2:].astype(np.float32)[owner]
    v, u = np.mgrid[1 : canvas.owner.shape[0] : 2, 1 : canvas.owner.shape[1] : 2].astype(np.float32)
    near = rows[..., 0] * u + rows[..., 1] * v + rows[..., 2]
    depth = (1 / np.clip(near, 1 / FARTHEST, 2)).astype(np.float32)
    return table[:, 0].astype(np.uint8)[owner], table[:, 1].astype(np.uint16)[owner], depth
