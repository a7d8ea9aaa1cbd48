"""Check the options of a network before anything is opened.

Conventions: names are those of study.toml (prediction.catalogue).
"""

from __future__ import annotations

from typing import get_args

from faultscape.choices import Unmapped
from faultscape.errors import OptionError
from faultscape.metrics.scorers import check_scorers
from faultscape.prediction import keep as outputs
from faultscape.prediction.devices import PRECISIONS
from faultscape.prediction.inputs import size_of, wrong_colours, wrong_number
from faultscape.study.settings import ModelOptions

UNMAPPED = get_args(Unmapped)
_NAMES = {"size": "input-size", "window": "window", "stride": "stride"}
_LARGE = 2  # no mean or std of pixels on 0..1 exceeds this


def check(options: ModelOptions) -> None:
    """Raise OptionError for the first invalid option; print a note for a mean or std that looks like one for
    pixels on 0..255.
    """
    for key in ("mean", "std"):
        values = options.get(key) or []
        if values and (wrong := wrong_colours(key, values)):
            raise OptionError(wrong)
        if values and max(map(abs, values)) > _LARGE:
            print(
                f"note: pixels are on 0..1, and a {key} of {max(values, key=abs):g} is for pixels on 0..255;"
                " divide it by 255"
            )
    if options.get("layout", "") not in ("", "nchw", "nhwc"):
        raise OptionError(f"layout {options['layout']!r} is not known; use nchw or nhwc")
    for key in ("batch", "threads", "multiple"):
        if wrong := wrong_number(key, options.get(key, 1)):
            raise OptionError(wrong)
    sizes = {key: size_of(options[key], _NAMES[key]) for key in _NAMES if key in options}
    for key in (key for key, size in sizes.items() if size is None):
        raise OptionError(f"{_NAMES[key]} is WIDTHxHEIGHT, for example 512x512; got {options[key]!r}")
    if "stride" in options:
        if "window" not in options:
            raise OptionError("--stride is the step of windows; give --window WIDTHxHEIGHT too")
        (wide, tall), (right, down) = sizes["window"] or (0, 0), sizes["stride"] or (0, 0)
        if right > wide or down > tall:
            raise OptionError(
                f"a stride of {options['stride']} leaves gaps between windows of {options['window']}; give a"
                " smaller one"
            )
    if "scales" in options and not all(0.05 <= scale <= 20 for scale in options["scales"]):
        raise OptionError(f"scales lie between 0.05 and 20; got {options['scales']}")
    if not 0.05 <= options.get("crop", 1) <= 1:
        raise OptionError(f"crop is a share of the shorter side, from 0.05 to 1; got {options['crop']}")
    if options.get("precision", PRECISIONS[0]) not in PRECISIONS:
        raise OptionError(f"precision {options['precision']!r} is not known; use {', '.join(PRECISIONS)}")
    if options.get("unmapped", UNMAPPED[0]) not in UNMAPPED:
        raise OptionError(f"--unmapped {options['unmapped']!r} is not known; use {', '.join(UNMAPPED)}")
    check_scorers(options.get("scorer", []))
    keep = outputs.parse(options.get("keep", []))
    if keep.embeddings and any(options.get(key) for key in ("window", "flip", "scales")):
        raise OptionError("--keep embedding needs whole images: leave out --window, --flip and --scales")
