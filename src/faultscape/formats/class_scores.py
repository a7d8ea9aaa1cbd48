"""Read the scores of every class and pixel from a file: logits or probabilities, as NumPy or torch saved
them.

Conventions: scores are (C, H, W) floats, float64 or smaller, in native byte order; one more axis of length
one, before or after the classes, is dropped. Files are .npy, .npz with one array, and .pt or .pth with one
tensor. Sizes in a file's header are checked before anything of that size is allocated. NaN is refused,
infinity is not: it rules a class out.

Logits and probabilities are distinguished by their values, never by a name. Probabilities lie between 0 and 1
and sum to 1 in every pixel. Logits have values below -1 or above 2, and sums that differ among pixels or
values below 0. Everything else, for example sigmoids, percentages or cosines, is neither for certain.
"""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any, Literal

import numpy as np

from faultscape.errors import ModelError
from faultscape.formats.guard import MAX_PIXELS, UNREADABLE, decoding, read_bytes
from faultscape.formats.torch_tensors import TORCH_FILES, tensor_of

SCORE_FILES = frozenset([".npy", ".npz", *TORCH_FILES])
MOST_BYTES = 4 << 30  # of one file, and of what it unpacks to
_NUMPY = b"\x93NUMPY"
_ZIP = b"PK\x03\x04"
_NEAR = 0.01  # how far sums of probabilities are from 1, after rounding to 8 bits of fraction
_EXPECTED = "expected scores of classes, C x H x W floats"
Kind = Literal["logits", "probabilities", ""]


def read_class_scores(path: str | os.PathLike[str]) -> np.ndarray:
    """Return (C, H, W) scores of a file; ModelError names the file, what it holds and what would be read."""
    data = read_bytes(path, ModelError, limit=MOST_BYTES)
    if os.fspath(path).lower().endswith(TORCH_FILES):
        values = tensor_of(data, path, most=MOST_BYTES)
    elif data[:4] == _ZIP:
        values = _array_of_archive(data, path)
    else:
        values = _array(data, path)
    return _checked(values, path)


def kind_of(scores: np.ndarray) -> Kind:
    """Return whether scores (C, H, W) are logits or probabilities; '' if their values do not say so for
    certain.

    >>> kind_of(np.array([[[3.5]], [[-2.0]]])), kind_of(np.array([[[0.75]], [[0.25]]]))
    ('logits', 'probabilities')
    >>> kind_of(np.array([[[0.9]], [[0.8]]])), kind_of(np.array([[[75.0]], [[25.0]]]))
    ('', '')
    """
    low = scores.min()
    high = scores.max()
    with np.errstate(invalid="ignore", over="ignore"):
        total = scores.sum(0, dtype=np.float64)
        least = total.min()
        most = total.max()
    sums_to_one = abs(least - 1) <= _NEAR and abs(most - 1) <= _NEAR
    if low >= 0 and high <= 1 and sums_to_one:
        return "probabilities"
    is_scaled = low >= 0 and most - least <= _NEAR * most  # percentages, or shares of 255
    is_wide = low < -1 or high > 2
    return "logits" if is_wide and not is_scaled and not sums_to_one else ""


def holds_scores(path: str | os.PathLike[str]) -> bool:
    """Whether a file, by its name and the beginning of a .npy, holds scores of classes and not labels.

    >>> holds_scores("a.npz"), holds_scores("a.png")
    (True, False)
    """
    ending = os.path.splitext(path)[1].lower()
    if ending != ".npy":
        return ending in SCORE_FILES
    try:
        with open(path, "rb") as file:
            shape, _, kind = _header(io.BytesIO(file.read(1 << 12)))
    except (OSError, *UNREADABLE):
        return False
    return kind.kind == "f" and len(shape) > 2


def _checked(values: np.ndarray, path: str | os.PathLike[str]) -> np.ndarray:
    found = f"{values.dtype} of shape {values.shape}"
    if values.dtype.kind in "iub":
        raise ModelError(
            f"{path}: {_EXPECTED}; got {found}; save whole numbers, if they are labels, as .npy or PNG of H x"
            " W, and probabilities as floats from 0 to 1"
        )
    if values.ndim == 4 and 1 in values.shape[:2]:
        values = values[0] if values.shape[0] == 1 else values[:, 0]
    if values.dtype.kind != "f" or values.dtype.itemsize > 8 or values.ndim != 3 or not values.size:
        raise ModelError(f"{path}: {_EXPECTED}; got {found}; save one file an image")
    if len(values) == 1:
        raise ModelError(
            f"{path}: holds one channel, whose largest is always class 0; save one channel a class: of a"
            " network of two classes np.stack([1 - p, p])"
        )
    if values.shape[1] * values.shape[2] > MAX_PIXELS:
        raise ModelError(f"{path}: has more than {MAX_PIXELS} pixels, the most that is read; shrink it")
    if bad := int(np.isnan(values).sum()):
        raise ModelError(f"{path}: {bad} of its {values.size} scores are NaN")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, the order and the type that a .npy file says it holds."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _array(data: bytes, path: str | os.PathLike[str]) -> np.ndarray:
    """Return the array of a .npy file, whose header must agree with its length."""
    file = io.BytesIO(data)
    with decoding(path, ModelError):
        if data[:6] != _NUMPY:
            raise ModelError(f"{path}: is not a NumPy file; save scores with np.save, np.savez or torch.save")
        shape, in_columns, kind = _header(file)
        held = len(data) - file.tell()
    if kind.hasobject or kind.itemsize == 0:
        raise ModelError(f"{path}: {_EXPECTED}; got {kind}, which is not read")
    size = kind.itemsize
    for side in shape:
        size *= side
    if size != held:
        raise ModelError(f"{path}: has {held:,} bytes of numbers; its header says {size:,}")
    values = np.frombuffer(data, kind, offset=len(data) - held)
    return values.reshape(shape, order="F" if in_columns else "C")


def _array_of_archive(data: bytes, path: str | os.PathLike[str]) -> np.ndarray:
    """Return the only array of a .npz file."""
    with decoding(path, ModelError), zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        names = [entry.filename.removesuffix(".npy") for entry in entries]
        if len(entries) != 1:
            some = ", ".join(names[:4])
            raise ModelError(
                f"{path}: holds {len(names)} arrays ({some}); expected one; save the scores alone"
            )
        if entries[0].file_size > MOST_BYTES:
            raise ModelError(f"{path}: unpacks to more than {MOST_BYTES >> 30} GiB, the most that is read")
        return _array(archive.read(entries[0]), path)
