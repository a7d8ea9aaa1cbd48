"""CORRUPTIONS: the nineteen corruptions of Hendrycks and Dietterich 2019 and those added since, and PRESETS,
named lists of them.

Conventions: an entry stands below its function, in the file of its family; a new one comes last. The nineteen
are in the published order: fifteen, then the four that the paper keeps for validation.
Parameters are those of the paper's code (ImageNet-C), which the package imagecorruptions shares, except for
elastic_transform, where that package's own values are used. Shares and deviations are on the scale 0..1;
lengths are in pixels, whatever the image's size.
"""

from __future__ import annotations

from faultscape import plug
from faultscape.errors import OptionError, closest
from faultscape.stressors.corruptions import blur, digital, noise, weather
from faultscape.stressors.definition import Corruption, Preset

CORRUPTIONS: tuple[Corruption, ...] = (
    noise.GAUSSIAN_NOISE,
    noise.SHOT_NOISE,
    noise.IMPULSE_NOISE,
    blur.DEFOCUS_BLUR,
    blur.GLASS_BLUR,
    blur.MOTION_BLUR,
    blur.ZOOM_BLUR,
    weather.SNOW,
    weather.FROST,
    weather.FOG,
    weather.BRIGHTNESS,
    digital.CONTRAST,
    digital.ELASTIC_TRANSFORM,
    digital.PIXELATE,
    digital.JPEG_COMPRESSION,
    noise.SPECKLE_NOISE,
    blur.GAUSSIAN_BLUR,
    weather.SPATTER,
    digital.SATURATE,
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
        tuple((each.name, _ALL) for each in CORRUPTIONS[:19]),
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
