"""Inputs of score metrics: one number per pixel, and a mask that says which pixels are anomalous.

Conventions: ``score`` has any shape and is float16, float32, float64, an integer or bool, large = more
anomalous; ``anomaly`` has the same shape and holds 0 (known), 1 (anomalous) and ``void`` (not judged), or is
bool. Void pixels are left out first, so their values, NaN included, do not matter. ``where`` names the image
in messages. Invalid input raises MetricError.
Source: Fishyscapes (Blum et al. 2021) for the three values; masked arrays are refused because libraries
silently drop the mask.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps.kernel_choice import Kernels

VOID = 255
WHOLE = 1 << 53  # below it float64 holds every whole number
RANKS = Kernels("faultscape.metrics.kernels.ranks", seconds=4)
_A_PIXEL = 3e-8  # seconds that the plain kernels take for a pixel
_ORDER = Kernels("faultscape.metrics.kernels.order", seconds=1)
_FEW = 1 << 13  # numbers that NumPy sorts before bytes are counted
_BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64, np.dtype(np.uint32): np.uint32}


def flat(
    score: np.ndarray, anomaly: np.ndarray, where: str = "", name: str = "score"
) -> tuple[np.ndarray, np.ndarray]:
    """Return both as flat arrays of a type that can be counted, the mask as uint8, uint16 or wider integers.

    >>> flat(np.array([[1, 2]]), np.array([[True, False]]))
    (array([1, 2]), array([1, 0], dtype=uint8))
    """
    at = f"{where}: " if where else ""
    for what, values in ((name, score), ("mask", anomaly)):
        if isinstance(values, np.ma.MaskedArray):
            raise MetricError(
                f"{at}the {what} is a masked array, whose mask most libraries silently drop; give a"
                " plain array, with 255 in the mask where a pixel is void"
            )
    score = np.asarray(score)
    anomaly = np.asarray(anomaly)
    if score.shape != anomaly.shape:
        raise MetricError(
            f"{at}the {name} has shape {score.shape}, the mask {anomaly.shape}; expected one shape"
        )
    if anomaly.dtype.kind not in "bui":
        raise MetricError(
            f"{at}the mask holds {anomaly.dtype}; expected integers 0, 1 and 255 (void), or bool"
        )
    if score.dtype.kind not in "bui" and score.dtype not in (np.float16, np.float32, np.float64):
        raise MetricError(
            f"{at}the {name} holds {score.dtype}; expected float16, float32, float64 or integers"
        )
    score = score.view(np.uint8) if score.dtype == bool else score
    anomaly = anomaly.view(np.uint8) if anomaly.dtype == bool else anomaly
    return score.ravel(), anomaly.ravel()


def exact_floats(score: np.ndarray, judged: np.ndarray | None = None, where: str = "") -> np.ndarray:
    """Return scores in the narrower of float32 and float64 that represents them exactly; MetricError for
    whole numbers from 2^53 on in ``judged`` pixels.

    >>> (
    ...     exact_floats(np.array([1, 2], np.int16)).dtype,
    ...     exact_floats(np.array([16777216, 16777217], np.int32)).dtype,
    ... )
    (dtype('float32'), dtype('float64'))
    """
    if score.dtype.kind == "f":
        return score.astype(np.float32) if score.dtype == np.float16 else score
    wide = score.astype(np.float32 if score.dtype.itemsize <= 2 else np.float64)
    if score.dtype.itemsize == 8:
        far = np.abs(wide) >= WHOLE
        if bad := int(np.count_nonzero(far if judged is None else far & judged)):
            at = f"{where}: " if where else ""
            raise MetricError(
                f"{at}{bad} of {score.size} scores are whole numbers of 2^53 or more, which float64 cannot"
                " distinguish; give smaller ones, for example ranks"
            )
    return wide


def check_unmasked(where: str = "", **arrays: object) -> None:
    """Raise MetricError for a masked array, by the name it was given under.

    >>> check_unmasked(doubt=np.ma.array([1.0], mask=[True]))
    Traceback (most recent call last):
    faultscape.errors.MetricError: the doubt is a masked array, whose mask most libraries silently
    drop; leave masked pixels out first
    """
    for name, values in arrays.items():
        if isinstance(values, np.ma.MaskedArray):
            at = f"{where}: " if where else ""
            raise MetricError(
                f"{at}the {name} is a masked array, whose mask most libraries silently drop; leave"
                " masked pixels out first"
            )


def split(
    score: np.ndarray, anomaly: np.ndarray, void: int = VOID, where: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the anomalous and of the known pixels, each in ascending order and finite.

    >>> split(np.array([0.5, np.nan, 0.25]), np.array([1, 255, 0]))
    (array([0.5]), array([0.25]))
    """
    score, anomaly = flat(score, anomaly, where)
    kernels = RANKS.ready(score.size * _A_PIXEL) if anomaly.dtype == np.uint8 else None
    if kernels is None:
        parts = [score[anomaly == label] for label in (1, 0)]
    else:
        rooms = [np.empty(score.size + 1, score.dtype) for _ in range(2)]
        sizes = kernels.split(score, anomaly, *rooms)
        parts = [room[:size] for room, size in zip(rooms, sizes, strict=True)]
    if len(parts[0]) + len(parts[1]) < score.size:
        check_mask(anomaly, void, where)
    for part in parts:
        sort(part)
    if not all(np.isfinite(part[[0, -1]]).all() for part in parts if len(part)):
        check_finite(np.sort(np.concatenate(parts)), where)
    return parts[0], parts[1]


def check_mask(anomaly: np.ndarray, void: int = VOID, where: str = "") -> None:
    """Raise MetricError for a value other than 0, 1 and ``void``.

    >>> check_mask(np.array([0, 2]), where="a.png")
    Traceback (most recent call last):
    faultscape.errors.MetricError: a.png: the mask holds 2; expected 0, 1 and 255 (void)
    """
    other = (anomaly != 0) & (anomaly != 1) & (anomaly != void)
    if other.any():
        at = f"{where}: " if where else ""
        raise MetricError(f"{at}the mask holds {int(anomaly[other][0])}; expected 0, 1 and {void} (void)")


def check_finite(ascending: np.ndarray, where: str = "", name: str = "scores") -> None:
    """Raise MetricError if any of the sorted values are NaN or infinite, with their number.

    >>> check_finite(np.array([1.0, 2.0, np.inf, np.nan]), "a.npy")
    Traceback (most recent call last):
    faultscape.errors.MetricError: a.npy: 2 of 4 scores are NaN or infinite; expected finite numbers in all
    pixels that are not void
    """
    if not ascending.size or (np.isfinite(ascending[0]) and np.isfinite(ascending[-1])):
        return  # NaN sorts to the end
    at = f"{where}: " if where else ""
    bad = int(np.count_nonzero(~np.isfinite(ascending)))
    raise MetricError(
        f"{at}{bad} of {ascending.size} {name} are NaN or infinite; expected finite numbers in all pixels"
        " that are not void"
    )


def sort(values: np.ndarray) -> None:
    """Bring contiguous numbers (N,) into ascending order where they lie, NaN to the ends.

    >>> doubt = np.array([0.5, 0.25])
    >>> sort(doubt)
    >>> doubt.tolist()
    [0.25, 0.5]
    """
    bits = _BITS.get(values.dtype)
    if bits is None or values.size <= _FEW:
        values.sort()
        return
    kernels = _ORDER.ready(values.size * _A_PIXEL)
    if kernels is None or kernels.is_numpy_fast():
        values.sort()
    else:
        kernels.sort(values.view(bits), np.empty(values.size, bits), values.dtype.kind == "f")
