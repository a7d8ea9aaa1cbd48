"""Images as a browser takes them, made when they are asked for and kept in memory up to a bound of bytes.

Conventions: an image is its bytes, its media type and a tag that changes with what it was made of. Images
are WebP (JPEG where Pillow cannot write WebP), never larger than asked. At most two images are made at a
time, since a decoded image may take hundreds of MB.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image, features

from faultscape.reporting.competition.gallery import fit

BYTES_KEPT = 128 << 20
AT_ONCE = 2
# of longest sides; only these are made, so that nobody can ask for others without end
SIZES = (320, 640, 1600)


@dataclass(frozen=True)
class Picture:
    """What is sent: bytes, media type, and a tag of what they were made from."""

    data: bytes
    media: str
    tag: str


class Pictures:
    """Images by key, the last used longest; ``most`` bytes are kept, and ``at_once`` made at a time. Nobody
    without the ``secret`` works out a key from its tag. May be asked by several threads.
    """

    def __init__(self, most: int = BYTES_KEPT, at_once: int = AT_ONCE, secret: str = "") -> None:
        self._secret = secret
        self._most, self._held, self._bytes = most, OrderedDict[str, Picture](), 0
        self._lock, self._at_work = threading.Lock(), threading.BoundedSemaphore(at_once)

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: str, make: Callable[[], tuple[bytes, str]]) -> Picture:
        """Return the image of a key, which ``make`` makes (bytes, media type) where it is not kept.

        >>> pictures = Pictures(most=3)
        >>> [pictures.get(key, lambda: (b"xx", "image/png")).data for key in ("a", "b")], len(pictures)
        ([b'xx', b'xx'], 1)
        """
        if found := self._find(key):
            return found
        with self._at_work:
            if found := self._find(key):  # who waited was waiting for this one
                return found
            data, media = make()
        made = Picture(data, media, self.tag_of(key))
        with self._lock:
            if key not in self._held:
                self._held[key], self._bytes = made, self._bytes + len(data)
            while self._bytes > self._most:
                _, gone = self._held.popitem(last=False)
                self._bytes -= len(gone.data)
        return made

    def tag_of(self, key: str) -> str:
        """Return the entity tag of what a key names, here."""
        return tag_of(key, self._secret)

    def _find(self, key: str) -> Picture | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)


def tag_of(key: str, secret: str = "") -> str:
    """Return the entity tag of what a key names, which another ``secret`` makes another.

    >>> tag_of("a") == tag_of("a") != tag_of("b"), tag_of("a") == tag_of("a", "x")
    (True, False)
    """
    name = key.encode("utf-8", "surrogateescape")
    return f'"{hashlib.blake2b(name, key=secret.encode(), digest_size=12).hexdigest()}"'


def shrink(rgb: np.ndarray, longest: int, quality: int = 80) -> tuple[bytes, str]:
    """Return an (H, W, 3) uint8 image as (bytes, media type) with its longer side at most ``longest``.

    >>> shrink(np.zeros((4, 6, 3), np.uint8), 3)[1] in ("image/webp", "image/jpeg")
    True
    """
    height, width = rgb.shape[:2]
    picture = Image.fromarray(np.ascontiguousarray(rgb))
    if (size := fit(width, height, longest)) != (width, height):
        picture = picture.resize(
            size, Image.Resampling.BOX if min(width, height) > 4 * min(size) else Image.Resampling.LANCZOS
        )
    out, kind = io.BytesIO(), "webp" if features.check("webp") else "jpeg"
    picture.save(out, format=kind.upper(), quality=quality, **({"method": 2} if kind == "webp" else {}))
    return out.getvalue(), f"image/{kind}"
