"""Decoded images, each read once for all that is cut from it, and kept in memory up to a number of bytes.

Conventions: the page asks for three cuts of an image at the same time, and for those of the next points of
the same image soon after; decoding takes longer than the cuts. An image that is larger than the limit is
handed to those who wait for it, and not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np

BYTES_KEPT = 96 << 20  # two images of 4000 x 3000, or a hundred of 640 x 480


class DecodedImages:
    """LRU cache of decoded images by key, of at most ``most`` bytes. Safe for several threads."""

    def __init__(self, most: int = BYTES_KEPT) -> None:
        self._most = most
        self._held = OrderedDict[str, Future[np.ndarray]]()
        self._lock = threading.Lock()

    def get(self, key: str, read: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the image (H, W, 3) uint8 of a key; ``read`` reads it if it is neither kept nor being read.
        Raises what ``read`` raises, for all who wait, and tries again the next time.

        >>> images, read = DecodedImages(most=20), []
        >>> for key in ("a", "a", "b", "c", "a"):
        ...     _ = images.get(key, lambda: read.append(key) or np.zeros((1, 3, 3), np.uint8))
        >>> read
        ['a', 'b', 'c', 'a']
        """
        mine = Future[np.ndarray]()
        with self._lock:
            found = self._held.setdefault(key, mine)
            self._held.move_to_end(key)
        if found is not mine:
            return found.result()
        try:
            image = read()
        except BaseException as error:
            with self._lock:
                self._held.pop(key, None)
            mine.set_exception(error)
            raise
        mine.set_result(image)
        with self._lock:
            self._forget_oldest()
        return image

    def _forget_oldest(self) -> None:
        """Drop the images that were asked for longest ago, until the others are small enough."""
        done = {key: one.result().nbytes for key, one in self._held.items() if one.done()}
        held = sum(done.values())
        for key, size in done.items():
            if held <= self._most:
                return
            del self._held[key]
            held -= size
