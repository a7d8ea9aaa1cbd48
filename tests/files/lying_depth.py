"""Files of depth that hold no depth, by what is wrong with them; each is for an image of ``SHAPE``."""

from __future__ import annotations

import numpy as np

SHAPE = (36, 48)
_METRES = np.linspace(1, 90, 36 * 48).reshape(SHAPE)


def _with(value: float) -> np.ndarray:
    out = _METRES.astype(np.float32)
    out[3, 4:7] = value
    return out


CASES: dict[str, tuple[np.ndarray, str]] = {
    "NaN": (_with(np.nan), "3 of 1,728 depths are NaN; give metres, and 0 where the depth is unknown"),
    "infinite": (_with(np.inf), "3 of 1,728 depths are infinite"),
    "negative": (_with(-1), "3 of 1,728 depths are negative"),
    "minus infinity": (_with(-np.inf), "3 of 1,728 depths are infinite"),
    "beyond float32": (np.where(_METRES > 89, 1e300, _METRES), "depths are infinite"),
    "all zero": (np.zeros(SHAPE), "every depth is 0, which means unknown"),
    "complex": (_METRES + 1j, "holds complex128 values; expected depth in metres as floats"),
    "bool": (_METRES > 40, "holds bool values; expected depth in metres as floats"),
    "half the size": (_METRES[::2, ::2], "has 24 x 18 pixels, its image 48 x 36"),
    "turned": (_METRES.T, "has 36 x 48 pixels, its image 48 x 36"),
    "three channels": (np.dstack([_METRES] * 3), r"expected depth \(H, W\) in metres; got an array of shape"),
    "objects": (_METRES.astype(object), "holds no depth"),
}
