"""Label maps, answers and images that are in memory, written as files: arrays, tensors of torch, PIL images,
and lists or iterables of these.

Conventions: what values mean is decided in `maps.checked_arrays`, as for every function of arrays. Maps are
written one after another as PNG, so that an iterable is never held as a whole; equal maps have equal digests,
whatever type holds them. Torch is never imported: a tensor is known by its ``detach``.

``name`` names what was given in messages. ``error`` is the class of FaultscapeError to raise.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import FaultscapeError, LabelMapError, ModelError
from faultscape.formats.png import encode_pixels
from faultscape.maps import checked_arrays

_MOST_ID = 65535
_Error = type[FaultscapeError]


@dataclass(frozen=True)
class MapFiles:
    """Maps that were written as files: where each is, in the order given, and a digest of them all."""

    files: tuple[Path, ...]
    ids: tuple[str, ...] | None  # as given; None where maps came without ids
    digests: tuple[str, ...]  # of each map: its size and its values


def is_place(value: object) -> bool:
    """Whether a value is the name of a file or folder, or a SOURCE: text or a path."""
    return isinstance(value, str | os.PathLike)


def is_function(value: object) -> bool:
    """Whether a value is a function or a module of torch, which is asked for its answers.

    >>> is_function(len), is_function([1]), is_function(np.zeros(2))
    (True, False, False)
    """
    return callable(value) and not isinstance(value, type)


def as_array(value: Any) -> Any:
    """Return a tensor or a PIL image as an array; anything else as it is."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        return (value.float() if value.is_floating_point() else value).numpy()  # NumPy has no bfloat16
    return np.asarray(value) if hasattr(value, "getbands") else value


def are_answers(given: Any) -> bool:
    """Whether what was given are answers of a classifier, one number an image, rather than maps.

    >>> are_answers([3, 1, 2]), are_answers(np.zeros((2, 3), int)), are_answers({"cat": 3})
    (True, False, True)
    """
    if hasattr(given, "ndim"):  # an array or a tensor
        return int(given.ndim) == 1
    if isinstance(given, Mapping):
        return bool(given) and _axes(next(iter(given.values()))) == 0
    return isinstance(given, list | tuple) and bool(given) and _axes(_parted(given[0])[1]) == 0


def with_ids(given: Any, name: str, error: _Error = LabelMapError) -> Iterator[tuple[str | None, Any]]:
    """Yield (id, map or answer) of a dict {id: map} or pairs (id, map), and (None, map) of maps in an order:
    (I, H, W), a list, any iterable, or one map (H, W).

    >>> [id_ for id_, _ in with_ids({"a": np.zeros((2, 2), int)}, "unet")]
    ['a']
    """
    if isinstance(given, Mapping):
        yield from ((str(id_), value) for id_, value in given.items())
        return
    whole = _one_array(given)
    for value in checked_arrays.each_image(given if whole is None else whole, name, error):
        yield _parted(value)


def write_maps(given: Any, folder: Path, name: str, error: _Error = LabelMapError) -> MapFiles:
    """Write maps as PNG files ``000000.png``, ... in a folder that exists; an error names the map that is
    none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = write_maps(np.zeros((2, 3, 4), int), Path(folder), "unet")
    ...     len(made.files), made.ids, made.digests[0] == made.digests[1]
    (2, None, True)
    """
    files = list[Path]()
    ids = list[str | None]()
    digests = list[str]()
    for number, (id_, value) in enumerate(with_ids(given, name, error)):
        label_map = one_map(value, f"{name}, image {number if id_ is None else id_}", error)
        path = folder / f"{number:06}.png"
        path.write_bytes(encode_pixels(label_map))
        files.append(path)
        ids.append(id_)
        digests.append(_digest(label_map))
    return MapFiles(tuple(files), all_or_none(ids, name, error), tuple(digests))


def one_map(value: Any, name: str, error: _Error = LabelMapError) -> np.ndarray:
    """Return one label map (H, W) as uint8, or as uint16 where a value is above 255.

    >>> one_map([[True, False]], "truth").tolist()
    [[1, 0]]
    >>> one_map(np.full((1, 1), 0.5), "unet, image 0")
    Traceback (most recent call last):
    faultscape.errors.LabelMapError: unet, image 0: expected whole numbers, H x W; got float64 of shape (1, 1); convert labels with .astype(int)
    """  # noqa: E501
    label_map = checked_arrays.label_map(as_array(value), name, error)
    if label_map.min() < 0 or label_map.max() > _MOST_ID:
        wrong = int(label_map.min() if label_map.min() < 0 else label_map.max())
        raise error(
            f"{name}: holds the value {wrong}; class ids are 0 to {_MOST_ID}, and void is one of"
            " them, usually 255"
        )
    return np.ascontiguousarray(label_map, np.uint8 if label_map.max() < 256 else np.uint16)


def answers(given: Any, name: str, error: _Error = LabelMapError) -> tuple[tuple[str, ...] | None, list[int]]:
    """Return the ids of images, None for answers without ids, and the class id of each.

    >>> answers({"a": 3, "b": 0}, "resnet"), answers(np.array([3, 0]), "resnet")
    ((('a', 'b'), [3, 0]), (None, [3, 0]))
    """
    rows = list(given.items() if isinstance(given, Mapping) else map(_parted, as_array(given)))
    ids = [None if id_ is None else str(id_) for id_, _ in rows]
    values = checked_arrays.whole_numbers([as_array(value) for _, value in rows], name, error, "I")
    return all_or_none(ids, name, error), values.tolist()


def all_or_none(
    ids: Sequence[str | None], name: str, error: _Error = LabelMapError
) -> tuple[str, ...] | None:
    """Return the ids of images, or None where there are none; an error where some are lacking, or one comes
    twice.
    """
    named = tuple(id_ for id_ in ids if id_ is not None)
    if len(named) not in (0, len(ids)):
        raise error(f"{name}: {len(named)} of {len(ids)} have an id; give an id to all, or to none")
    if len(set(named)) < len(named):
        again = next(id_ for id_ in named if named.count(id_) > 1)
        raise error(f"{name}: the image {again!r} is given twice; give each image once")
    return named or None


def write_images(given: Iterable[Any], folder: Path) -> list[Path]:
    """Write images (H, W, 3) uint8 as PNG files in a folder that exists; ModelError names one that is not
    such an image.
    """
    files = list[Path]()
    for number, value in enumerate(given):
        image = as_array(value.convert("RGB") if hasattr(value, "convert") else value)  # of PIL, in any mode
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.shape[2:] != (3,):
            about = (
                f"{image.dtype} of shape {image.shape}"
                if isinstance(image, np.ndarray)
                else type(value).__name__
            )
            cure = "; convert floats with (255 * image).round().astype('uint8')" * about.startswith("float")
            raise ModelError(f"images, image {number}: expected H x W x 3 of uint8; got {about}{cure}")
        files.append(folder / f"{number:06}.png")
        files[-1].write_bytes(encode_pixels(image))
    return files


def _one_array(given: Any) -> np.ndarray | None:
    """Return the one map that a list of rows is, or the maps that an array or tensor holds; None for
    anything else.
    """
    if hasattr(given, "ndim") or hasattr(given, "getbands"):
        return np.asarray(as_array(given))
    rows = isinstance(given, list | tuple) and bool(given) and _parted(given[0])[0] is None
    return np.asarray(given) if rows and _axes(given[0]) == 1 else None


def _parted(value: Any) -> tuple[str | None, Any]:
    """Return (id, map) of a pair, (None, map) of a map."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return value
    return None, value


def _axes(value: Any) -> int:
    """Return how many axes a value has: 0 for a number, 2 for a PIL image."""
    if hasattr(value, "getbands"):
        return 2
    if hasattr(value, "ndim"):
        return int(value.ndim)
    return 1 + _axes(value[0]) if isinstance(value, list | tuple) and value else 0


def _digest(label_map: np.ndarray) -> str:
    digest = hashlib.sha256(f"{label_map.shape}{label_map.dtype}".encode())
    digest.update(label_map.tobytes())
    return digest.hexdigest()
