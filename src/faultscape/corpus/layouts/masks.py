"""Labels, instances and depth of data sets as arrays, from the values in their files; unknown values are
refused.

Conventions: labels (H, W) uint8 (uint16 where ids are larger); anomaly masks 0, 1, 255. Instances (H, W)
int32: 0 where there is none, else a separate number for each instance of the image. Depth (H, W) float32 in
metres, along the optical axis; NaN where nothing was measured, infinity where the disparity is zero. Sources:
label ids and disparity, d = (p - 1) / 256 of a 16-bit value p > 0, of Cityscapes (Cordts et al. 2016); depth
= baseline fx / d.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping

import numpy as np

from faultscape.classes.built_in import cityscapes, cityscapes_label_ids
from faultscape.classes.class_lists import resolve
from faultscape.classes.palettes import only_colours
from faultscape.corpus.layouts.layout import Frame
from faultscape.errors import ImageError, LabelMapError
from faultscape.formats.guard import decoding, open_picture, read_bytes
from faultscape.formats.label_maps import colour_table, read_map
from faultscape.nouns import UNKNOWN

VOID = 255
EGO = 1  # the label id of the ego vehicle in Cityscapes


def translate(path: str | os.PathLike[str], meaning: Mapping[int, int], of: str) -> np.ndarray:
    """Return the labels of a file with each value replaced by its meaning; LabelMapError names the first
    value unknown to ``of`` (a data set).
    """
    labels = _grey(path)
    table = np.full(65536, UNKNOWN, np.uint16)
    table[list(meaning)] = list(meaning.values())
    out = table[labels]
    if (unknown := out == UNKNOWN).any():
        y, x = np.argwhere(unknown)[0]
        raise LabelMapError(
            f"{path}: holds the value {labels[y, x]} at column {x}, row {y}; labels of {of} are"
            f" {_spans(meaning)}"
        )
    return out.astype(np.uint8) if int(out.max(initial=0)) < 256 else out


def as_is(path: str, classes: str, of: str) -> np.ndarray:
    """Return the labels of a file that holds the ids of a built-in class list."""
    known = resolve(classes)
    return translate(path, {id_: id_ for id_ in (*known.ids, *known.void)}, of)


@functools.cache
def cityscapes_meaning(more: tuple[tuple[int, str], ...] = ()) -> Mapping[int, int]:
    """Return {label id: train id or 255} for the 34 label ids of Cityscapes (255 represents -1, the licence
    plate), and for ``more`` ids by class name.

    >>> meaning = cityscapes_meaning()
    >>> [meaning[label] for label in (0, 7, 29, 33, 255)]
    [255, 0, 255, 18, 255]
    """
    ids = dict(zip(cityscapes().names, cityscapes().ids, strict=True))
    own = {int(label): ids.get(name, VOID) for label, name in cityscapes_label_ids().items()}
    return own | {label: ids.get(name, VOID) for label, name in more} | {VOID: VOID}


def cityscapes_labels(path: str, of: str) -> np.ndarray:
    """Return the train ids 0-18 and 255 from a file of label ids, or of train ids if its name says so."""
    if "rainId" in os.path.basename(path) or "train_id" in os.path.basename(path):
        return train_ids(path, of)
    return translate(path, cityscapes_meaning(), of)


def train_ids(path: str, of: str) -> np.ndarray:
    """Return the train ids 0-18 and 255 of a file that holds them."""
    return as_is(path, "cityscapes", of)


def colours(path: str, classes: str) -> np.ndarray:
    """Return the ids of a file in the colours of a built-in class list, of three channels or a palette."""
    known = resolve(classes)
    return read_map(path, colour_table(known), only_colours(known))


def cityscapes_instances(frame: Frame) -> np.ndarray:
    """Return the instances of a file of Cityscapes' instanceIds: values from 1,000 on are class x 1,000 +
    number; smaller ones are not single instances.
    """
    values = _values(frame.instances)
    return np.where(values >= 1000, values, 0).astype(np.int32)


def ego_vehicle(frame: Frame) -> np.ndarray:
    """Return (H, W) where the ego vehicle is, from Cityscapes label ids; all False for a file of train ids,
    which do not mark it.
    """
    labels = _values(frame.truth)
    return labels == EGO if frame.truth.endswith("labelIds.png") else np.zeros(labels.shape, bool)


def numbered_instances(frame: Frame, void: int = VOID) -> np.ndarray:
    """Return the instances of a file that numbers them from 1; 0 and ``void`` are none."""
    values = _values(frame.instances)
    return np.where(values == void, 0, values).astype(np.int32)


def disparity_depth(frame: Frame) -> np.ndarray:
    """Return the depth of a frame in metres from its disparity and the calibration of its camera: baseline x
    fx / ((p - 1) / 256).

    ImageError if either is missing: calibrations differ between cities and are never assumed.
    """
    if not frame.depth or not frame.camera:
        missing = "its camera's calibration (camera/)" if frame.depth else "a disparity map (disparity/)"
        raise ImageError(
            f"{frame.id}: depth needs {missing}, which is not there; unpack the data set's archive of it"
        )
    values = _values(frame.depth).astype(np.float64)
    baseline, focal = _calibration(frame.camera)
    with np.errstate(divide="ignore"):
        depth = baseline * focal / ((values - 1) / 256)
    return np.where(values == 0, np.nan, depth).astype(np.float32)


def _calibration(path: str) -> tuple[float, float]:
    """Return baseline (metres) and horizontal focal length (pixels) of a camera file."""
    try:
        held = json.loads(read_bytes(path, ImageError, limit=1 << 20))
        baseline = float(held["extrinsic"]["baseline"])
        focal = float(held["intrinsic"]["fx"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ImageError(
            f"{path}: is not a calibration; expected JSON with extrinsic.baseline and intrinsic.fx"
        ) from None
    if not (0 < baseline < np.inf and 0 < focal < np.inf):
        raise ImageError(
            f"{path}: baseline {baseline} and fx {focal} are not a calibration; both are above 0"
        )
    return baseline, focal


def _values(path: str) -> np.ndarray:
    """Return the integers of a grey or palette file with 8 or 16 bits, (H, W)."""
    return _grey(path).astype(np.int64)


def _grey(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the values of a label file; if it has three equal channels, as some copies do, those of one
    channel.
    """
    try:
        return read_map(path)
    except LabelMapError as error:
        if "three channels" not in str(error):
            raise
    data = read_bytes(path, LabelMapError)
    with decoding(path, LabelMapError):
        values = np.asarray(
            open_picture(data, path, LabelMapError, lossless="changes label values").convert("RGB")
        )
    if not (values == values[..., :1]).all():
        raise LabelMapError(
            f"{path}: is an image in colour; expected label values: take the file of ids, not the one of"
            " colours"
        )
    return np.ascontiguousarray(values[..., 0])


def _spans(meaning: Mapping[int, int]) -> str:
    values = np.array(sorted(meaning))
    runs = np.split(values, np.flatnonzero(np.diff(values) > 1) + 1)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
