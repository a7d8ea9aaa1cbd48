"""Files that recipes of images need beside their parents: objects, masks of void, depth, textures of frost.

Conventions: objects and masks lie in the study, each called after its digest; depth and textures lie where a
person has them, and are refused where they changed since.
"""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from PIL import Image as Pillow

from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.objects.cutout_files import read_cutout
from faultscape.errors import ImageError
from faultscape.formats.guard import decoding, open_picture, read_bytes
from faultscape.formats.pictures import read_rgb
from faultscape.stressors.objects.cutout import Cutout

DEPTH_ENDINGS = (".npy", ".png")
_TEXTURES = frozenset([".png", ".jpg", ".jpeg"])
_LAYOUT = (  # before the name of a layout and its files of depth and camera; no absolute path begins so
    "layout:"
)
_PER_METRE = 256  # of depth in 16-bit PNG, as KITTI writes it


@lru_cache(maxsize=256)
def read_object(folder: str, digest: str) -> Cutout:
    """Return a stored cut-out by its digest; ImageError where it is gone or another."""
    path = Path(folder) / f"{digest}.png"
    found = read_cutout(read_bytes(path, ImageError), path)
    if found.digest != digest:
        raise ImageError(
            f"{path}: is another object than when images were made of it; put it back from a copy, or make"
            " the set again"
        )
    return found


@lru_cache(maxsize=16)
def read_void(folder: str, digest: str) -> np.ndarray:
    """Return a stored mask of void (H, W) by the digest of its pixels; ImageError where it is gone or
    another.
    """
    path = Path(folder) / f"void-{digest}.png"
    data = read_bytes(path, ImageError)
    with decoding(path, ImageError):
        mask = np.asarray(open_picture(data, path, ImageError).convert("L")) > 0
    if void_digest(mask) != digest:
        raise ImageError(f"{path}: is another mask than when images were made of it; make the set again")
    return mask


def write_void(mask: np.ndarray) -> bytes:
    """Return a mask (H, W) as a PNG of one bit a pixel."""
    out = io.BytesIO()
    Pillow.fromarray(mask).save(out, format="PNG", optimize=True)
    return out.getvalue()


def void_digest(mask: np.ndarray) -> str:
    """Return the digest of a mask's size and pixels.

    >>> void_digest(np.zeros((2, 3), bool)) == void_digest(np.zeros((3, 2), bool))
    False
    """
    hashed = hashlib.blake2b(repr(mask.shape).encode(), digest_size=16)
    hashed.update(np.packbits(mask).tobytes())
    return hashed.hexdigest()


def depth_digest(path: str) -> str:
    """Return the digest of a file of depth, or of the files of a layout's; ImageError where they cannot be
    read.
    """
    return hashlib.sha256(b"".join(read_bytes(one, ImageError) for one in _files(path))).hexdigest()[:32]


def depth_of_layout(layout: str, frame: Frame) -> str:
    """Return the place of a frame's depth as a layout has it: its name, and the files of depth and camera."""
    return f"{_LAYOUT}{layout}|{frame.depth}|{frame.camera}"


def _files(path: str) -> list[str]:
    return [one for one in path.split("|")[1:] if one] if path.startswith(_LAYOUT) else [path]


def read_depth(path: str, digest: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return depth (H, W) in metres, by nearest neighbour at the ``shape`` of an image: ``.npy`` of metres,
    16-bit PNG of metres times 256 (0: unknown), or what a layout has.

    Errors: ImageError for a file that changed, or holds no depth.
    """
    if digest and depth_digest(path) != digest:
        raise ImageError(
            f"{path}: the depth changed since images were made from it; put it back, or run the line of"
            " `faultscape stress` again"
        )
    try:
        if path.startswith(_LAYOUT):
            layout, files, camera = path.removeprefix(_LAYOUT).split("|")
            read = entry(layout).read_depth
            depth = np.zeros(0) if read is None else read(Frame("", "", depth=files, camera=camera))
        elif path.endswith(".npy"):
            data = read_bytes(path, ImageError)
            depth = np.load(io.BytesIO(data), allow_pickle=False)
        else:
            data = read_bytes(path, ImageError)
            with decoding(path, ImageError):
                picture = open_picture(data, path, ImageError)
                if not picture.mode.startswith("I"):
                    # a map of labels, or a view in colours, would be taken for some metres
                    raise ImageError(
                        f"{path}: has no 16 bits; expected depth as a 16-bit grey PNG of metres times"
                        f" {_PER_METRE} (0: unknown), or .npy of metres"
                    )
                depth = np.asarray(picture) / _PER_METRE
        depth = np.asarray(depth, np.float32)
    except (ValueError, TypeError, EOFError, MemoryError) as error:
        raise ImageError(f"{path}: holds no depth: {' '.join(str(error).split())[:100]}") from None
    if depth.ndim != 2 or not depth.size:
        raise ImageError(f"{path}: expected depth (H, W) in metres; got an array of shape {depth.shape}")
    if depth.shape != tuple(shape):
        depth = cv2.resize(depth, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST)
    return depth


def textures_digest(folder: str) -> str:
    """Return a digest of the images of a folder of textures, whatever they are called; ImageError where there
    are none.
    """
    return hashlib.sha256("".join(sorted(_digests(folder))).encode()).hexdigest()[:16]


@lru_cache(maxsize=2)
def read_textures(folder: str, digest: str) -> tuple[np.ndarray, ...]:
    """Return the textures of a folder in the order of their bytes' digests; ImageError where they are others
    than those of this digest.
    """
    held = _digests(folder)
    if textures_digest(folder) != digest:
        raise ImageError(
            f"{folder}: the textures of frost changed since images were made of them; put them back, or run"
            " the line of `faultscape stress` again"
        )
    return tuple(read_rgb(held[one]) for one in sorted(held))


def _digests(folder: str) -> dict[str, Path]:
    """Return {digest: path} of the images of a folder."""
    try:
        found = {
            hashlib.sha256(path.read_bytes()).hexdigest(): path
            for path in sorted(Path(folder).iterdir())
            if path.suffix.lower() in _TEXTURES
        }
    except OSError as error:
        raise ImageError(f"{folder}: {error.strerror}; expected a folder of textures (png or jpg)") from None
    if not found:
        raise ImageError(
            f"{folder}: holds no textures; expected images ending in {' '.join(sorted(_TEXTURES))}"
        )
    return found
