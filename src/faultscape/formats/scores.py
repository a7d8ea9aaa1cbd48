"""Read scores from files: one number per pixel (anomaly, doubt, confidence), or one per class and pixel
(probabilities).

Conventions: scores are (H, W) floats in their original type, because rounding makes ties; integers of 8 or 16
bits become float32, of 32 and 64 bits float64; probabilities are (C, H, W). Files are .npy, .npz with one
array, float TIFF, or grey PNG and TIFF of 8 or 16 bits, whose values are divided by 255 or 65,535, or by
``scale``. Every number must be finite, because other scores cannot be ranked.

Confidence files that a folder of maps or a program provides with label maps.

Conventions: files are those that `score_files` reads: numbers from 0 to 1, or grey images of 8 or 16 bits,
whose values are divided by 255 or 65,535. It is stored in steps of 1/255, at the size of its map.
"""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np
from PIL import Image

from faultscape.errors import MetricError, ModelError
from faultscape.formats.guard import decoding, open_picture, read_bytes
from faultscape.formats.label_maps import stored_values

SCORE_ENDINGS = frozenset([".npy", ".npz", ".tif", ".tiff", ".png"])
_MAX_BYTES = 1 << 33
_MOST = 1 << 52  # whole numbers up to here stay distinct in float64, even divided by a scale


def read_scores(
    path: str | os.PathLike[str], *, scale: float | None = None, check: bool = True
) -> np.ndarray:
    """Return (H, W) scores; MetricError names the file and the fault; without ``check`` they may be NaN, as
    in pixels that are not judged.
    """
    values = _values(path, stored=scale is not None)
    if values.ndim == 3 and 1 in (values.shape[0], values.shape[2]):
        values = values[0] if values.shape[0] == 1 else values[..., 0]
    if values.ndim != 2 or not values.size or values.dtype.kind not in "fiub" or values.dtype.itemsize > 8:
        raise MetricError(
            f"{path}: expected one number per pixel, H x W, of at most 8 bytes; got {values.dtype} of shape"
            f" {values.shape}"
        )
    if values.dtype.kind in "iub":
        whole = {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}.get(values.dtype, 1)
        kind = np.float32 if values.dtype.itemsize <= 2 else np.float64
        if values.dtype.itemsize == 8 and (
            beyond := int(np.count_nonzero(np.abs(values.astype(np.float64)) > _MOST))
        ):
            raise MetricError(
                f"{path}: {beyond} of its {values.size} scores are whole numbers beyond 2^52, which float64"
                " cannot represent exactly; give smaller ones, for example ranks"
            )
        values = (values / (scale or whole)).astype(kind)
    return np.ascontiguousarray(finite(values, path) if check else values)


def read_probabilities(path: str | os.PathLike[str], classes: int) -> np.ndarray:
    """Return (C, H, W) probabilities, classes in the order of the class list; MetricError if their number
    differs, or they are not probabilities.
    """
    values = _values(path)
    if values.ndim == 4 and values.shape[0] == 1:
        values = values[0]
    if (
        values.ndim != 3
        or values.shape[0] != classes
        or values.dtype.kind != "f"
        or values.dtype.itemsize > 8
    ):
        raise MetricError(
            f"{path}: expected probabilities, {classes} x H x W (one channel per class); got {values.dtype}"
            f" of shape {values.shape}"
        )
    finite(values, path)
    if values.min() < 0 or values.max() > 1 + 1e-3:
        raise MetricError(
            f"{path}: holds {values.min():g}..{values.max():g}, which are not probabilities; take the softmax"
            " of logits first"
        )
    return values


def levels(path: str | os.PathLike[str]) -> int:
    """Return 255 for an 8-bit image, whose scores have many ties, and 0 for any other file."""
    if os.fspath(path).lower().endswith((".npy", ".npz")):
        return 0
    try:
        with Image.open(path) as picture:
            return 255 if picture.mode in ("L", "P", "1") else 0
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0


def finite(values: np.ndarray, path: str | os.PathLike[str]) -> np.ndarray:
    """Return the scores if all are finite; otherwise MetricError with the number of those that are not."""
    if values.dtype.kind == "f" and not (good := np.isfinite(values)).all():
        bad = int(values.size - good.sum())
        kind = (
            "NaN"
            if np.isnan(values).sum() == bad
            else "infinite"
            if not np.isnan(values).any()
            else "NaN or infinite"
        )
        raise MetricError(
            f"{path}: {bad} of its {values.size} scores are {kind}; scores must be finite numbers"
        )
    return values


def _values(path: str | os.PathLike[str], *, stored: bool = False) -> np.ndarray:
    """Return the array in a file, never objects, and within bounds; of a grey image brightness, or the
    numbers as ``stored``.
    """
    data = read_bytes(path, MetricError)
    with decoding(path, MetricError):
        if data[:6] == b"\x93NUMPY":
            return _native(np.load(io.BytesIO(data), allow_pickle=False))
        if data[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
                    raise MetricError(f"{path}: unpacks to more than {_MAX_BYTES >> 30} GiB")
            with np.load(io.BytesIO(data), allow_pickle=False) as held:
                names = list(held.files)
                if len(names) != 1:
                    raise MetricError(
                        f"{path}: holds {len(names)} arrays ({', '.join(names[:4])}); expected one"
                    )
                if not isinstance(values := held[names[0]], np.ndarray):
                    raise MetricError(f"{path}: holds {names[0]}, which is not a NumPy array")
                return _native(values)
        return _picture(data, path, stored=stored)


def _native(values: np.ndarray) -> np.ndarray:
    """Return the array in native byte order, which kernels and type comparisons expect."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _picture(data: bytes, path: str | os.PathLike[str], *, stored: bool) -> np.ndarray:
    picture = open_picture(
        data, path, MetricError, lossless="changes values; save scores as .npy, float TIFF or 16-bit PNG"
    )
    values = stored_values(picture) if stored else np.asarray(picture)
    if picture.mode not in ("L", "F", "I;16", "I;16B", "I;16L", "I"):
        raise MetricError(
            f"{path}: pixels of mode {picture.mode} cannot be scores; expected one grey channel of 8, 16 or"
            " 32 bits"
        )
    whole = picture.mode.startswith("I") and values.min() >= 0 and values.max() <= 65535
    return values.astype(np.uint16) if whole else values


def holds_confidence(source: str) -> bool:
    """Whether a folder has confidence beside its maps, which `beside` then finds."""
    return os.path.isdir(os.path.join(source, "confidence"))


def beside(source: str, path: str) -> str | None:
    """Return SOURCE/confidence/X for the map SOURCE/labels/X, if it exists."""
    relative = os.path.relpath(path, os.path.join(source, "labels"))
    found = os.path.join(source, "confidence", relative)
    return None if relative.startswith("..") or not os.path.isfile(found) else found


def read_confidence(path: str, shape: tuple[int, int]) -> np.ndarray:
    """Return (H, W) uint8, 255 = 1; ModelError if its size differs from the map's, or a number is outside 0
    to 1.
    """
    values = read_scores(path)
    if values.shape != shape or values.min() < 0 or values.max() > 1:
        found = f"{values.shape[1]} x {values.shape[0]} pixels of {values.min():g} to {values.max():g}"
        raise ModelError(
            f"{path}: holds {found}; expected {shape[1]} x {shape[0]}, as its map, with values from 0 to 1"
        )
    return np.rint(values * 255).astype(np.uint8)
