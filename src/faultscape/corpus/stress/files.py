"""Files that image recipes need besides their parents: objects, void masks, depth, frost textures.

Conventions: objects and masks are stored in the study, each named by its digest; depth and textures stay
where the user has them, and are refused if they have changed.
"""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache
from pathlib import Path

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
_LAYOUT = (  # prefix of a layout's name with its depth and camera files; no absolute path begins with it
    "layout:"
)
_PER_METRE = 256  # depth unit in 16-bit PNG, as in KITTI


@lru_cache(maxsize=256)
def read_object(folder: str, digest: str) -> Cutout:
    """Return a stored cut-out by its digest; ImageError if it is missing or has changed."""
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
    """Return a stored void mask (H, W) by the digest of its pixels; ImageError if it is missing or has
    changed.
    """
    path = Path(folder) / f"void-{digest}.png"
    data = read_bytes(path, ImageError)
    with decoding(path, ImageError):
        mask = np.asarray(open_picture(data, path, ImageError).convert("L")) > 0
    if void_digest(mask) != digest:
        raise ImageError(f"{path}: is another mask than when images were made of it; make the set again")
    return mask


def write_void(mask: np.ndarray) -> bytes:
    """Return a mask (H, W) as a PNG with one bit per pixel."""
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
    """Return the digest of a depth file, or of a layout's depth files; ImageError if they cannot be read."""
    return hashlib.sha256(b"".join(read_bytes(one, ImageError) for one in _files(path))).hexdigest()[:32]


def depth_of_layout(layout: str, frame: Frame) -> str:
    """Return the place of a frame's depth in a layout: the layout's name, and the depth and camera files."""
    return f"{_LAYOUT}{layout}|{frame.depth}|{frame.camera}"


def _files(path: str) -> list[str]:
    return [one for one in path.split("|")[1:] if one] if path.startswith(_LAYOUT) else [path]


def read_depth(path: str, digest: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return depth (H, W) in metres, resized by nearest neighbour to the ``shape`` of an image, from ``.npy``
    in metres, 16-bit PNG in 1/256 metres (0: unknown in both), or a layout.

    Errors: ImageError for a file that has changed or does not hold depth.
    """
    if digest and depth_digest(path) != digest:
        raise ImageError(
            f"{path}: the depth changed since images were made from it; put it back, or run the line of"
            " `faultscape stress` again"
        )
    depth = _depth_values(path).astype(np.float32)
    if depth.shape != tuple(shape):
        import cv2

        depth = cv2.resize(depth, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST)
    return depth


def check_depth(path: str, shape: tuple[int, int]) -> None:
    """Raise ImageError for a file of depth that does not fit an image of this ``shape``, or holds values that
    are not a depth.
    """
    depth = _depth_values(path)
    if depth.shape != shape:
        raise ImageError(
            f"{path}: has {depth.shape[1]} x {depth.shape[0]} pixels, its image {shape[1]} x {shape[0]};"
            " give depth at the size of the image"
        )
    with np.errstate(over="ignore"):
        depth = depth.astype(np.float32)
    faults = {"NaN": np.isnan(depth), "infinite": np.isinf(depth), "negative": depth < 0}
    for what, where in faults.items():
        if bad := int(where.sum()):
            raise ImageError(
                f"{path}: {bad:,} of {depth.size:,} depths are {what}; give metres, and 0 where the depth is"
                " unknown"
            )
    if not depth.any():
        raise ImageError(f"{path}: every depth is 0, which means unknown; give metres")


def _depth_values(path: str) -> np.ndarray:
    """Return the numbers (H, W) of a depth file in metres."""
    try:
        if path.startswith(_LAYOUT):
            layout, files, camera = path.removeprefix(_LAYOUT).split("|")
            read = entry(layout).read_depth
            depth = np.zeros(0) if read is None else read(Frame("", "", depth=files, camera=camera))
        elif path.endswith(".npy"):
            data = read_bytes(path, ImageError)
            depth = np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
            if depth.dtype.kind not in "fiu":
                raise ImageError(f"{path}: holds {depth.dtype} values; expected depth in metres as floats")
        else:
            data = read_bytes(path, ImageError)
            with decoding(path, ImageError):
                picture = open_picture(data, path, ImageError)
                if not picture.mode.startswith("I"):
                    # a label map or a colour image would be taken for depth
                    raise ImageError(
                        f"{path}: has no 16 bits; expected depth as a 16-bit grey PNG of metres times"
                        f" {_PER_METRE} (0: unknown), or .npy of metres"
                    )
                depth = np.asarray(picture) / _PER_METRE
    except (ValueError, TypeError, EOFError, MemoryError) as error:
        raise ImageError(f"{path}: holds no depth: {' '.join(str(error).split())[:100]}") from None
    if depth.ndim != 2 or not depth.size:
        raise ImageError(f"{path}: expected depth (H, W) in metres; got an array of shape {depth.shape}")
    return depth


def textures_digest(folder: str) -> str:
    """Return a digest of the images in a folder of textures, independent of their names; ImageError if there
    are none.
    """
    return hashlib.sha256("".join(sorted(_digests(folder))).encode()).hexdigest()[:16]


@lru_cache(maxsize=2)
def read_textures(folder: str, digest: str) -> tuple[np.ndarray, ...]:
    """Return the textures of a folder in the order of their digests; ImageError if they do not match this
    digest.
    """
    held = _digests(folder)
    if textures_digest(folder) != digest:
        raise ImageError(
            f"{folder}: the textures of frost changed since images were made of them; put them back, or run"
            " the line of `faultscape stress` again"
        )
    return tuple(read_rgb(held[one]) for one in sorted(held))


def _digests(folder: str) -> dict[str, Path]:
    """Return {digest: path} of the images in a folder."""
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
