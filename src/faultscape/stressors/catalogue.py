"""CORRUPTIONS: the nineteen corruptions of Hendrycks and Dietterich 2019, each a complete entry, and PRESETS,
named lists of them.

Conventions: entries are in the published order: fifteen, then the four that the paper keeps for validation.
Parameters are those of the paper's code (ImageNet-C), which the package imagecorruptions shares, except for
elastic_transform, where that package's own values are used. Shares and deviations are on the scale 0..1;
lengths are in pixels, whatever the image's size.
"""

from __future__ import annotations

from faultscape import plug
from faultscape.errors import OptionError, closest
from faultscape.stressors.blur import defocus_blur, gaussian_blur, glass_blur, motion_blur, zoom_blur
from faultscape.stressors.definition import Corruption, Preset
from faultscape.stressors.digital import contrast, elastic_transform, jpeg_compression, pixelate, saturate
from faultscape.stressors.noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from faultscape.stressors.weather import brightness, fog, frost, snow, spatter

CORRUPTIONS: tuple[Corruption, ...] = (
    Corruption(
        "gaussian_noise",
        "Gaussian noise",
        "noise",
        ("deviation",),
        ((0.08,), (0.12,), (0.18,), (0.26,), (0.38,)),
        gaussian_noise.apply,
        random=True,
    ),
    Corruption(
        "shot_noise",
        "Shot noise",
        "noise",
        ("photons",),
        ((60,), (25,), (12,), (5,), (3,)),
        shot_noise.apply,
        random=True,
    ),
    Corruption(
        "impulse_noise",
        "Impulse noise",
        "noise",
        ("share",),
        ((0.03,), (0.06,), (0.09,), (0.17,), (0.27,)),
        impulse_noise.apply,
        random=True,
    ),
    Corruption(
        "defocus_blur",
        "Defocus blur",
        "blur",
        ("radius", "rim"),
        ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        defocus_blur.apply,
        random=False,
    ),
    Corruption(
        "glass_blur",
        "Glass blur",
        "blur",
        ("deviation", "reach", "rounds"),
        ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        glass_blur.apply,
        random=True,
        move=glass_blur.move,
    ),
    Corruption(
        "motion_blur",
        "Motion blur",
        "blur",
        ("radius", "deviation"),
        ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        motion_blur.apply,
        random=True,
    ),
    Corruption(
        "zoom_blur",
        "Zoom blur",
        "blur",
        ("end", "step"),
        ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
        zoom_blur.apply,
        random=False,
        move=zoom_blur.move,
    ),
    Corruption(
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
        snow.apply,
        random=True,
    ),
    Corruption(
        "frost",
        "Frost",
        "weather",
        ("image", "ice"),
        ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
        frost.apply,
        random=True,
        textured=True,
        source="Hendrycks and Dietterich 2019; the textures are ours",
    ),
    Corruption(
        "fog",
        "Fog",
        "weather",
        ("amount", "decay"),
        ((1.5, 2), (2.0, 2), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)),
        fog.apply,
        random=True,
    ),
    Corruption(
        "brightness",
        "Brightness",
        "weather",
        ("added",),
        ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,)),
        brightness.apply,
        random=False,
    ),
    Corruption(
        "contrast",
        "Contrast",
        "digital",
        ("kept",),
        ((0.4,), (0.3,), (0.2,), (0.1,), (0.05,)),
        contrast.apply,
        random=False,
    ),
    Corruption(
        "elastic_transform",
        "Elastic transform",
        "digital",
        ("amount",),
        ((12.5,), (16.25,), (21.25,), (25.0,), (30.0,)),
        elastic_transform.apply,
        random=True,
        move=elastic_transform.move,
        source="Hendrycks and Dietterich 2019; the numbers are those of imagecorruptions",
    ),
    Corruption(
        "pixelate",
        "Pixelate",
        "digital",
        ("size",),
        ((0.6,), (0.5,), (0.4,), (0.3,), (0.25,)),
        pixelate.apply,
        random=False,
    ),
    Corruption(
        "jpeg_compression",
        "JPEG compression",
        "digital",
        ("quality",),
        ((25,), (18,), (15,), (10,), (7,)),
        jpeg_compression.apply,
        random=False,
    ),
    Corruption(
        "speckle_noise",
        "Speckle noise",
        "noise",
        ("deviation",),
        ((0.15,), (0.2,), (0.35,), (0.45,), (0.6,)),
        speckle_noise.apply,
        random=True,
    ),
    Corruption(
        "gaussian_blur",
        "Gaussian blur",
        "blur",
        ("deviation",),
        ((1,), (2,), (3,), (4,), (6,)),
        gaussian_blur.apply,
        random=False,
    ),
    Corruption(
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
        spatter.apply,
        random=True,
    ),
    Corruption(
        "saturate",
        "Saturate",
        "digital",
        ("factor", "added"),
        ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
        saturate.apply,
        random=False,
    ),
)

_ALL = (1, 2, 3, 4, 5)
_KAMANN = (
    *((name, (1, 2, 3)) for name in ("gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise")),
    *((name, _ALL) for name in ("motion_blur", "defocus_blur", "glass_blur", "gaussian_blur")),
    *((name, _ALL) for name in ("brightness", "contrast", "saturate", "jpeg_compression")),
    *((name, _ALL) for name in ("snow", "spatter", "fog", "frost")),
)
PRESETS: tuple[Preset, ...] = (
    Preset(
        "hendrycks15", tuple((each.name, _ALL) for each in CORRUPTIONS[:15]), "Hendrycks and Dietterich 2019"
    ),
    Preset(
        "hendrycks19",
        tuple((each.name, _ALL) for each in CORRUPTIONS),
        "Hendrycks and Dietterich 2019, with the four of validation",
    ),
    Preset(
        "s3-config",
        (("gaussian_noise", _ALL),),
        "Buchanan et al. 2022, the configuration of the released evaluation",
    ),
    Preset(
        "s3-data",
        tuple((name, _ALL) for name in ("gaussian_noise", "brightness", "contrast", "fog")),
        "Buchanan et al. 2022, the released data set's builder",
    ),
    Preset(
        "kamann",
        _KAMANN,
        "Kamann and Rother 2020, without their PSF blur, intensity noise and geometric distortion",
    ),
)


def entry(name: str) -> Corruption:
    """Return the corruption with a name, or the ``Corruption`` in ``file.py:NAME``; OptionError with the
    closest name otherwise.

    >>> entry("fog").parameters[2], entry("fog").family
    ((2.5, 1.7), 'weather')
    """
    return plug.find("corruption", name, {each.name: each for each in CORRUPTIONS}, of=Corruption)


def preset(name: str) -> Preset:
    """Return the preset with a name; OptionError with the closest name otherwise.

    >>> [word for word, _ in preset("s3-data").corruptions]
    ['gaussian_noise', 'brightness', 'contrast', 'fog']
    """
    known = {each.name: each for each in PRESETS}
    if name not in known:
        raise OptionError(
            f"preset {name!r} is not known; known are {', '.join(known)}.{closest(name, list(known))}"
        )
    return known[name]
