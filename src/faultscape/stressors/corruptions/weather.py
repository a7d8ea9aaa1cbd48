"""Corruptions as weather makes them, and drops or mud on the lens.

Source: Hendrycks and Dietterich 2019, appendix B, unless a function names another.

Drawn textures of ice on glass: ferns that grow from the edges of the glass, on a film of fine crystals.

Conventions: (480, 720, 3) uint8, RGB. Lines are sums of whole numbers along directions in steps of 2^-14,
blurs are those of `smooth`: the same bytes everywhere.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from faultscape.errors import ImageError
from faultscape.stressors.corruptions.blur import blur_along, enlarged_places
from faultscape.stressors.corruptions.loops import colour_loops, geometry_loops, noise_loops, weather_loops
from faultscape.stressors.corruptions.noise import normal_table
from faultscape.stressors.corruptions.smooth import gaussian_field
from faultscape.stressors.definition import Corruption, Parameters
from faultscape.stressors.streams import Stream, stream_start

_SNOW_ONE = 255 * 64  # the value 1 of a layer of snow
TEXTURES = 6
_HIGH = 480
_WIDE = 720
_DARK = np.array([52, 68, 90])
_LIGHT = np.array([240, 248, 255])
_FERNS = (80, 150, 36, 220, 24, 70)  # in each texture
_LENGTHS = ((90, 260), (50, 160), (160, 380), (40, 110), (200, 420), (70, 300))
_FILM = (8000, 5000, 12000, 4000, 14000, 9000)  # the brightness of glass without ferns
_CLEAR = (0.35, 0.15, 0.45, 0.0, 0.5, 0.25)  # the share of the middle without ice


@functools.lru_cache(maxsize=TEXTURES)
def frost_texture(number: int) -> np.ndarray:
    """Return (480, 720, 3) uint8, one of six textures; do not write to it.

    >>> frost_texture(0).shape, bool((frost_texture(0) == frost_texture(1)).all())
    ((480, 720, 3), False)
    """
    stream = Stream(number, "frost")
    lines = np.zeros(_HIGH * _WIDE, np.int64)
    for _ in range(_FERNS[number]):
        _grow(lines, stream, number)
    # additional layers of ice add less and less
    crystals = (32000 * lines // (lines + 9)).astype(np.int16).reshape(_HIGH, _WIDE)
    sharp, soft = (gaussian_field(crystals, (sigma, sigma), 3.0, "mirror") >> 15 for sigma in (0.6, 5.0))
    film = 9 * _film(number, 20.0) + (_film(number, 2.5) >> 1) + (_film(number, 0.7) >> 3)
    light = np.clip(_FILM[number] + film + (3 * sharp + soft) // 2, 0, 32767)[..., None]
    colours = ((_DARK * (32767 - light) + _LIGHT * light) // 32767).astype(np.uint8)
    colours.setflags(write=False)
    return colours


def _film(number: int, sigma: float) -> np.ndarray:
    """Return (480, 720) noise with grains of a given size."""
    start = np.uint64(stream_start(number, "film", str(sigma)))
    drawn = noise_loops().uniforms(start, _HIGH * _WIDE).reshape(_HIGH, _WIDE)
    return gaussian_field(drawn, (sigma, sigma), 3.0, "mirror") >> 15


def _grow(lines: np.ndarray, stream: Stream, number: int) -> None:
    """Add a fern to the texture: a stem, branches at 60 degrees on both sides, and needles on these."""
    place, inward = _root(stream, _CLEAR[number])
    shortest, longest = _LENGTHS[number]
    length = shortest + stream.integer(longest - shortest)
    bend = stream.uniform(-0.004, 0.004)
    spacing = 4 + stream.integer(4)
    spread = stream.uniform(0.2, 0.45)
    angles = [inward + bend * k for k in range(length)]
    steps = np.array([_direction(angle) for angle in angles])
    stem = np.array(place) * 16384 + np.cumsum(steps, axis=0)
    _add(lines, stem, 4)
    roots = np.arange(0, length, spacing)
    reach = np.maximum(((length - roots) * round(spread * 1024) * np.minimum(roots + 20, 60) // 60) >> 10, 1)
    for side in (-1, 1):
        branch, needle = (
            np.array([_direction(angles[k] + side * turn) for k in roots]) for turn in (math.pi / 3, 0.0)
        )
        j = np.arange(int(reach.max()))
        points = stem[roots][:, None] + j[None, :, None] * branch[:, None]
        grown = j < reach[:, None]
        _add(lines, points[grown], 2)
        m = np.arange(max(int(reach.max()) // 4, 1))
        beside = points[:, ::5, None] + m[None, None, :, None] * needle[:, None, None]
        left = (reach[:, None] - j[::5]) // 4
        _add(lines, beside[m < left[..., None]], 1)


def _root(stream: Stream, clear: float) -> tuple[tuple[int, int], float]:
    """Return the start of a fern, (y, x), and the direction in which it grows: roughly from outside to the
    middle.
    """
    while True:
        y = stream.integer(_HIGH)
        x = stream.integer(_WIDE)
        away = max(abs(2 * y - _HIGH) / _HIGH, abs(2 * x - _WIDE) / _WIDE)
        if away >= clear + stream.uniform(0.0, 0.5):
            break
    towards = math.atan2(_HIGH / 2 - y, _WIDE / 2 - x)
    return (y, x), towards + stream.uniform(-1.1, 1.1)


def _direction(angle: float) -> tuple[int, int]:
    """Return a step of one pixel (down, right) in units of 2^-14."""
    return round(math.sin(angle) * 16384), round(math.cos(angle) * 16384)


def _add(lines: np.ndarray, points: np.ndarray, weight: int) -> None:
    """Add a weight to the pixels of points (n, 2) that are inside the texture."""
    y, x = ((points[:, k] + 8192) >> 14 for k in (0, 1))
    inside = (y >= 0) & (y < _HIGH) & (x >= 0) & (x < _WIDE)
    lines += weight * np.bincount(y[inside] * _WIDE + x[inside], minlength=lines.size)


def snow(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Snow: moving flakes in front of a whitened image.

    x' = clip(k x + (1 - k) max(x, 1.5 grey + 0.5) + s + s turned by half a turn); s is normal noise (mean,
    deviation), with its middle enlarged by `zoom`, values below `threshold` set to 0, clipped to 0..1,
    blurred along a direction of -135..-45 degrees, rounded to 1 / 255. Truncated to grey levels. Conventions:
    only the enlarged middle is drawn. Source: Hendrycks and Dietterich 2019, appendix B; the package
    imagecorruptions for images of any shape.

    Return (H, W, C) pixels; parameters are the layer's mean, deviation, zoom and threshold, the motion's
    radius and deviation, and the share k of the image that is kept.

    >>> snowy = snow(np.full((32, 32, 1), 100, np.uint8), (0.1, 0.3, 3, 0.5, 10, 4, 0.8), 0)
    >>> int(snowy.min()), int(snowy.max())
    (135, 185)
    """
    keep, (high, wide, channels) = parameters[6], pixels.shape
    top = int(np.iinfo(pixels.dtype).max)
    layer = snow_layer(high, wide, parameters, start)
    out = np.empty((high, wide * channels), pixels.dtype)
    weather_loops().whiten(
        pixels.reshape(high, -1), channels, layer, round(keep * 65536), top // 255, top, out
    )
    return out.reshape(pixels.shape)


def snow_layer(high: int, wide: int, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W) uint8: the flakes, 255 white."""
    mean, deviation, zoom, threshold, radius, sigma = parameters[:6]
    tall = math.ceil(high / zoom)
    broad = math.ceil(wide / zoom)
    table, tail = normal_table(deviation * _SNOW_ONE)
    drawn = noise_loops().normals(np.uint64(start), tall * broad, table, tail).reshape(
        tall, broad
    ) + np.int32(round(mean * _SNOW_ONE))
    size = (round(tall * zoom), round(broad * zoom))
    y0, fy = enlarged_places(tall, size[0], size[0])
    x0, fx = enlarged_places(broad, size[1], size[1])
    layer = np.empty(size, np.int32)
    geometry_loops().enlarge(drawn, 1, y0, fy, x0, fx, layer)
    layer[layer < round(threshold * _SNOW_ONE)] = 0
    flakes = (np.clip(layer, 0, _SNOW_ONE) >> 2).astype(np.uint16)[..., None]
    angle = Stream(start, "angle").uniform(-135.0, -45.0)
    blurred = blur_along(flakes, int(radius), float(sigma), angle, 1 << 19, 16)
    return (blurred[:high, :wide, 0] >> 4).astype(np.uint8)


SNOW = Corruption(
    "snow",
    "Snow",
    "weather",
    ("mean", "deviation", "zoom", "threshold", "radius", "motion", "kept"),
    (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
    snow,
    random=True,
)


_GREY_BITS = (19595, 38469, 7472)  # 0.2989, 0.5870 and 0.1140 in steps of 2^-16


def frost(
    pixels: np.ndarray, parameters: Parameters, start: int, textures: Sequence[np.ndarray] | None = None
) -> np.ndarray:
    """Frost: ice on the window in front of the camera.

    x' = clip(k x + f ice), where ice is a random crop, of the image's size, from one of several textures
    enlarged to 1.1 times the size that covers the image (1.1 times its own size if it already does);
    truncated to grey levels. Conventions: textures are drawn by our own code (weather/frost_textures), or
    given: (h, w) or (h, w, 3), uint8. They are enlarged by linear interpolation, where the reference uses
    cubic. Source: Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for images of any
    shape.

    Return (H, W, C) pixels; parameters are the shares of the image and of the ice. ImageError for invalid
    textures.

    >>> white = np.full((4, 4), 255, np.uint8)
    >>> frost(np.full((1, 2, 1), 100, np.uint8), (0.8, 0.5), 0, [white]).ravel()
    array([207, 207], dtype=uint8)
    """
    stream = Stream(start, "texture")
    if textures is None:
        texture = frost_texture(stream.integer(TEXTURES))
    else:
        texture = _checked(textures, stream.integer(len(textures) or 1))
    high, wide, channels = pixels.shape
    if channels == 1 and texture.shape[2] == 3:
        texture = ((texture.astype(np.int64) @ np.array(_GREY_BITS)) >> 16)[..., None]
    tall, broad = texture.shape[:2]
    scale = 1.1 * max(high / tall, wide / broad, 1.0)
    size = (math.ceil(tall * scale), math.ceil(broad * scale))
    top = stream.integer(size[0] - high)
    left = stream.integer(size[1] - wide)
    y0, fy = _between(tall, size[0], top, high)
    x0, fx = _between(broad, size[1], left, wide)
    ice = np.empty((high, wide * texture.shape[2]), np.uint8)
    geometry_loops().enlarge(
        np.ascontiguousarray(texture.reshape(tall, -1), np.uint8), texture.shape[2], y0, fy, x0, fx, ice
    )
    if texture.shape[2] < channels:
        ice = np.repeat(ice, channels, axis=1)
    most = int(np.iinfo(pixels.dtype).max)
    kept, added = (
        math.ceil(part * 65536) * np.arange(count)
        for part, count in zip(parameters, (most + 1, 256), strict=True)
    )
    return (
        colour_loops()
        .blend(pixels.ravel(), ice.ravel(), kept, added * (most // 255), most)
        .reshape(pixels.shape)
    )


def _between(part: int, size: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` positions from ``first`` on in ``part`` pixels enlarged to ``size``, aligned by pixel
    centres, and weights in steps of 2^-14.
    """
    steps = np.clip((2 * np.arange(first, first + count) + 1) * part - size, 0, 2 * size * (part - 1))
    places = steps // (2 * size)
    rest = steps % (2 * size)
    return places, (rest * 16384 + size) // (2 * size)


def _checked(textures: Sequence[np.ndarray], place: int) -> np.ndarray:
    """Return the texture at a place as (h, w, C)."""
    if isinstance(textures, np.ndarray) and (
        textures.ndim < 3 or (textures.ndim == 3 and textures.shape[2] == 3)
    ):
        raise ImageError(
            f"frost: textures is a single array {textures.shape}; give a list of images, [texture] for one"
        )
    if not len(textures):
        raise ImageError(
            "frost: textures is empty; give one or more images, or leave it out to use drawn ones"
        )
    texture = np.asarray(textures[place])
    if (
        texture.dtype != np.uint8
        or texture.ndim not in (2, 3)
        or (texture.ndim == 3 and texture.shape[2] != 3)
        or not texture.size
    ):
        raise ImageError(
            f"frost: texture {place + 1} is {texture.dtype} {texture.shape}; expected uint8 (h, w) or"
            " (h, w, 3)"
        )
    return texture[..., None] if texture.ndim == 2 else texture


FROST = Corruption(
    "frost",
    "Frost",
    "weather",
    ("image", "ice"),
    ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
    frost,
    random=True,
    textured=True,
    source="Hendrycks and Dietterich 2019; the textures are ours",
)


_STEPS = 8192  # a height of 1


def fog(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Fog: a plasma fractal cloud over the image, the same on all channels.

    x' = clip((x + c p) m / (m + c)), m the image's largest value, p in 0..1 a height map by the diamond-
    square algorithm with steps of 100^2 / d^(2 l) at level l; the map's side is the longer side rounded up to
    a power of two, and it wraps around. Truncated to grey levels. Source: Hendrycks and Dietterich 2019,
    appendix B; Fournier, Fussell and Carpenter 1982.

    Return (H, W, C) pixels; parameters are the amount c and the decay d.

    >>> foggy = fog(np.full((8, 8, 1), 200, np.uint8), (1.5, 2), 0)
    >>> int(foggy.min()), int(foggy.max())
    (68, 199)
    """
    amount = float(parameters[0])
    decay = float(parameters[1])
    high, wide, channels = pixels.shape
    top = int(np.iinfo(pixels.dtype).max)
    most = int(pixels.max())
    heights = plasma_map(max(high, wide), decay, start)
    low = int(heights.min())
    span = max(int(heights.max()) - low, 1)
    gain = most / (most + amount * top) if most else 0.0
    gains = np.rint(np.arange(top + 1) * (gain * 65536.0)).astype(np.int64)
    out = np.empty((high, wide * channels), pixels.dtype)
    factor = amount * top * gain * 65536.0 / span
    weather_loops().veil(pixels.reshape(high, -1), channels, heights, low, factor, gains, top, out)
    return out.reshape(pixels.shape)


def plasma_map(side: int, decay: float, start: int) -> np.ndarray:
    """Return (S, S) int32 heights, where S is the side rounded up to a power of two.

    >>> plasma_map(5, 2.0, 0).shape
    (8, 8)
    """
    size = 1 << (side - 1).bit_length()
    reaches = []
    reach = 10000.0
    for _ in range(size.bit_length()):
        reaches.append(round(reach * _STEPS))
        reach = reach / decay / decay
    return weather_loops().plasma(size, np.array(reaches, np.int64), np.uint64(start))


FOG = Corruption(
    "fog",
    "Fog",
    "weather",
    ("amount", "decay"),
    ((1.5, 2), (2.0, 2), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)),
    fog,
    random=True,
)


def brightness(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Brightness: more light.

    The value of HSV becomes min(v + c, 1); all channels are scaled alike, x' = x v' / v, and black becomes
    grey. For greyscale images, x' = min(x + c, 1). Truncated to grey levels.

    Return (H, W, C) pixels with parameters[0], on the scale 0..1, added to their value.

    >>> brightness(np.array([[[200, 100, 0], [0, 0, 0]]], np.uint8), (0.1,), 0)
    array([[[225, 112,   0],
            [ 25,  25,  25]]], dtype=uint8)
    """
    del start
    high, wide, channels = pixels.shape
    top = int(np.iinfo(pixels.dtype).max)
    add = Fraction(str(parameters[0])) * top
    # v' times the denominator
    twice = np.minimum(np.arange(top + 1) * add.denominator + add.numerator, top * add.denominator)
    if channels == 1:
        return (
            colour_loops()
            .look_up(pixels.reshape(-1, 1), (twice // add.denominator)[None].astype(pixels.dtype))
            .reshape(pixels.shape)
        )
    below = np.maximum(np.arange(top + 1), 1) * add.denominator
    ratios = -((-twice << 16) // below)  # rounded up, so that exact values are not truncated
    ratios[0] = 0
    return (
        colour_loops()
        .brighten(pixels.reshape(-1, 3), ratios, int(twice[0] // add.denominator))
        .reshape(high, wide, 3)
    )


BRIGHTNESS = Corruption(
    "brightness",
    "Brightness",
    "weather",
    ("added",),
    ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,)),
    brightness,
    random=False,
)


_LIQUID = 8192  # the value 1 of the liquid before blurring, 2^28 after
_TURQUOISE = (175, 238, 238)
_MUD = (63, 42, 20)
_GREY = (0.2989, 0.5870, 0.1140)
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.int32)
_MEAN = np.ones((3, 3), np.int32)


def spatter(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Spatter: drops of water (severities 1 to 3) or mud (4 and 5) on the lens.

    l is normal noise (mean, deviation) blurred with a Gaussian, values below `threshold` set to 0. Water: its
    edges (Canny, 50 and 150) give distances, at most 20, which are averaged over 3 x 3, equalised, embossed
    and averaged again; m = l times that, over its maximum, times `amount`, and x' = clip(x + m pale
    turquoise). Mud: m is the mask l > threshold blurred with a Gaussian of `amount` pixels, values below 0.8
    set to 0, and x' = (1 - m) x + m brown. Truncated to grey levels. Conventions: edges, distances and
    averages are our own loops of integers, after OpenCV's definitions (Canny with |dx| + |dy|; a 5 x 5
    chamfer of 1, 1.4 and 2.1969).

    Return (H, W, C) pixels; parameters are the liquid's mean, deviation, blur and threshold, the amount, and
    1 for mud.

    >>> dirty = spatter(np.full((64, 64, 1), 100, np.uint8), (0.65, 0.3, 1, 0.65, 1.5, 1), 0)
    >>> int(dirty.min()), int(dirty.max())
    (47, 100)
    """
    mean, deviation, sigma, threshold, amount, mud = parameters
    high, wide, channels = pixels.shape
    table, tail = normal_table(deviation * _LIQUID)
    drawn = noise_loops().normals(np.uint64(start), high * wide, table, tail) + np.int32(
        round(mean * _LIQUID)
    )
    liquid = gaussian_field(drawn.astype(np.int16).reshape(high, wide), (sigma, sigma), 4.0, "nearest")
    wet = liquid >= round(threshold * 2**28)
    if mud:
        cover = (
            gaussian_field(np.where(wet, 16384, 0).astype(np.int16), (amount, amount), 4.0, "nearest") >> 13
        )
        drops = np.where(cover < 52429, 0, cover)  # 0.8
        keep = 65536 - drops
    else:
        drops = water(np.where(wet, ((liquid >> 8) * 255) >> 20, 0), amount)
        keep = np.full((high, wide), 65536, np.int32)
    colour = np.array(_MUD if mud else _TURQUOISE, np.int64)
    if channels == 1:
        colour = np.array([round(sum(w * c for w, c in zip(_GREY, colour.tolist(), strict=True)))])
    top = int(np.iinfo(pixels.dtype).max)
    out = np.empty((high, wide * channels), pixels.dtype)
    weather_loops().splash(
        pixels.reshape(high, -1), channels, drops, keep, (colour * (top // 255)) << 16, top, out
    )
    return out.reshape(pixels.shape)


def water(liquid: np.ndarray, amount: float) -> np.ndarray:
    """Return (H, W) int32, in steps of 2^-16: the amount of the water's colour to add, given the liquid (H,
    W) int32 with values 0..255.

    >>> water(np.zeros((2, 2), np.int32), 0.6).tolist()
    [[0, 0], [0, 0]]
    """
    loops = weather_loops()
    brims = loops.edges(liquid.astype(np.uint8), 50, 150)
    far = (loops.sums3(loops.distances(brims, 20 << 16), _MEAN) // (9 << 16)).astype(np.uint8)
    heights = equalised(far)[far]
    embossed = np.clip(loops.sums3(heights, _EMBOSS), 0, 255)
    drops = liquid * ((loops.sums3(embossed, 2 * _MEAN) + 9) // 18)
    most = int(drops.max())
    return (np.arange(most + 1) * round(amount * 65536) // max(most, 1)).astype(np.int32)[drops]


def equalised(image: np.ndarray) -> np.ndarray:
    """Return (256,) int32: the histogram equalisation table of an image with values 0..255; the lowest one
    becomes 0.

    >>> equalised(np.array([[3, 3, 7, 9]]))[[3, 7, 9]]
    array([  0, 128, 255], dtype=int32)
    """
    counts = np.bincount(image.ravel(), minlength=256)
    lowest = int(np.flatnonzero(counts)[0])
    others = int(counts.sum() - counts[lowest])
    if not others:
        return np.full(256, lowest, np.int32)
    reached = np.cumsum(counts) - counts[lowest]
    table = (2 * 255 * reached + others) // (2 * others)
    table[: lowest + 1] = 0
    return table.astype(np.int32)


SPATTER = Corruption(
    "spatter",
    "Spatter",
    "weather",
    ("mean", "deviation", "blur", "threshold", "amount", "mud"),
    (
        (0.65, 0.3, 4, 0.69, 0.6, 0),
        (0.65, 0.3, 3, 0.68, 0.6, 0),
        (0.65, 0.3, 2, 0.68, 0.5, 0),
        (0.65, 0.3, 1, 0.65, 1.5, 1),
        (0.67, 0.4, 1, 0.65, 1.5, 1),
    ),
    spatter,
    random=True,
)
