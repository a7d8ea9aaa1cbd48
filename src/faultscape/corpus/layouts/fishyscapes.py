"""Fishyscapes' public validation data (Blum et al. 2021): FS Static as overlays on Cityscapes, FS Lost
and Found as labels of images of Lost and Found.

Conventions: files are DDDD_BASE_labels.png (0 known, 1 anomaly, 255 void) and, for FS Static,
DDDD_BASE_rgb.npz: the signed difference ``rgb`` (H, W, 3), added to the image BASE of Cityscapes' validation
split and clipped to 0..255. BASE images are looked for as BASE_leftImg8bit.* below the root, below a folder
``cityscapes`` or ``lost_and_found`` in it, and beside it, so put both, or links to them, in PATH. Versions 1
to 3 are three folders of the same form; pass the folder of one.
Source: the authors' loader; nothing is unpickled, and an array of another kind is refused.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.layouts.masks import translate
from faultscape.corpus.layouts.trees import IMAGES, branch, files
from faultscape.errors import ImageError
from faultscape.formats.guard import decoding, read_bytes
from faultscape.formats.pictures import read_rgb

ANOMALY = {0: 0, 1: 1, 255: 255}
_LABELS = re.compile(r"(?P<number>\d+)_(?P<base>.+)_labels\.png")
_MAX_BYTES = 1 << 30


def find_static(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames DDDD_BASE_labels.png that have an overlay; their images are those of Cityscapes, with
    the overlay to be added.
    """
    yield from _labelled(root, split, _bases(root, ("cityscapes",), ("val",)), overlaid=True)


def find_lost_and_found(root: Path, split: str) -> Iterator[Frame]:
    """Yield the frames DDDD_BASE_labels.png whose Lost and Found image exists."""
    yield from _labelled(
        root, split, _bases(root, ("lost_and_found", "lostandfound"), ("train", "test")), overlaid=False
    )


def _labelled(root: Path, split: str, bases: dict[str, str], *, overlaid: bool) -> Iterator[Frame]:
    for path in files(root, "_labels.png"):
        match = _LABELS.fullmatch(path.name)
        overlay = path.with_name(path.name.replace("_labels.png", "_rgb.npz"))
        if not match or match["base"] not in bases or overlay.is_file() != overlaid:
            continue
        base = match["base"]
        group = base.partition("_")[0] if overlaid else base.rpartition("_")[0]
        yield Frame(
            f"{match['number']}_{base}", bases[base], str(path), overlay=str(overlay) if overlaid else "",
            group=group, split=split, role="validation",
        )  # fmt: skip


def _bases(root: Path, names: tuple[str, ...], splits: tuple[str, ...]) -> dict[str, str]:
    """Return {BASE: path} of the images BASE_leftImg8bit.* of some splits, the nearest folder first."""
    found: dict[str, str] = {}
    around = [root, *(root / name for name in names), root.parent, *(root.parent / name for name in names)]
    for folder in around:
        images = folder / "leftImg8bit" if folder == root.parent else branch(folder, "leftImg8bit")
        for part in [images / split for split in splits] if images else ():
            for path in files(part, tuple(f"_leftImg8bit{ending}" for ending in IMAGES)):
                found.setdefault(path.name.rpartition("_leftImg8bit")[0], str(path))
    return found


def read_anomaly(frame: Frame) -> np.ndarray:
    """Return (H, W) the labels 0, 1, 255 of a frame."""
    return translate(frame.truth, ANOMALY, "Fishyscapes")


def read_overlaid(frame: Frame) -> np.ndarray:
    """Return the image (H, W, 3) uint8 of a frame: base + overlay, clipped to 0..255."""
    return add_overlay(read_rgb(frame.image), read_overlay(frame.overlay), frame.overlay)


def add_overlay(image: np.ndarray, overlay: np.ndarray, of: str = "the overlay") -> np.ndarray:
    """Return image + overlay, clipped to 0..255, (H, W, 3) uint8; ImageError where their sizes differ.

    >>> add_overlay(np.full((1, 1, 3), 250, np.uint8), np.array([[[-251, 3, 9]]]))
    array([[[  0, 253, 255]]], dtype=uint8)
    """
    if image.shape != overlay.shape:
        raise ImageError(
            f"{of}: has shape {overlay.shape}, its image {image.shape}; give the overlay made for this image"
        )
    return np.clip(image.astype(np.int64) + overlay, 0, 255).astype(np.uint8)


def read_overlay(path: str, digest: str = "") -> np.ndarray:
    """Return the signed difference (H, W, 3) int16 stored as ``rgb`` in an .npz file; ImageError for any
    other file, and for one whose SHA-256 is not ``digest``.
    """
    data = read_bytes(path, ImageError, limit=_MAX_BYTES)
    if digest and hashlib.sha256(data).hexdigest() != digest:
        raise ImageError(f"{path}: the overlay changed since it was collected; run collect again")
    with decoding(path, ImageError):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
                raise ImageError(
                    f"{path}: unpacks to more than {_MAX_BYTES >> 30} GiB, more than any overlay"
                )
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            if "rgb" not in held.files:
                raise ImageError(
                    f"{path}: holds {', '.join(held.files[:4]) or 'nothing'}; expected an overlay, one array"
                    " named rgb"
                )
            values = held["rgb"]
    if (
        not isinstance(values, np.ndarray)
        or values.ndim != 3
        or values.shape[2] != 3
        or values.dtype.kind not in "iu"
    ):
        kind = (
            f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else "another object"
        )
        raise ImageError(f"{path}: expected whole numbers, H x W x 3; got {kind}")
    if values.size and (int(values.min()) < -255 or int(values.max()) > 255):
        raise ImageError(
            f"{path}: holds {values.min()}..{values.max()}; differences of images are -255 to 255"
        )
    return values.astype(np.int16)
