"""Whether the options of a network make sense, before anything is opened.

Conventions: names are those of study.toml (prediction.origin).
"""

from __future__ import annotations

import math
from typing import Any

from faultscape.errors import OptionError
from faultscape.prediction import keeping
from faultscape.prediction.devices import PRECISIONS
from faultscape.study.settings import parse_size


def check(options: dict[str, Any]) -> None:
    """OptionError for the first option that no network can have."""
    mean, std, layout = options.get("mean"), options.get("std"), options.get("layout", "")
    if any(values and len(values) not in (1, 3) for values in (mean, std)):
        raise OptionError(f"mean and std are one number, or one for each of red, green and blue; got {mean} and {std}")
    if (
        (std and min(std) <= 0)
        or not all(math.isfinite(v) for v in [*(mean or []), *(std or [])])
        or layout not in ("", "nchw", "nhwc")
    ):
        raise OptionError(f"std must be above 0, mean and std finite, layout nchw or nhwc; got {mean}, {std}, {layout!r}")
    for key in ("batch", "threads", "multiple"):
        if options.get(key, 1) < 1:
            raise OptionError(f"{key} must be 1 or more; got {options[key]}")
    for key in ("size", "window", "stride"):
        if key in options and parse_size(options[key]) is None:
            raise OptionError(
                f"{'input-size' if key == 'size' else key} is WIDTHxHEIGHT, for example 512x512; got {options[key]!r}"
            )
    if "stride" in options:
        if "window" not in options:
            raise OptionError("--stride is the step of windows; give --window WIDTHxHEIGHT too")
        (wide, tall), (right, down) = parse_size(options["window"]) or (0, 0), parse_size(options["stride"]) or (0, 0)
        if right > wide or down > tall:
            raise OptionError(
                f"a stride of {options['stride']} leaves gaps between windows of {options['window']}; give a smaller one"
            )
    if "scales" in options and not all(0.05 <= scale <= 20 for scale in options["scales"]):
        raise OptionError(f"scales lie between 0.05 and 20; got {options['scales']}")
    if options.get("precision", PRECISIONS[0]) not in PRECISIONS:
        raise OptionError(f"precision {options['precision']!r} is not known; use {', '.join(PRECISIONS)}")
    if options.get("unmapped", "void") != "void":
        raise OptionError(f"--unmapped {options['unmapped']!r} is not known; use void")
    keep = keeping.parse(options.get("keep", []))
    if keep.embeddings and any(options.get(key) for key in ("window", "flip", "scales")):
        raise OptionError("--keep embedding is for whole pictures: leave --window, --flip and --scales out")
