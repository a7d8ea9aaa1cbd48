"""What a public function was given, as an array of the expected kind; or one line that names the argument.

Conventions: ``axes`` are the expected ones in words, such as ``H x W``; ``... x C`` allows any number before
the last. ``name`` is the argument, and ``error`` the exception raised, that of the function's room. Lists are
read as arrays. Bools are the numbers 0 and 1. Labels are whole numbers of an integer type: floats are refused
even where all are whole, because scores of classes are floats too, and reading these as labels gives numbers
that mean nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from faultscape.errors import FaultscapeError, LabelMapError

_Error = type[FaultscapeError]


def numbers(values: Any, name: str, error: _Error, axes: str = "") -> np.ndarray:
    """Return values as an array of bools, integers or floats.

    >>> numbers([[1, 2]], "wins", LabelMapError, "J x J").shape
    (1, 2)
    >>> numbers("unet", "wins", LabelMapError, "J x J")
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: wins: expected numbers, J x J; got 'unet'
    """
    array = _array(values)
    if array is None or array.dtype.kind not in "biuf" or not _fits(array.ndim, axes):
        raise error(f"{name}: expected numbers{axes and ', ' + axes}; got {_described(values, array)}")
    return array


def whole_numbers(values: Any, name: str, error: _Error, axes: str = "") -> np.ndarray:
    """Return values as an array of integers, bools as uint8.

    >>> whole_numbers([True, False], "right", LabelMapError, "I").tolist()
    [1, 0]
    """
    array = _array(values)
    if array is not None and not array.size and array.dtype.kind == "f":  # as NumPy reads an empty list
        array = array.astype(np.int64)
    if array is None or array.dtype.kind not in "biu" or not _fits(array.ndim, axes):
        raise error(
            f"{name}: expected whole numbers{axes and ', ' + axes}; got {_described(values, array)}"
            f"{_cure(array, axes)}"
        )
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def label_map(values: Any, name: str, error: _Error = LabelMapError) -> np.ndarray:
    """Return a label map (H, W) of integers, with at least one pixel.

    >>> label_map([[True, False]], "truth, image 0").tolist()
    [[1, 0]]
    """
    if np.ma.isMaskedArray(values):
        raise error(
            f"{name}: masked arrays are not read, since most libraries silently drop the mask; set those"
            " pixels to the void id"
        )
    array = whole_numbers(values, name, error, "H x W")
    if not array.size:
        raise error(f"{name}: expected whole numbers, H x W; got {array.dtype} of shape {array.shape}")
    return array


def images(maps: Any, name: str, error: _Error = LabelMapError) -> list[Any]:
    """Return the maps of I images: (I, H, W), a list, or one map (H, W), also as rows of numbers.

    >>> len(images(np.zeros((4, 5), int), "truth")), len(images([np.zeros((4, 5), int)] * 2, "truth"))
    (1, 2)
    >>> len(images([[0, 1], [1, 1], [2, 0]], "truth"))
    1
    """
    return list(each_image(maps, name, error))


def each_image(maps: Any, name: str, error: _Error = LabelMapError) -> Iterable[Any]:
    """Return the same without holding what comes one by one."""
    if isinstance(maps, Mapping):
        raise error(f"{name}: expected maps, I x H x W; got a dict; give its maps in an order, as a list")
    if isinstance(maps, np.ndarray):
        if maps.ndim < 2:
            raise error(f"{name}: expected maps, I x H x W; got {maps.dtype} of shape {maps.shape}")
        return [maps] if maps.ndim == 2 else maps
    if isinstance(maps, str | os.PathLike):
        raise error(
            f"{name}: expected maps in memory, I x H x W; got {_described(maps, None)}; `fs.measure` measures"
            " folders, and fs.formats.read_map reads one file"
        )
    if maps is None or isinstance(maps, bytes) or not isinstance(maps, Iterable):
        raise error(f"{name}: expected maps, I x H x W; got {_described(maps, None)}")
    return [maps] if _is_rows(maps) else maps


def _is_rows(maps: Any) -> bool:
    """Whether a list holds rows of numbers, and so one map; it is read as an array where it is checked."""
    first = maps[0] if isinstance(maps, list | tuple) and maps else None
    return isinstance(first, list | tuple) and bool(first) and isinstance(first[0], int | float)


def sequence(values: Any, name: str, error: _Error) -> list[Any]:
    """Return the entries of a list or an array.

    >>> sequence(None, "members", LabelMapError)
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: members: expected a list of arrays; got None
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise error(f"{name}: expected a list of arrays; got {_described(values, None)}")
    return list(values)


def columns(values: Any, name: str, error: _Error, count: int) -> np.ndarray:
    """Return numbers whose last axis has this length.

    >>> columns([1, 2], "counts", LabelMapError, 4)
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: counts: expected numbers, ... x 4; got shape (2,)
    """
    array = numbers(values, name, error, f"... x {count}")
    if array.shape[-1] != count:
        raise error(f"{name}: expected numbers, ... x {count}; got shape {array.shape}")
    return array


def same_shape(error: _Error, **arrays: np.ndarray | None) -> None:
    """Raise an error unless all of these have one shape; None counts as missing.

    >>> same_shape(LabelMapError, right=np.zeros(3), wrong=np.zeros(2))
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: right has the shape (3,), wrong (2,); expected one shape
    """
    shapes = {name: array.shape for name, array in arrays.items() if array is not None}
    if len(set(shapes.values())) > 1:
        (first, shape), *others = shapes.items()
        rest = ", ".join(f"{name} {other}" for name, other in others)
        raise error(f"{first} has the shape {shape}, {rest}; expected one shape")


def broadcastable(error: _Error, **arrays: np.ndarray) -> None:
    """Raise an error unless these shapes fit each other as NumPy broadcasts them."""
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise error(f"shapes that do not fit each other: {shapes}") from None


def square(values: Any, name: str, error: _Error, axes: str = "... x J x J") -> np.ndarray:
    """Return square matrices of numbers as floats.

    >>> square([[1, 2]], "wins", LabelMapError)
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: wins: expected a square matrix, ... x J x J; got shape (1, 2)
    """
    array = numbers(values, name, error, axes)
    if array.shape[-1] != array.shape[-2] or not array.shape[-1]:
        raise error(f"{name}: expected a square matrix, {axes}; got shape {array.shape}")
    return array.astype(float, copy=False)


def _array(values: Any) -> np.ndarray | None:
    """Return values as an array, or None where they have none, as lists of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return None


def _fits(count: int, axes: str) -> bool:
    words = axes.split(" x ") if axes else []
    if words[:1] == ["..."]:
        return count >= len(words) - 1
    return not words or count == len(words)


def _described(values: Any, array: np.ndarray | None) -> str:
    if values is None or isinstance(values, str | bytes | os.PathLike):
        return repr(str(values) if isinstance(values, os.PathLike) else values)[:60]
    if array is None:
        return "rows of different lengths" if isinstance(values, list | tuple) else type(values).__name__
    if array.dtype.kind == "O" and not array.ndim:  # as NumPy reads what is no array
        return type(values).__name__
    kind = {"U": "text", "S": "text", "O": "objects"}.get(array.dtype.kind, array.dtype)
    return f"{kind} of shape {array.shape}"


def _cure(array: np.ndarray | None, axes: str) -> str:
    """Return what to do with scores, and with labels of another type or shape, where labels are expected."""
    if array is None or not array.ndim:
        return ""
    if array.dtype.kind in "biu" and 1 in array.shape and array.ndim == len(axes.split(" x ")) + 1:
        return f"; .squeeze({array.shape.index(1)}) removes the axis of length 1"
    if array.dtype.kind in "US":
        return "; convert names of classes to ids: [names.index(name) for name in ...]"
    if array.dtype.kind == "O":
        return "; give an array of integers, one for each image"
    if array.dtype.kind != "f":
        return ""
    if _fits(array.ndim, axes):
        return "; convert labels with .astype(int)"
    return "; of scores, give the class of the largest: .argmax over the axis of classes"
