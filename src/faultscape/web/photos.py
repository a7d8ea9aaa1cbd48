"""Images for a browser, made on request and cached in memory up to a number of bytes.

Conventions: an image is its bytes, its media type and a tag that changes with its inputs. Images are WebP
(JPEG if Pillow cannot write WebP), never larger than requested. At most two images are made at a time,
because a decoded image may take hundreds of MB.
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

from faultscape.reporting.pictures import fit

BYTES_KEPT = 128 << 20
AT_ONCE = 2
# allowed lengths of the longer side; a fixed list, so that requests cannot produce endless variants
SIZES = (320, 640, 1600)


@dataclass(frozen=True)
class Picture:
    """A response: bytes, media type, and a tag of their inputs."""

    data: bytes
    media: str
    tag: str


class Pictures:
    """LRU cache of images by key, of at most ``most`` bytes; ``at_once`` images are made at a time. Without
    the ``secret``, a key cannot be derived from its tag. Safe for several threads.
    """

    def __init__(self, most: int = BYTES_KEPT, at_once: int = AT_ONCE, secret: str = "") -> None:
        self._secret = secret
        self._most, self._held, self._bytes = most, OrderedDict[str, Picture](), 0
        self._lock, self._at_work = threading.Lock(), threading.BoundedSemaphore(at_once)

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: str, make: Callable[[], tuple[bytes, str]]) -> Picture:
        """Return the image of a key; ``make`` makes it, as (bytes, media type), if it is not cached.

        >>> pictures = Pictures(most=3)
        >>> [pictures.get(key, lambda: (b"xx", "image/png")).data for key in ("a", "b")], len(pictures)
        ([b'xx', b'xx'], 1)
        """
        if found := self._find(key):
            return found
        with self._at_work:
            if found := self._find(key):  # another thread may have made it meanwhile
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
        """Return the entity tag of a key in this cache."""
        return tag_of(key, self._secret)

    def _find(self, key: str) -> Picture | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)


def tag_of(key: str, secret: str = "") -> str:
    """Return the entity tag of a key; a different ``secret`` gives a different tag.

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
    out = io.BytesIO()
    kind = "webp" if features.check("webp") else "jpeg"
    picture.save(out, format=kind.upper(), quality=quality, **({"method": 2} if kind == "webp" else {}))
    return out.getvalue(), f"image/{kind}"
